"""The tables of a result of `python -m benchmarks.adaptive`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.report.table import Row, Table, crossed, grouped, listed, share, summed

_ORDER = ("published", "plain text", "wording", "borrowed words", "split", "mimicry", "flooding")


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of the parts "attacks", "denial" and "tracing" of the section "adaptive"."""
    parts = sections["adaptive"]
    for (embedder,), found in grouped(parts["attacks"], "embedder").items():
        rows = sorted(found, key=lambda row: (_ORDER.index(row["attack"]), row["planted"]))
        yield crossed(
            f"Adaptive attacks, {embedder}: among the first k / undetected of those",
            rows,
            {"attack": "attack", "planted": "planted", "targets": "targets"},
            _setting,
            _passed,
            order=dict.fromkeys(map(_setting, found)),
        )
        strata = grouped(rows, "attack", "planted").values()
        yield listed(
            f"What adaptive attacks cost, {embedder}, all k", [*map(_price, strata)], _PRICE
        )
    if parts["denial"]:
        pairs = grouped(parts["denial"], "embedder", "planted", "k", "over_fetch").values()
        yield listed(
            "Denial by copies of the answering passage: question in front / most harmful of four",
            [_denied(pair) for pair in pairs],
            {name: name for name in ("embedder", "planted", "setting", "questions", *_DENIED)},
        )
    if parts["tracing"]:
        yield listed(
            "What attribution finds of attacks that were not detected, k = 5",
            sorted(
                (row for row in parts["tracing"] if row["events"]),
                key=lambda row: (_ORDER.index(row["attack"]), row["embedder"], row["planted"]),
            ),
            {
                **{name: name for name in ("attack", "embedder", "planted")},
                "reports": "events",
                "poison blamed": lambda row: share(row["blamed"], row["poison"], 0),
                "all of it blamed": lambda row: share(row["traced"], row["events"], 0),
                "over after quarantine": lambda row: share(row["over"], row["events"], 0),
                "anything benign blamed": lambda row: share(row["benign_blamed"], row["events"], 0),
            },
        )


def _setting(row: Row) -> str:
    return f"k = {row['k']}" + (f", {row['over_fetch']}x" if row["over_fetch"] > 1 else "")


def _passed(rows: list[Row]) -> str:
    (row,) = rows
    return f"{share(row['sets'], row['targets'], 0)} / {share(row['undetected'], row['sets'], 0)}"


def _price(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the sums over the settings of an attack, and the ranges of its medians."""
    lost = sum(row["similarity_lost"] for row in rows) / len(rows)
    ranges = {
        name: _range([row[name] for row in rows if row[name] is not None], form)
        for name, form in (("asked", ".0f"), ("p_value", ".2g"))
    }
    return {**summed(rows, "attack", "planted"), "lost": f"{lost:.3f}", **ranges}


_PRICE: Mapping[str, Any] = {
    **{"attack": "attack", "planted": "planted", "similarity lost": "lost"},
    **{"questions to the guard": "asked", "p-value": "p_value"},
    "undetected": lambda row: share(row["undetected"], row["sets"], 0),
    "undetected, own calibration": lambda row: share(row["undetected_own"], row["sets_own"], 0),
    "poison removed": lambda row: share(row["poison_removed"], row["poison"], 0),
    "benign removed": lambda row: share(row["benign_removed"], row["benign"], 0),
}


def _range(values: Sequence[float], form: str) -> str:
    """Return the least and the greatest of the settings' medians."""
    if not values:
        return "-"
    least, most = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == most else f"{least} to {most}"


_DENIED = {
    "answer pushed out": ("pushed_out", "targets"),
    "answer removed by the guard": ("golden_removed", "golden"),
    "answer reaches the generator": ("golden_reaching", "targets"),
    "benign removed": ("benign_removed", "benign"),
}


def _denied(pair: Sequence[Row]) -> dict[str, str]:
    """Return a line of the plain decoys, which come first, and of the most harmful."""
    plain = pair[0]
    cells = {
        head: " / ".join(share(row[part], row[whole], 0) for row in pair)
        for head, (part, whole) in _DENIED.items()
    }
    place = {name: str(plain[name]) for name in ("embedder", "planted")}
    return {**place, "setting": _setting(plain), "questions": str(plain["targets"]), **cells}
