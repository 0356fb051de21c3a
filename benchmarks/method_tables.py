"""The tables of `benchmarks.influence`, `benchmarks.forensics` and `benchmarks.scale`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.tables import Table
from benchmarks.targets import OWN

__all__ = ["tables"]

Row = Mapping[str, Any]

_FORMS = {"prepend": "question in front", "plain": "plain"}
_RANKED = {
    "influence": "Influence Score",
    "influence, Eq. 6 alone": "by Eq. 6 alone",
    "share of repeats": "share of answers that repeat the response",
    "leave-one-out, proxy": "leave-one-out, proxy",
    "leave-one-out, generator": "leave-one-out, generator",
    "ablation, proxy": "random ablations, proxy",
    "ablation, generator": "random ablations, generator",
    "ragorigin": "RAGOrigin",
}
_DATASETS = {
    "nq": "Natural Questions",
    "hotpotqa": "HotpotQA",
    "msmarco": "MS MARCO",
    "realtimeqa": "RealTimeQA",
}
_ATTACKS = ("PoisonedRAG-B", "PoisonedRAG, plain", "InstruInject")
_JUDGED = {
    "ragforensics, likelihood": "RAGForensics, likelihood judge",
    "ragforensics, keywords": "keywords",
    "ragforensics, reader": "reader",
    "ragorigin": "RAGOrigin",
}
_MEASURES = ("dacc", "fpr", "fnr")


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of the sections "ranks" and "accounting", "forensics" and "scale".

    Ranks are of the public datasets, pooled; with the project's own data alone there are none.
    """
    ranks = [row for row in sections.get("ranks", ()) if row["dataset"] != OWN]
    for temperature in dict.fromkeys(row["temperature"] for row in ranks):
        part = [row for row in ranks if row["temperature"] == temperature]
        yield _influence("first / first two / first three, %", temperature, part, _places)
        yield _influence("held responsible, %, and others an event", temperature, part, _held)
    if accounting := sections.get("accounting"):
        yield _accounting(accounting)
    if judged := sections.get("forensics"):
        yield _forensics(judged)
    if sizes := sections.get("scale"):
        yield _scale(sizes)


def _influence(
    title: str,
    temperature: float,
    rows: Sequence[Row],
    cell: Callable[[Sequence[Row]], str],
) -> Table:
    """Return a table of methods in rows, generators and forms in columns."""
    strata: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        strata.setdefault((row["method"], row["generator"], row["form"]), []).append(row)
    generators = dict.fromkeys(row["generator"] for row in rows)
    columns = [
        (generator, form)
        for generator in generators
        for form in _FORMS
        if ("influence", generator, form) in strata
    ]
    counts = {key: sum(row["events"] for row in strata["influence", *key]) for key in columns}
    lines = [
        (name, *(cell(strata[method, *key]) for key in columns)) for method, name in _RANKED.items()
    ]
    return Table(
        f"Influence Score, temperature {temperature}: {title}",
        (
            "method",
            *(f"{key[0]}, {_FORMS[key[1]]} ({count} events)" for key, count in counts.items()),
        ),
        tuple(line for line in lines if all(line)),
    )


def _pooled(rows: Sequence[Row], name: str) -> float:
    return float(
        sum(row[name] * row["events"] for row in rows) / sum(row["events"] for row in rows)
    )


def _places(rows: Sequence[Row]) -> str:
    shares = (_pooled(rows, name) for name in ("top_1", "top_2", "top_3"))
    return " / ".join(f"{100 * found:.0f}" for found in shares)


def _held(rows: Sequence[Row]) -> str:
    """Return nothing for a ranking, which holds nobody responsible."""
    if rows[0]["found"] is None:
        return ""
    return f"{100 * _pooled(rows, 'found'):.0f}, {_pooled(rows, 'benign_blamed'):.1f}"


def _accounting(account: Mapping[str, float]) -> Table:
    names = dict.fromkeys(key.partition(": ")[0] for key in account)
    columns = ("sets", "calls", "words read")
    return Table(
        "Influence Score: what an event takes",
        ("count", *columns),
        tuple(
            (name, *(f"{account[f'{name}: {column}']:,.0f}" for column in columns))
            for name in names
        ),
    )


def _forensics(rows: Sequence[Row]) -> Table:
    cells = {(row["dataset"], row["attack"], row["method"]): row for row in rows}
    strata = [
        [cells[dataset, attack, method] for method in _JUDGED]
        for dataset in _DATASETS
        for attack in _ATTACKS
        if (dataset, attack, "ragorigin") in cells
    ]
    lines = [
        (
            _DATASETS[found[0]["dataset"]],
            found[0]["attack"],
            str(found[0]["events"]),
            *(_percent([row]) for row in found),
            f"{found[0]['calls']:.1f}",
        )
        for found in strata
    ]
    if strata:
        methods = list(zip(*strata, strict=True))
        calls = mean(row["calls"] for row in methods[0])
        lines.append(("mean", "", "", *(_percent(part) for part in methods), f"{calls:.1f}"))
    return Table(
        "RAGForensics: DACC / FPR / FNR in %",
        ("data", "attack", "events", *_JUDGED.values(), "calls of the likelihood judge"),
        tuple(lines),
    )


def _percent(rows: Sequence[Row]) -> str:
    return " / ".join(f"{100 * mean(row[name] for row in rows):.1f}" for name in _MEASURES)


def _scale(rows: Sequence[Row]) -> Table:
    cells = {(row["passages"], row["index"]): row for row in rows}
    kinds = list(dict.fromkeys(row["index"] for row in rows))
    return Table(
        "Attribution against the size of the knowledge base",
        (
            "passages",
            *(
                f"{kind} index: {what}"
                for kind in kinds
                for what in ("search", "attribution", "planted found")
            ),
        ),
        tuple(
            (
                f"{size:,}",
                *(
                    cell
                    for kind in kinds
                    for row in (cells[size, kind],)
                    for cell in (
                        f"{row['search_ms']:.3g} ms",
                        f"{row['attribution_ms']:.1f} ms",
                        f"{100 * row['planted_found']:.0f} %",
                    )
                ),
            )
            for size in dict.fromkeys(row["passages"] for row in rows)
        ),
    )
