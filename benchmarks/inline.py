"""Sections "clean" and "attack": what a defence does to retrieved sets, attacked or not.

Rows count what `benchmarks.metrics.outcomes.counted` says; those of "attack" over the `sets` that
have poison among the first k, since attacks of which nothing is retrieved harm nobody.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any

from benchmarks.command import tracked
from benchmarks.datasets import OWN, Dataset, Record
from benchmarks.defences.contenders import Defence
from benchmarks.forms import FORMS, HELD_OUT_FORMS, WRITTEN_FORMS
from benchmarks.metrics.outcomes import Counts, counted
from benchmarks.report.table import Rows, Table, crossed, grouped, listed, pooled, ratio, shares
from benchmarks.retrieval import OVER_FETCH, planted, retrieve
from ragguard.embedding import Embedder

SIZES = (5, 10)  # how many passages the generator gets
COUNTS = (1, 5)  # how many texts the attacker plants for a question (M)
_LIMIT = OVER_FETCH * max(SIZES)
_APART = {"way of writing": WRITTEN_FORMS, "held-out form": HELD_OUT_FORMS}


def clean(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], defences: Sequence[Defence]
) -> Rows:
    names = ("queries", "touched", "noticed", "passages", "removed", "golden", "golden_removed")
    rows = Counts(*names)
    for place, record, embedder in _questions(datasets, embedders, "clean"):
        ranked = retrieve(record, embedder, _LIMIT)
        for k, defence in product(SIZES, defences):
            counts = counted(defence, ranked, k)
            counts |= {"queries": 1, "touched": counts["fired"]}
            rows.add({**place, "k": k, "defence": defence.name}, counts)
    return rows.rows()


def attack(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    defences: Sequence[Defence],
    forms: Sequence[str],
) -> Rows:
    names = ("attempts", "sets", "fired", "noticed", "poison", "poison_removed")
    rows = Counts(*names, "benign", "benign_removed", "poison_left")
    kinds = {dataset.name: dataset.kinds for dataset in datasets}
    for place, record, embedder in _questions(datasets, embedders, "attack"):
        attacks = {
            one: texts
            for one in product(kinds[place["dataset"]], forms, COUNTS)
            if (texts := planted(record, *one))
        }
        # At once, which is faster where a model embeds.
        embedder.embed([record.question, *chain.from_iterable(attacks.values())])
        for (kind, form, count), texts in attacks.items():
            ranked = retrieve(record, embedder, _LIMIT, texts)
            of_attack = {**place, "kind": kind, "form": form, "planted": count}
            for k, defence in product(SIZES, defences):
                counts = {"attempts": 1}
                if ranked.poisoned[:k].any():
                    counts |= {**counted(defence, ranked, k), "sets": 1}
                rows.add({**of_attack, "k": k, "defence": defence.name}, counts)
    return rows.rows()


def _questions(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], section: str
) -> Iterator[tuple[dict[str, Any], Record, Embedder]]:
    for embedder, dataset in product(embedders, datasets):
        place = {"dataset": dataset.name, "embedder": embedder.name}
        for record in tracked(dataset.report, f"{section}: {dataset.name}"):
            yield place, record, embedder


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    for name, make in (("clean", _clean), ("attack", _attacked)):
        # It removes nothing, and leaves poison in every set.
        rows = [row for row in sections.get(name, ()) if row["defence"] != "none"]
        for (embedder,), of_it in grouped(rows, "embedder").items():
            for source, own in (("public data", False), (f"own data ({OWN})", True)):
                if part := [row for row in of_it if (row["dataset"] == OWN) == own]:
                    yield from make(f"{source}, {embedder}", part)
            if name == "clean":
                yield crossed(
                    f"Clean traffic by dataset, {embedder}: queries touched / passages removed",
                    sorted(of_it, key=lambda row: int(row["k"])),
                    {"k": "k", "defence": "defence"},
                    "dataset",
                    shares(("touched", "queries"), ("removed", "passages")),
                )


def _clean(source: str, rows: Rows) -> Iterator[Table]:
    yield listed(
        f"Clean traffic, {source}",
        sorted(pooled(rows, "k", "defence"), key=lambda row: int(row["k"])),
        {
            **{"k": "k", "defence": "defence", "queries": "queries"},
            "touched": ratio("touched", "queries"),
            "or marked": ratio("noticed", "queries"),
            "passages removed": ratio("removed", "passages"),
            "golden passage removed": ratio("golden_removed", "golden"),
        },
    )


def _attacked(source: str, rows: Rows) -> Iterator[Table]:
    place = ("form", "planted", "k", "defence")
    yield listed(
        f"Attacks, all kinds, {source}",
        pooled(rows, *place),
        {
            **{name: name for name in (*place, "sets")},
            "detected": ratio("fired", "sets"),
            "or marked": ratio("noticed", "sets"),
            "poison removed": ratio("poison_removed", "poison"),
            "benign removed": ratio("benign_removed", "benign"),
            "sets with poison left": ratio("poison_left", "sets"),
        },
    )
    found = (("fired", "sets"), ("poison_removed", "poison"))
    apart = {form for forms in _APART.values() for form in forms}
    ours = [row for row in rows if row["defence"].startswith("ragguard")]
    for name, forms in {"form": set(FORMS) - apart, **_APART}.items():
        if of_forms := [row for row in ours if row["form"] in forms]:
            yield crossed(
                f"Attacks by {name}, {source}: detected / poison removed / benign removed",
                of_forms,
                {"form": "form", "defence": "defence"},
                lambda row: f"planted {row['planted']}, k = {row['k']}",
                shares(*found, ("benign_removed", "benign")),
            )
    for field in ("kind", "dataset"):
        yield crossed(
            f"Attacks by {field}, ragguard, {source}: detected / poison removed (sets)",
            [row for row in rows if row["defence"] == "ragguard"],
            {field: field, "form": "form", "planted": "planted"},
            lambda row: f"k = {row['k']}",
            lambda row: f"{shares(*found)(row)} ({row['sets']})",
        )
