"""Tables of a result: `python -m benchmarks.tables RESULT.json` prints them as Markdown.

`python -m benchmarks.tables` without a result writes the tables that the pages name into them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.data import OWN
from benchmarks.report import read

__all__ = ["PAGES", "README", "Table", "as_markdown", "as_rich", "filled", "tables"]

README = Path(__file__).with_name("README.md")
PAGES = (README, README.parent.parent / "docs" / "attacker.md")
"""The documents that hold tables."""

Row = Mapping[str, Any]

_ATTRIBUTION = ("summary", "scopes", "clean")


@dataclass(frozen=True)
class Table:
    """A table of strings with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(sections: Mapping[str, Any]) -> list[Table]:
    """Return the tables of the sections that a result holds.

    They leave out the defence "none", which removes nothing and leaves poison in every set.
    """
    out: list[Table] = []
    if rows := _defended(sections.get("clean", ())):
        out += _by_source(rows, _clean)
        out += [_clean_by_dataset(*part) for part in _by_embedder(rows)]
    if rows := _defended(sections.get("attack", ())):
        out += [*_by_source(rows, _attack), *_by_source(rows, _attack_by_form)]
        for field in ("kind", "dataset"):
            out += _by_source(rows, partial(_attack_by, field))
    if attribution := sections.get("attribution"):
        out += [_plain(f"Attribution: {name}", attribution[name]) for name in _ATTRIBUTION]
    if timed := sections.get("cost"):
        out += [_cost(traffic, timed) for traffic in ("clean", "attacked")]
    if adaptive := sections.get("adaptive"):
        from benchmarks.adaptive.tables import tables as adaptive_tables  # they are made of Table

        out += adaptive_tables(adaptive)
    return out


def as_markdown(table: Table) -> str:
    """Return a table in Markdown under its title."""
    lines = [
        f"**{table.title}**",
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


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _clean(source: str, rows: list[Row]) -> Table:
    return Table(
        f"Clean traffic, {source}",
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
        f"Clean traffic by dataset, {embedder}: queries touched / passages removed",
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


def _attack_by_form(source: str, rows: list[Row]) -> Table:
    ours = [row for row in rows if row["defence"].startswith("ragguard")]
    cells = _pooled(ours, "form", "defence", "planted", "k")
    columns = sorted({(planted, k) for _, _, planted, k in cells})
    return Table(
        f"Attacks by form, {source}: detected / poison removed / benign removed",
        ("form", "defence", *(f"planted {planted}, k = {k}" for planted, k in columns)),
        tuple(
            (
                form,
                defence,
                *(
                    f"{_share(n['fired'], n['sets'])} / {_share(n['poison_removed'], n['poison'])}"
                    f" / {_share(n['benign_removed'], n['benign'])}"
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
                    f"{_share(n['fired'], n['sets'])} / {_share(n['poison_removed'], n['poison'])}"
                    f" ({n['sets']})"
                    for n in (cells[*stratum, k] for k in sizes)
                ),
            )
            for stratum in strata
        ),
    )


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


def _plain(title: str, rows: Sequence[Row]) -> Table:
    columns = tuple(rows[0]) if rows else ()
    return Table(title, columns, tuple(tuple(str(row[name]) for name in columns) for row in rows))


def main() -> None:
    """Print the tables of a result as Markdown, or write those of the pages."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("result", type=Path, nargs="?", help="what `python -m benchmarks` wrote")
    arguments = parser.parse_args()
    if arguments.result is None:
        for page in PAGES:
            page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    out = Console(soft_wrap=True, highlight=False, markup=False)
    for table in tables(read(arguments.result)["sections"]):
        out.print(as_markdown(table))


_MARK = re.compile(r"(<!-- (\S+\.json): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return a document with every table put between its marks.

    A table stands between `<!-- results/NAME.json: TITLE -->` and `<!-- end -->`; the path is
    relative to this folder.

    Raises:
        KeyError: A result holds no table of that title.
    """
    found: dict[str, dict[str, Table]] = {}

    def table(match: re.Match[str]) -> str:
        begin, name, title, end = match.groups()
        if name not in found:
            result = read(README.parent / name)
            found[name] = {table.title: table for table in tables(result["sections"])}
        return f"{begin}{as_markdown(found[name][title])}{end}"

    return _MARK.sub(table, text)


if __name__ == "__main__":
    main()
