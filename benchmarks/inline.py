"""Sections "clean" and "attack": what a defence does to retrieved sets, attacked or not.

A row of "clean" counts `queries`, those `touched` (a passage was dropped) and `noticed` (dropped or
marked), the `passages` among the first k and those `removed`, and the sets that hold a `golden`
passage and lose it. A row of "attack" counts the `attempts` to plant poison, the `sets` that have
some among the first k, and over these what `benchmarks.metrics.outcomes.counted` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.datasets import OWN, Dataset, Record
from benchmarks.defences.contenders import Defence
from benchmarks.forms import FORMS, HELD_OUT_FORMS, WRITTEN_FORMS
from benchmarks.metrics.outcomes import Counts, counted
from benchmarks.report.table import Row, Table, crossed, grouped, listed, ratio, summed
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder

SIZES = (5, 10)
"""How many passages the generator gets."""

COUNTS = (1, 5)
"""How many texts the attacker plants for a question (M)."""

_LIMIT = OVER_FETCH * max(SIZES)
_APART = {"way of writing": WRITTEN_FORMS, "held-out form": HELD_OUT_FORMS}


def clean(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    defences: Sequence[Defence],
    errors: Console,
) -> list[dict[str, Any]]:
    """Run every defence on every clean set; `errors` shows how far it is."""
    names = ("queries", "touched", "noticed", "passages", "removed", "golden", "golden_removed")
    rows = Counts(*names)
    for embedder in embedders:
        for dataset in datasets:
            place = {"dataset": dataset.name, "embedder": embedder.name}
            for record in track(dataset.report, f"clean: {dataset.name}", console=errors):
                ranked = retrieve(record, embedder, _LIMIT)
                for k in SIZES:
                    for defence in defences:
                        counts = counted(defence, ranked, k)
                        counts |= {"queries": 1, "touched": counts["fired"]}
                        rows.add({**place, "k": k, "defence": defence.name}, counts)
    return rows.rows()


def attack(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    defences: Sequence[Defence],
    forms: Sequence[str],
    errors: Console,
) -> list[dict[str, Any]]:
    """Run every defence on every attack; `errors` shows how far it is.

    Attacks of which nothing is retrieved harm nobody and are only counted as attempts.
    """
    names = ("attempts", "sets", "fired", "noticed", "poison", "poison_removed")
    rows = Counts(*names, "benign", "benign_removed", "poison_left")
    for embedder in embedders:
        for dataset in datasets:
            place = {"dataset": dataset.name, "embedder": embedder.name}
            for record in track(dataset.report, f"attack: {dataset.name}", console=errors):
                for of_attack, ranked in _attacks(record, embedder, dataset.kinds, forms):
                    for k in SIZES:
                        for defence in defences:
                            counts = {"attempts": 1}
                            if ranked.poisoned[:k].any():
                                counts |= {**counted(defence, ranked, k), "sets": 1}
                            key = {**place, **of_attack, "k": k, "defence": defence.name}
                            rows.add(key, counts)
    return rows.rows()


def _attacks(
    record: Record, embedder: Embedder, kinds: Sequence[str], forms: Sequence[str]
) -> Iterator[tuple[dict[str, Any], RetrievedSet]]:
    for kind in kinds:
        for form in forms:
            for count in COUNTS:
                if texts := planted(record, kind, form, count):
                    found = retrieve(record, embedder, _LIMIT, texts)
                    yield {"kind": kind, "form": form, "planted": count}, found


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of the sections "clean" and "attack" of `python -m benchmarks`.

    They leave out the defence "none", which removes nothing and leaves poison in every set. The
    public data and the project's own are never pooled.
    """
    for name, make in (("clean", _clean), ("attack", _attacked)):
        rows = [row for row in sections.get(name, ()) if row["defence"] != "none"]
        for (embedder,), of_it in grouped(rows, "embedder").items():
            own = [row for row in of_it if row["dataset"] == OWN]
            public = [row for row in of_it if row["dataset"] != OWN]
            for source, part in (("public data", public), (f"own data ({OWN})", own)):
                if part:
                    yield from make(f"{source}, {embedder}", part)
            if name == "clean":
                yield _clean_by_dataset(embedder, of_it)


