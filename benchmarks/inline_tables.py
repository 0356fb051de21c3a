"""The tables of the inline defences: clean traffic, and attacks by form, kind and dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.datasets import OWN
from benchmarks.forms import FORMS, HELD_OUT_FORMS, WRITTEN_FORMS
from benchmarks.tables import Table, share

__all__ = ["inline_tables"]

Row = Mapping[str, Any]


def inline_tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of the sections "clean" and "attack" of `python -m benchmarks`.

    They leave out the defence "none", which removes nothing and leaves poison in every set.
    """
    if rows := _defended(sections.get("clean", ())):
        yield from _by_source(rows, _clean)
        yield from (_clean_by_dataset(*part) for part in _by_embedder(rows))
    if rows := _defended(sections.get("attack", ())):
        yield from _by_source(rows, _attack)
        apart = {*HELD_OUT_FORMS, *WRITTEN_FORMS}
        for name, among in (
            ("form", set(FORMS) - apart),
            ("way of writing", WRITTEN_FORMS),
            ("held-out form", HELD_OUT_FORMS),
        ):
            chosen = [row for row in rows if row["form"] in among]
            yield from _by_source(chosen, partial(_attack_by_form, name))
        for field in ("kind", "dataset"):
            yield from _by_source(rows, partial(_attack_by, field))


def _defended(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["defence"] != "none"]


def _by_embedder(rows: Sequence[Row]) -> Iterable[tuple[str, list[Row]]]:
    names = dict.fromkeys(row["embedder"] for row in rows)
    return ((name, [row for row in rows if row["embedder"] == name]) for name in names)


def _by_source(rows: Sequence[Row], make: Callable[[str, list[Row]], Table]) -> Iterable[Table]:
    """Make a table of the public data and one of the own, which is never pooled with it."""
    for embedder, part in _by_embedder(rows):
        own = [row for row in part if row["dataset"] == OWN]
        public = [row for row in part if row["dataset"] != OWN]
        for source, chosen in (("public data", public), (f"own data ({OWN})", own)):
            if chosen:
                yield make(f"{source}, {embedder}", chosen)


def _pooled(rows: Iterable[Row], *by: str) -> dict[tuple[Any, ...], dict[str, int]]:
    """Sum the counts of all rows that agree in the fields `by`."""
    out: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in rows:
        total = out.setdefault(tuple(row[name] for name in by), {})
        for name, value in row.items():
            if isinstance(value, int) and name not in by:
                total[name] = total.get(name, 0) + value
    return out


def _if_noticed(row: Row, cell: str) -> tuple[str, ...]:
    """Return the cell, or none for results from before there were marks."""
    return (cell,) if "noticed" in row else ()


def _clean(source: str, rows: list[Row]) -> Table:
    return Table(
        f"Clean traffic, {source}",
        (
            "k",
            "defence",
            "queries",
            "touched",
            *_if_noticed(rows[0], "or marked"),
            "passages removed",
            "golden passage removed",
        ),
        tuple(
            (
                str(k),
                defence,
                str(n["queries"]),
                share(n["touched"], n["queries"]),
                *_if_noticed(n, share(n.get("noticed", 0), n["queries"])),
                share(n["removed"], n["passages"]),
                share(n["golden_removed"], n["golden"]),
            )
            for (k, defence), n in sorted(
                _pooled(rows, "k", "defence").items(), key=lambda entry: entry[0][0]
            )
        ),
    )


def _clean_by_dataset(embedder: str, rows: list[Row]) -> Table:
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    cells = _pooled(rows, "k", "defence", "dataset")
    lines = dict.fromkeys((row["k"], row["defence"]) for row in rows)
    return Table(
        f"Clean traffic by dataset, {embedder}: queries touched / passages removed",
        ("k", "defence", *datasets),
        tuple(
            (
                str(k),
                defence,
                *(
                    f"{share(n['touched'], n['queries'])} / {share(n['removed'], n['passages'])}"
                    for n in (cells[k, defence, dataset] for dataset in datasets)
                ),
            )
            for k, defence in sorted(lines, key=lambda line: line[0])
        ),
    )


def _attack(source: str, rows: list[Row]) -> Table:
    pooled = _pooled(rows, "form", "planted", "k", "defence")
    return Table(
        f"Attacks, all kinds, {source}",
        (
            "form",
            "planted",
            "k",
            "defence",
            "sets",
            "detected",
            *_if_noticed(rows[0], "or marked"),
            "poison removed",
            "benign removed",
            "sets with poison left",
        ),
        tuple(
            (
                form,
                str(planted),
                str(k),
                defence,
                str(n["sets"]),
                share(n["fired"], n["sets"]),
                *_if_noticed(n, share(n.get("noticed", 0), n["sets"])),
                share(n["poison_removed"], n["poison"]),
                share(n["benign_removed"], n["benign"]),
                share(n["poison_left"], n["sets"]),
            )
            for (form, planted, k, defence), n in pooled.items()
        ),
    )


def _attack_by_form(name: str, source: str, rows: list[Row]) -> Table:
    ours = [row for row in rows if row["defence"].startswith("ragguard")]
    cells = _pooled(ours, "form", "defence", "planted", "k")
    columns = sorted({(planted, k) for _, _, planted, k in cells})
    return Table(
        f"Attacks by {name}, {source}: detected / poison removed / benign removed",
        ("form", "defence", *(f"planted {planted}, k = {k}" for planted, k in columns)),
        tuple(
            (
                form,
                defence,
                *(
                    f"{share(n['fired'], n['sets'])} / {share(n['poison_removed'], n['poison'])}"
                    f" / {share(n['benign_removed'], n['benign'])}"
                    for n in (cells[form, defence, *column] for column in columns)
                ),
            )
            for form, defence in dict.fromkeys((form, defence) for form, defence, _, _ in cells)
        ),
    )


def _attack_by(field: str, source: str, rows: list[Row]) -> Table:
    ours = [row for row in rows if row["defence"] == "ragguard"]
    cells = _pooled(ours, field, "form", "planted", "k")
    sizes = sorted({k for *_, k in cells})
    strata = dict.fromkeys(stratum[:-1] for stratum in cells)
    return Table(
        f"Attacks by {field}, ragguard, {source}: detected / poison removed (sets)",
        (field, "form", "planted", *(f"k = {k}" for k in sizes)),
        tuple(
            (
                *(str(value) for value in stratum),
                *(
                    f"{share(n['fired'], n['sets'])} / {share(n['poison_removed'], n['poison'])}"
                    f" ({n['sets']})"
                    for n in (cells[*stratum, k] for k in sizes)
                ),
            )
            for stratum in strata
        ),
    )
