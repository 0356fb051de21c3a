"""How the commands write: JSON for programs, words and tables for people, the log on stderr."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import IO, Any

import typer

from ragguard.text import printable

FINDING = 1
OPERATIONAL = 3
SHOWN_KEY = 12
"""Hex digits of a content key: 48 bits tell the entries of any store apart."""

_FILE_WIDTH = 1_000  # one row a line, for grep
_WRAPPED_WIDTH = 16


def excerpt(text: str, limit: int) -> str:
    """Return how a text begins, `printable`, cut between words where there is one to cut at.

    >>> excerpt("The harbour wall was repaired", 20), excerpt("a" * 9, 6)
    ('The harbour wall ...', 'aaa...')
    """
    line = printable(text[: 4 * limit])
    if len(line) <= limit:
        return line
    whole, space, _ = line[: limit - 3].rpartition(" ")
    return f"{whole} ..." if space else f"{line[: limit - 3]}..."


def printable_lines(text: str) -> str:
    """Return a text with every line `printable`, and as far indented as it was."""
    lines = text.splitlines()
    return "\n".join(" " * (len(one) - len(one.lstrip(" "))) + printable(one) for one in lines)


def complain(message: str) -> None:
    """Write one line to stderr; where nobody can read it the exit code tells all the same."""
    with suppress(OSError):
        typer.echo(f"ragguard: {printable(message)}", err=True)


def write_json(value: Any, file: IO[str] | None = None, *, indent: int | None = 2) -> None:
    """Write a JSON document to a file or stdout, and flush it; with None for `indent` in one line.

    In ASCII: lone surrogates survive, and the reader's locale does not matter. What is infinite or
    no number is null.
    """
    written = json.dumps(value, default=_plain)
    plain = json.loads(written, parse_constant=lambda _: None)
    typer.echo(json.dumps(plain, indent=indent), file=file)


def _plain(value: Any) -> Any:
    """Return what JSON can hold in place of a value that it cannot."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)


def minute(moment: datetime) -> str:
    """Return a moment as a table shows it, in UTC."""
    return moment.strftime("%Y-%m-%d %H:%M")


def show_facts(*facts: tuple[str, object]) -> None:
    """Write names and what they stand for (None: nothing), `printable`, in two columns."""
    for name, value in facts:
        if value is not None:
            typer.echo(f"{name:<9} {printable(str(value))}")


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, wrapped: Sequence[str] = ()
) -> None:
    """Draw a table on stdout, its cells made `printable` and never read as markup.

    Only `wrapped` columns may be broken into lines, so that the ids in others can be copied.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_FILE_WIDTH)
    cells = [[printable(cell) for cell in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for column, *shown in zip(columns, *cells, strict=True):
        longest = max(map(cell_len, (column, *shown)))
        width = min(longest, _WRAPPED_WIDTH) if column in wrapped else longest
        table.add_column(column, no_wrap=column not in wrapped, min_width=width, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    # On a narrow terminal long lines wrap; Rich would cut ids off instead.
    console.width = max(console.width, console.measure(table).minimum)
    console.print(table)


class _ToStderr(logging.Handler):
    """Writes to what stderr is at that moment; without tracebacks unless they are asked for."""

    def __init__(self, form: str, *, debug: bool) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(form))
        self._debug = debug

    def emit(self, record: logging.LogRecord) -> None:
        if not self._debug:
            # The message already says what is wrong.
            record = logging.makeLogRecord({**vars(record), "exc_info": None, "exc_text": None})
        text = self.format(record)
        typer.echo(printable_lines(text) if self._debug else printable(text), err=True)


def log_to_stderr(*, debug: bool, progress: bool = False) -> None:
    """Send what ragguard logs to stderr, in place of what an earlier call set up.

    With `debug` it has tracebacks, with `progress` also what goes well, with the time.
    """
    form = "%(asctime)s %(levelname)s %(message)s" if progress else "ragguard: %(message)s"
    logger = logging.getLogger("ragguard")
    logger.handlers = [_ToStderr(form, debug=debug)]
    logger.setLevel(logging.INFO if progress else logging.WARNING)
