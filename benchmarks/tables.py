"""Tables of a result: `python -m benchmarks.tables RESULT.json` prints them as Markdown.

`python -m benchmarks.tables` without a result writes the tables that the pages name into them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import (
    admission,
    attribution,
    cost,
    gpu,
    inline,
    languages,
    longer_queries,
    protocol,
    proxies,
    query_forms,
    real_model,
    signal_worth,
    transfer,
    unseen_manner,
    wrapped,
)
from benchmarks.report import judge
from benchmarks.report.figures import suite_tables
from benchmarks.report.result import read
from benchmarks.report.rows import of_sections
from benchmarks.report.table import Table, archived, as_markdown
from ragguard.errors import InvalidInputError

README = Path(__file__).with_name("README.md")
_DOCS = README.parent.parent / "docs"
PAGES = (
    README,
    README.with_name("TABLES.md"),
    *[
        _DOCS / f"{name}.md"
        for name in ("admission", "attacker", "attribution", "proxies", "signals")
    ],
)
"""The documents that hold tables."""

_MAKERS: Mapping[str, Callable[[Mapping[str, Any]], Iterable[Table]]] = {
    "suite_cells": lambda sections: suite_tables(of_sections(sections)),
    "judged": judge.tables,
    "cells": protocol.tables,
    "pairs": transfer.tables,
    "clean": inline.tables,
    "attack": inline.tables,
    "attribution": attribution.tables,
    "speed": real_model.tables,
    "proxies": proxies.tables,
    "gpu": gpu.tables,
    "cost": cost.tables,
    "query_forms": query_forms.tables,
    "longer_queries": longer_queries.tables,
    "languages": languages.tables,
    "unseen_manner": unseen_manner.tables,
    "wrapped": wrapped.tables,
    "admission_clean": admission.tables,
    "signal_worth": signal_worth.tables,
    "tables": lambda sections: map(archived, sections["tables"]),
}
"""What makes the tables of a result that has a section of this name."""


def tables(sections: Mapping[str, Any]) -> list[Table]:
    makers = dict.fromkeys(make for name, make in _MAKERS.items() if sections.get(name))
    return [table for make in makers for table in make(sections)]


def main(
    result: Annotated[
        Path | None, typer.Argument(help="what a benchmark wrote with --json")
    ] = None,
) -> None:
    """Print the tables of a result as Markdown, or write those of the pages."""
    if result is not None:
        for table in tables(read(result)["sections"]):
            typer.echo(as_markdown(table))
        return
    missing: list[str] = []
    for page in PAGES:
        text, problems = _filled(page.read_text(encoding="utf-8"), README.parent)
        page.write_text(text, encoding="utf-8")
        missing += problems
    for problem in dict.fromkeys(missing):
        typer.echo(problem, err=True)
    raise typer.Exit(2 if missing else 0)


_MARK = re.compile(r"(<!-- (\S+\.json): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, folder: Path = README.parent) -> str:
    """Return a document with every table put between its marks.

    A table stands between `<!-- results/NAME.json: TITLE -->` and `<!-- end -->`.
    """
    new, problems = _filled(text, folder)
    if problems:
        raise InvalidInputError("; ".join(problems))
    return new


def _filled(text: str, folder: Path) -> tuple[str, list[str]]:
    """Fill in what there is; return with it what there is not."""
    found: dict[str, dict[str, Table]] = {}
    problems: list[str] = []

    def table(match: re.Match[str]) -> str:
        begin, name, title, end = match.groups()
        if name not in found and not (folder / name).is_file():
            problems.append(f"{name}: not there; docs/benchmarks.md says what makes it")
            return match[0]
        if name not in found:
            made = tables(read(folder / name)["sections"])
            found[name] = {table.title: table for table in made}
        if title not in found[name]:
            problems.append(f"{name}: no table {title!r}; it has {', '.join(found[name])}")
            return match[0]
        return f"{begin}{as_markdown(found[name][title])}{end}"

    return _MARK.sub(table, text), problems


if __name__ == "__main__":
    typer.run(main)