def _pooled(rows: list[Row], *by: str) -> list[dict[str, Any]]:
    return [summed(part, *by) for part in grouped(rows, *by).values()]


def _noticed(rows: list[Row], whole: str) -> dict[str, Any]:
    """Return the column of marks, or none for results from before there were any."""
    return {"or marked": ratio("noticed", whole)} if "noticed" in rows[0] else {}


def _clean(source: str, rows: list[Row]) -> Iterator[Table]:
    pooled = sorted(_pooled(rows, "k", "defence"), key=lambda row: int(row["k"]))
    yield listed(
        f"Clean traffic, {source}",
        pooled,
        {
            **{"k": "k", "defence": "defence", "queries": "queries"},
            "touched": ratio("touched", "queries"),
            **_noticed(rows, "queries"),
            "passages removed": ratio("removed", "passages"),
            "golden passage removed": ratio("golden_removed", "golden"),
        },
    )


def _clean_by_dataset(embedder: str, rows: list[Row]) -> Table:
    def cell(part: list[Row]) -> str:
        n = summed(part)
        return f"{ratio('touched', 'queries')(n)} / {ratio('removed', 'passages')(n)}"

    return crossed(
        f"Clean traffic by dataset, {embedder}: queries touched / passages removed",
        sorted(rows, key=lambda row: int(row["k"])),
        {"k": "k", "defence": "defence"},
        "dataset",
        cell,
        order=dict.fromkeys(row["dataset"] for row in rows),
    )


def _attacked(source: str, rows: list[Row]) -> Iterator[Table]:
    place = ("form", "planted", "k", "defence")
    yield listed(
        f"Attacks, all kinds, {source}",
        _pooled(rows, *place),
        {
            **{name: name for name in (*place, "sets")},
            "detected": ratio("fired", "sets"),
            **_noticed(rows, "sets"),
            "poison removed": ratio("poison_removed", "poison"),
            "benign removed": ratio("benign_removed", "benign"),
            "sets with poison left": ratio("poison_left", "sets"),
        },
    )
    apart = {form for forms in _APART.values() for form in forms}
    ours = [row for row in rows if row["defence"].startswith("ragguard")]
    for name, forms in {"form": set(FORMS) - apart, **_APART}.items():
        if any(row["form"] in forms for row in rows):
            yield crossed(
                f"Attacks by {name}, {source}: detected / poison removed / benign removed",
                [row for row in ours if row["form"] in forms],
                {"form": "form", "defence": "defence"},
                lambda row: f"planted {row['planted']}, k = {row['k']}",
                _found_and_lost,
                order=_settings(ours),
            )
    for field in ("kind", "dataset"):
        yield crossed(
            f"Attacks by {field}, ragguard, {source}: detected / poison removed (sets)",
            [row for row in rows if row["defence"] == "ragguard"],
            {field: field, "form": "form", "planted": "planted"},
            lambda row: f"k = {row['k']}",
            lambda part: f"{_found(part)} ({summed(part)['sets']})",
            order=[f"k = {k}" for k in sorted({row["k"] for row in rows})],
        )


def _settings(rows: list[Row]) -> list[str]:
    pairs = sorted({(row["planted"], row["k"]) for row in rows})
    return [f"planted {planted}, k = {k}" for planted, k in pairs]


def _found(rows: list[Row]) -> str:
    n = summed(rows)
    return f"{ratio('fired', 'sets')(n)} / {ratio('poison_removed', 'poison')(n)}"


def _found_and_lost(rows: list[Row]) -> str:
    return f"{_found(rows)} / {ratio('benign_removed', 'benign')(summed(rows))}"
