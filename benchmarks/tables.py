"""Tables of a result: `python -m benchmarks.tables RESULT.json` prints them as Markdown.

`python -m benchmarks.tables` without a result writes the tables that the pages name into them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.report.result import read
from ragguard.errors import InvalidInputError

__all__ = ["PAGES", "README", "Table", "as_markdown", "as_rich", "filled", "share", "tables"]

README = Path(__file__).with_name("README.md")
_DOCS = README.parent.parent / "docs"
PAGES = (
    README,
    README.with_name("TABLES.md"),
    *[
        _DOCS / f"{name}.md"
        for name in ("admission", "attacker", "attribution", "operations", "signals")
    ],
)
"""The documents that hold tables."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of strings with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(sections: Mapping[str, Any]) -> list[Table]:
    """Return the tables of the sections that a result holds."""
    # The modules below make their tables of Table and are imported only when they are needed.
    if "cells" in sections:
        from benchmarks.protocol_tables import summaries

        return [*summaries(sections["cells"])]
    if "pairs" in sections:
        from benchmarks.transfer_tables import tables as transfer_tables

        return [*transfer_tables(sections["pairs"], sections["simulation"])]
    if "suite_cells" in sections:
        from benchmarks.report.figures import suite_tables
        from benchmarks.report.rows import of_sections

        return [*suite_tables(of_sections(sections))]
    if "judged" in sections:
        from benchmarks.report.judge import judge_table

        return [judge_table(sections["judged"])]
    from benchmarks.inline_tables import inline_tables

    return [*inline_tables(sections), *_others(sections)]


def _others(sections: Mapping[str, Any]) -> Iterable[Table]:
    from benchmarks.attribution_tables import tables as attribution_tables

    yield from attribution_tables(sections)
    if timed := sections.get("cost"):
        from benchmarks.cost_tables import cost_tables

        yield from cost_tables(timed)
    if adaptive := sections.get("adaptive"):
        from benchmarks.adaptive.tables import tables as adaptive_tables

        yield from adaptive_tables(adaptive)
    if honest := sections.get("honest_calibrations"):
        from benchmarks.honest_calibrations import tables as honest_tables

        yield from honest_tables(honest)
    if sections.get("query_forms"):
        from benchmarks.query_forms import tables as query_form_tables

        yield from query_form_tables(sections)
    if spoken := sections.get("languages"):
        from benchmarks.languages import tables as language_tables

        yield from language_tables(spoken)
    if sections.get("unseen_manner"):
        from benchmarks.unseen_manner import tables as unseen_tables

        yield from unseen_tables(sections)
    if trusted := sections.get("trust"):
        from benchmarks.trust import tables as trust_tables

        yield from trust_tables(trusted)
    if sections.get("admission_clean"):
        from benchmarks.admission import tables as admission_tables

        yield from admission_tables(sections)
    if worth := sections.get("signal_worth"):
        from benchmarks.signal_worth import tables as signal_tables

        yield from signal_tables(worth)


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


def share(part: int, whole: int) -> str:
    """Return a share in per cent, or a dash where there is nothing to have a share of."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def main() -> int:
    """Print the tables of a result as Markdown, or write those of the pages."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("result", type=Path, nargs="?", help="what a benchmark wrote with --json")
    arguments = parser.parse_args()
    if arguments.result is not None:
        out = Console(soft_wrap=True, highlight=False, markup=False)
        for table in _of_file(arguments.result):
            out.print(as_markdown(table))
        return 0
    missing: list[str] = []
    for page in PAGES:
        text, problems = _filled(page.read_text(encoding="utf-8"), README.parent)
        page.write_text(text, encoding="utf-8")
        missing += problems
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    for problem in dict.fromkeys(missing):
        errors.print(problem)
    return 2 if missing else 0


def _of_file(path: Path) -> list[Table]:
    result = read(path)
    return tables(result["sections"])


_MARK = re.compile(r"(<!-- (\S+\.json): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, folder: Path = README.parent) -> str:
    """Return a document with every table put between its marks.

    A table stands between `<!-- results/NAME.json: TITLE -->` and `<!-- end -->`.

    Args:
        text: The document.
        folder: What the paths of results are relative to.

    Raises:
        InvalidInputError: A result is not there, or holds no table of that title.
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
            found[name] = {table.title: table for table in _of_file(folder / name)}
        if title not in found[name]:
            problems.append(f"{name}: no table {title!r}; it has {', '.join(found[name])}")
            return match[0]
        return f"{begin}{as_markdown(found[name][title])}{end}"

    return _MARK.sub(table, text), problems


if __name__ == "__main__":
    sys.exit(main())
