"""The input of `filter` and `calibrate`: one query and its retrieved passages a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from ragguard.cli.exits import complain
from ragguard.errors import InvalidInputError
from ragguard.jsonl import kind_of, open_input, passage_from_json, read_lines

if TYPE_CHECKING:
    from ragguard.passage import Passage

__all__ = ["Retrieval", "opened_traffic", "read_traffic"]

_STDIN = "-"


@dataclass(frozen=True)
class Retrieval:
    """One line: what was asked and what was retrieved.

    Attributes:
        place: Where the line is, as "file:number".
        query: The question.
        passages: The retrieved passages, best first.
    """

    place: str
    query: str
    passages: list[Passage]


def _retrieval(value: Any, place: str) -> Retrieval:
    expected = f'{place}: expected an object with "query" (str) and "passages" (list), got '
    if not isinstance(value, dict):
        raise InvalidInputError(expected + kind_of(value))
    for field, wanted in (("query", str), ("passages", list)):
        if field not in value:
            raise InvalidInputError(f'{expected}one without "{field}"')
        if not isinstance(value[field], wanted):
            raise InvalidInputError(f'{expected}one whose "{field}" is {kind_of(value[field])}')
    passages = [
        passage_from_json(item, f"{place}: passages[{position}]")
        for position, item in enumerate(value["passages"])
    ]
    return Retrieval(place, value["query"], passages)


@contextmanager
def opened_traffic(source: str) -> Iterator[BinaryIO]:
    """Open a file, or stdin for "-".

    Raises:
        InvalidInputError: The file cannot be read.
    """
    if source == _STDIN:
        if sys.stdin.isatty():
            complain("reading JSON lines from the terminal, to the end (Ctrl-D); or pass a FILE")
        yield sys.stdin.buffer
    else:
        with open_input(source) as stream:
            yield stream


def read_traffic(stream: BinaryIO, source: str, *, progress: bool) -> Iterator[Retrieval]:
    """Yield every line's `Retrieval` as soon as the line is complete.

    Args:
        stream: What `opened_traffic(source)` gave.
        source: The file's name, or "-".
        progress: Draw a progress bar on stderr if that is a terminal.

    Raises:
        InvalidInputError: A line is bad; the message begins with "file:number".
    """
    lines = read_lines(stream, "<stdin>" if source == _STDIN else source)
    if not (progress and sys.stderr.isatty()):
        for line in lines:
            yield _retrieval(line.value, line.place)
        return
    total = Path(source).stat().st_size if source != _STDIN else None
    with _bar(sys.stderr) as bar:
        task = bar.add_task("", total=total or None)
        for queries, line in enumerate(lines, start=1):
            yield _retrieval(line.value, line.place)
            bar.update(task, completed=line.end, description=f"{queries} queries")


def _bar(file: IO[str]) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(file=file),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
