"""The input of `filter` and `calibrate`: one query and its retrieved passages a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ragguard.cli.output import complain
from ragguard.jsonl import Line, open_input, passage_from_json, read_lines, require_fields

if TYPE_CHECKING:
    from ragguard.passage import Passage

__all__ = ["Retrieval", "opened_traffic", "read_traffic", "read_with_bar"]


@dataclass(frozen=True)
class Retrieval:
    """One line: where it is, as "file:number", what was asked and what was retrieved."""

    place: str
    query: str
    passages: list[Passage]


def _retrieval(value: Any, place: str) -> Retrieval:
    require_fields(value, place, query=str, passages=list)
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
    if source != "-":
        with open_input(source) as stream:
            yield stream
        return
    if sys.stdin.isatty():
        complain("reading JSON lines from the terminal, to the end (Ctrl-D); or pass a FILE")
    yield sys.stdin.buffer


def read_traffic(stream: BinaryIO, source: str, *, progress: bool) -> Iterator[Retrieval]:
    """Yield every line's `Retrieval` as soon as the line is complete.

    Args:
        stream: What `opened_traffic(source)` gave.
        source: The file's name, or "-".
        progress: Draw a progress bar on stderr if that is a terminal.

    Raises:
        InvalidInputError: A line is bad; the message begins with "file:number".
    """
    name = "<stdin>" if source == "-" else source
    total = None if source == "-" else Path(source).stat().st_size or None
    for line in read_with_bar(stream, name, total=total, counted="queries", progress=progress):
        yield _retrieval(line.value, line.place)


def read_with_bar(
    stream: BinaryIO, name: str, *, total: int | None, counted: str, progress: bool = True
) -> Iterator[Line]:
    """Yield every line as soon as it is complete.

    Args:
        stream: Opened for bytes.
        name: What to call it in errors.
        total: Its bytes, if they are known.
        counted: What the lines are, in words.
        progress: Draw a progress bar on stderr if that is a terminal.

    Raises:
        InvalidInputError: A line is bad; the message begins with "name:number".
    """
    lines = read_lines(stream, name)
    if not (progress and sys.stderr.isatty()):
        yield from lines
        return
    with _bar() as bar:
        task = bar.add_task("", total=total)
        for count, line in enumerate(lines, start=1):
            yield line
            bar.update(task, completed=line.end, description=f"{count} {counted}")


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
