"""Tables of a result: `python -m benchmarks.tables RESULT.json` prints them as Markdown.

Without a result it writes the tables that the pages name into them, each between
`<!-- results/NAME.json: TITLE -->` and `<!-- end -->`.
"""

import re
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import script
from benchmarks.report.figures import of_sections, suite_tables
from benchmarks.report.result import read
from benchmarks.report.table import Sections, Table, as_markdown

Result = Annotated[Path | None, typer.Argument(help="what a benchmark wrote with --json")]

README = Path(__file__).with_name("README.md")
_DOCS = README.parent.parent / "docs"
_PAGES = ("admission", "attacker", "attribution", "honest-traffic", "proxies")
PAGES = (README, README.with_name("TABLES.md"), *[_DOCS / f"{name}.md" for name in _PAGES])

_OWN = (
    "attribution cost languages layouts memory query_forms signal_worth unseen_manner worded"
    " wrapped"
)
_MODULES = {
    **{"cells": "protocol", "clean": "inline", "attack": "inline", "admission_clean": "admission"},
    **{name: name for name in _OWN.split()},
}
"""By section, the module whose `tables` makes the tables of a result that has this section."""


def tables(sections: Sections) -> list[Table]:
    found = list(suite_tables(of_sections(sections))) if "suite_cells" in sections else []
    for module in dict.fromkeys(_MODULES[name] for name in _MODULES if sections.get(name)):
        found += import_module(f"benchmarks.{module}").tables(sections)
    for kept in sections.get("tables", ()):  # as last made, since nothing makes them any more
        found.append(Table(kept["title"], tuple(kept["columns"]), tuple(map(tuple, kept["rows"]))))
    return found


_MARK = re.compile(r"(<!-- (\S+\.json): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


@cache
def _of_file(result: Path) -> tuple[dict[str, Table], str]:
    """Return the tables of a result by title, or why there are none."""
    if not result.is_file():
        return {}, "not there; docs/benchmarks.md says what makes it"
    with suppress(KeyError):
        if found := tables(read(result)["sections"]):
            return {table.title: table for table in found}, ""
    return {}, "its tables cannot be made from its rows"


def filled(text: str, folder: Path = README.parent) -> tuple[str, list[str]]:
    """Return a document with every table that there is between its marks, and what there is not."""
    problems: list[str] = []

    def table(match: re.Match[str]) -> str:
        begin, name, title, end = match.groups()
        found, problem = _of_file(folder / name)
        if title in found:
            return f"{begin}{as_markdown(found[title])}{end}"
        missing = f"no table {title!r}; it has {', '.join(found)}"
        problems.append(f"{name}: {problem or missing}")
        return match[0]

    return _MARK.sub(table, text), problems


@script
def main(result: Result = None) -> None:
    """Print the tables of a result as Markdown, or write those of the pages."""
    missing: list[str] = []
    if result is not None:
        found, problem = _of_file(result)
        for table in found.values():
            typer.echo(as_markdown(table))
        missing += [f"{result}: {problem}"] if problem else []
    for page in () if result else PAGES:
        text, problems = filled(page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
        missing += problems
    for problem in dict.fromkeys(missing):
        typer.echo(problem, err=True)
    raise typer.Exit(2 if missing else 0)
