"""Tables of a result: `python -m benchmarks.tables RESULT.json` prints them as Markdown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

__all__ = ["Table", "as_markdown", "as_rich", "tables"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of strings with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(sections: Mapping[str, Any]) -> list[Table]:
    """Return the tables of the sections that a result holds."""
    out: list[Table] = []
    if rows := sections.get("clean"):
        out += [*_per_embedder(rows, _clean), *_per_embedder(rows, _clean_by_dataset)]
    if rows := sections.get("attack"):
        out += [*_per_embedder(rows, _attack), *_per_embedder(rows, _attack_by_kind)]
    if rows := sections.get("cost"):
        out += [_cost(traffic, rows) for traffic in ("clean", "attacked")]
    return out


def as_markdown(table: Table) -> str:
    """Return a table in Markdown, its title as a heading."""
    lines = [
        f"### {table.title}",
        "",
        f"| {' | '.join(table.columns)} |",
        f"|{'---|' * len(table.columns)}",
        *(f"| {' | '.join(row)} |" for row in table.rows),
    ]
    return "\n".join(lines) + "\n"


def as_rich(table: Table) -> RichTable:
    """Return a table for the terminal."""
    out = RichTable(*table.columns, title=table.title, title_justify="left")
    for row in table.rows:
        out.add_row(*row)
    return out


def _per_embedder(rows: Sequence[Row], make: Callable[[str, list[Row]], Table]) -> Iterable[Table]:
    names = dict.fromkeys(row["embedder"] for row in rows)
    return [make(name, [row for row in rows if row["embedder"] == name]) for name in names]


def _pooled(rows: Iterable[Row], *by: str) -> dict[tuple[Any, ...], dict[str, int]]:
    """Sum the counts of all rows that agree in the fields `by`."""
    out: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in rows:
        total = out.setdefault(tuple(row[name] for name in by), {})
        for name, value in row.items():
            if isinstance(value, int) and name not in by:
                total[name] = total.get(name, 0) + value
    return out


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _clean(embedder: str, rows: list[Row]) -> Table:
    return Table(
        f"Clean traffic, all datasets, {embedder}",
        ("k", "defence", "queries", "touched", "passages removed", "golden passage removed"),
        tuple(
            (
                str(k),
                defence,
                str(n["queries"]),
                _share(n["touched"], n["queries"]),
                _share(n["removed"], n["passages"]),
                _share(n["golden_removed"], n["golden"]),
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
        f"Clean traffic, queries touched / passages removed per dataset, {embedder}",
        ("k", "defence", *datasets),
        tuple(
            (
                str(k),
                defence,
                *(
                    f"{_share(n['touched'], n['queries'])} / {_share(n['removed'], n['passages'])}"
                    for n in (cells[k, defence, dataset] for dataset in datasets)
                ),
            )
            for k, defence in sorted(lines, key=lambda line: line[0])
        ),
    )


def _attack(embedder: str, rows: list[Row]) -> Table:
    pooled = _pooled(rows, "form", "planted", "k", "defence")
    return Table(
        f"Attacks, all datasets and kinds, {embedder}",
        (
            "form",
            "planted",
            "k",
            "defence",
            "sets",
            "detected",
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
                _share(n["fired"], n["sets"]),
                _share(n["poison_removed"], n["poison"]),
                _share(n["benign_removed"], n["benign"]),
                _share(n["poison_left"], n["sets"]),
            )
            for (form, planted, k, defence), n in pooled.items()
        ),
    )


def _attack_by_kind(embedder: str, rows: list[Row]) -> Table:
    ours = [row for row in rows if row["defence"] == "ragguard"]
    return Table(
        f"Attacks by dataset and kind, ragguard, {embedder}: detected / poison removed",
        ("dataset", "kind", "form", "planted", *(f"k = {k}" for k in _sizes(ours))),
        tuple(
            (
                *(str(value) for value in stratum),
                *(
                    f"{_share(n['fired'], n['sets'])} / {_share(n['poison_removed'], n['poison'])}"
                    f" of {n['sets']}"
                    for n in (cells[k,] for k in _sizes(ours))
                ),
            )
            for stratum, cells in _strata(ours)
        ),
    )


def _sizes(rows: Iterable[Row]) -> list[int]:
    return sorted({row["k"] for row in rows})


def _strata(rows: list[Row]) -> Iterable[tuple[tuple[Any, ...], dict[tuple[Any, ...], Any]]]:
    by = ("dataset", "kind", "form", "planted")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return ((stratum, _pooled(group, "k")) for stratum, group in groups.items())


def _cost(traffic: str, rows: Sequence[Row]) -> Table:
    chosen = [row for row in rows if row["traffic"] == traffic]
    return Table(
        f"Cost of a query in milliseconds, {traffic} sets, embeddings given",
        (
            "k",
            "defence",
            "text caches",
            "fired",
            "median",
            "p99",
            "median cpu",
            "p99 cpu",
            "cpu / ragguard cold",
            "cpu / ragguard warm",
        ),
        tuple(
            (
                str(row["k"]),
                row["defence"],
                row["caches"] if row["defence"].startswith("ragguard") else "none",
                _share(row["fired"], row["samples"]),
                f"{row['median_ms']:.3g}",
                f"{row['p99_ms']:.3g}",
                f"{row['median_cpu_ms']:.3g}",
                f"{row['p99_cpu_ms']:.3g}",
                f"{row['cpu_over_ragguard_cold']:.2f}",
                f"{row['cpu_over_ragguard_warm']:.2f}",
            )
            for row in chosen
        ),
    )


def main() -> None:
    """Print the tables of a result as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("result", type=Path, help="what `python -m benchmarks --json` wrote")
    arguments = parser.parse_args()
    result = json.loads(arguments.result.read_text(encoding="utf-8"))
    out = Console(soft_wrap=True, highlight=False, markup=False)
    for table in tables(result["sections"]):
        out.print(as_markdown(table))


if __name__ == "__main__":
    main()
