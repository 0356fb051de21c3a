"""The input of `filter` and `calibrate`: one query and its retrieved passages a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ragguard.cli.output import complain
from ragguard.jsonl import open_input, passage_from_json, read_lines, require_fields

if TYPE_CHECKING:
    from ragguard.passage import Passage

__all__ = ["Retrieval", "opened_traffic", "read_traffic"]


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
    lines = read_lines(stream, "<stdin>" if source == "-" else source)
    if not (progress and sys.stderr.isatty()):
        for line in lines:
            yield _retrieval(line.value, line.place)
        return
    with _bar() as bar:
        total = None if source == "-" else Path(source).stat().st_size or None
        task = bar.add_task("", total=total)
        for queries, line in enumerate(lines, start=1):
            yield _retrieval(line.value, line.place)
            bar.update(task, completed=line.end, description=f"{queries} queries")


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
