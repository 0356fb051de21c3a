"""How the commands write: JSON for programs, tables for people, and the log on stderr."""

from __future__ import annotations

import json
import logging
import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ragguard.audit.records import Event
    from ragguard.passage import Passage

__all__ = [
    "counted",
    "event_to_dict",
    "excerpt",
    "log_to_stderr",
    "minute",
    "passage_to_dict",
    "printable",
    "show_table",
    "write_json",
    "write_json_line",
]


def printable(text: str, limit: int | None = None) -> str:
    r"""Return `text` on one line, with what would steer a terminal made visible.

    Passages are written by strangers: an escape sequence or a right-to-left override in one could
    hide the very line that accuses it.

    Args:
        text: Any text.
        limit: Cut it to this many characters.

    >>> printable("one\n two \x1b[2J")
    'one two \\x1b[2J'
    """
    words = " ".join(text.split())
    line = "".join(
        char if unicodedata.category(char) not in _STEERING else ascii(char)[1:-1] for char in words
    )
    return line if limit is None or len(line) <= limit else line[: limit - 3] + "..."


def excerpt(text: str, limit: int) -> str:
    """Return how a text begins, `printable`, cut between words where there is one to cut at.

    >>> excerpt("The harbour wall was repaired", 20), excerpt("a" * 9, 6)
    ('The harbour wall ...', 'aaa...')
    """
    line = printable(text[: 4 * limit])
    if len(line) <= limit:
        return line
    whole, space, _ = line[: limit - 3].rpartition(" ")
    return f"{whole} ..." if space else printable(line, limit)


_STEERING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def write_json(value: Any) -> None:
    """Write one JSON document to stdout."""
    typer.echo(json.dumps(_plain(value), indent=2, allow_nan=False))


def write_json_line(value: Any, file: IO[str] | None = None) -> None:
    """Write one line of JSON to a file or stdout, and flush it.

    The line is ASCII: other characters are escaped, so that lone surrogates survive and the
    reader's locale does not matter.
    """
    typer.echo(json.dumps(_plain(value), allow_nan=False), file=file)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return _plain(value.tolist())
    return str(value)


def passage_to_dict(passage: Passage) -> dict[str, Any]:
    """Return a passage in the form that the commands read; the embedding is left out."""
    return {
        "id": passage.id,
        "text": passage.text,
        "score": passage.score,
        "metadata": passage.metadata,
    }


_EVENT = (
    *("id", "query", "response", "passages", "reporter", "status", "created_at", "attempts"),
    *("failures", "error", "reports", "reporters", "cut"),
)


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event's fields, but for what only the worker that holds it needs."""
    found = {name: getattr(event, name) for name in _EVENT}
    return found | {"passages": [passage_to_dict(passage) for passage in event.passages]}


def counted(number: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "query", "queries"), counted(2, "passage")
    ('1 query', '2 passages')
    """
    return f"{number} {one if number == 1 else several or one + 's'}"


def minute(moment: datetime) -> str:
    """Return a moment as a table shows it, in UTC."""
    return moment.strftime("%Y-%m-%d %H:%M")


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, wrapped: Sequence[str] = ()
) -> None:
    """Draw a table on stdout.

    Args:
        columns: The columns' names.
        rows: Their cells; made `printable` here, and never read as markup.
        wrapped: The columns that may be broken into lines; the others are kept whole, so that ids
            can be copied.
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
    needed = 0
    for index, column in enumerate(columns):
        longest = max(map(cell_len, (column, *(row[index] for row in cells))))
        width = min(longest, _WRAPPED_WIDTH) if column in wrapped else longest
        table.add_column(column, no_wrap=column not in wrapped, min_width=width, overflow="fold")
        needed += width + 2
    for row in cells:
        table.add_row(*map(Text, row))
    # On a narrow terminal long lines wrap; Rich would cut ids off instead.
    console.width = max(console.width, needed + 2)
    console.print(table)


_FILE_WIDTH = 1_000  # one row a line, for grep
_WRAPPED_WIDTH = 16


class _OneLine(logging.Formatter):
    """Leaves tracebacks out: the message already says what is wrong."""

    def formatException(self, ei: object) -> str:  # noqa: ARG002, N802
        return ""


class _Echo(logging.Handler):
    """Writes to what stderr is at that moment."""

    def __init__(self, formatter: logging.Formatter, *, debug: bool) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._debug = debug

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        typer.echo(text if self._debug else printable(text), err=True)


def log_to_stderr(*, debug: bool, progress: bool = False) -> None:
    """Send what ragguard logs to stderr, in place of what an earlier call set up.

    Args:
        debug: Show the tracebacks of logged errors.
        progress: Show what goes well too, with the time.
    """
    form = "%(asctime)s %(levelname)s %(message)s" if progress else "ragguard: %(message)s"
    formatter = logging.Formatter(form) if debug else _OneLine(form)
    logger = logging.getLogger("ragguard")
    logger.handlers = [_Echo(formatter, debug=debug)]
    logger.setLevel(logging.INFO if progress else logging.WARNING)
