"""The files that the commands read and write: a query with its passages, or a passage, a line.

What cannot be read or written raises `InvalidInputError`, for a bad line with "file:number" in
front.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from ragguard.cli.output import complain
from ragguard.errors import InvalidInputError
from ragguard.files import (
    Line,
    cannot_write,
    make_private,
    open_input,
    passage_from_json,
    read_lines,
    require_fields,
)
from ragguard.passage import Passage


@dataclass(frozen=True)
class Retrieval:
    """One line: where it is, as "file:number", what was asked and what was retrieved."""

    place: str
    query: str
    passages: list[Passage]


def opened_traffic(source: str) -> AbstractContextManager[BinaryIO]:
    """Open a file, or stdin for "-", which stays open."""
    if source != "-":
        return open_input(source)
    if sys.stdin.isatty():
        complain("reading JSON lines from the terminal, to the end (Ctrl-D); or pass a FILE")
    return nullcontext(sys.stdin.buffer)


def opened_output(path: Path) -> IO[str]:
    """Open a file to write, for nobody else to read."""
    try:
        make_private(path)
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error


def require_apart(
    written: Mapping[str, Path | None], source: str, store: str | None, **read: Path | None
) -> None:
    """Check that no file that an option writes is read, or written for another one, by any name."""
    others = {"input": "/dev/stdin" if source == "-" else source, **read}
    if store is not None:
        from ragguard.audit.engines import sqlite_file, store_url

        others["audit store"] = sqlite_file(store_url(store))
    for option, path in written.items():
        if path is None or (path.exists() and not path.is_file()):  # a terminal, or /dev/null
            continue
        for name, other in others.items():
            if other is not None and _is_same(path, other):
                raise InvalidInputError(f"{option} {path} is the {name}; pass another file")
        others[f"file of {option}"] = path


def _is_same(path: Path, other: str | Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(path) == os.path.realpath(other)


def read_traffic(stream: BinaryIO, source: str, *, progress: bool) -> Iterator[Retrieval]:
    """Yield each line of what `opened_traffic(source)` gave; with `progress` under a bar."""
    name = "<stdin>" if source == "-" else source
    total = None if source == "-" else Path(source).stat().st_size or None
    for line in read_with_bar(stream, name, total=total, progress=progress):
        require_fields(line.value, line.place, query=str, passages=list)
        passages = [
            passage_from_json(item, f"{line.place}: passages[{position}]")
            for position, item in enumerate(line.value["passages"])
        ]
        yield Retrieval(line.place, line.value["query"], passages)


def read_with_bar(
    stream: BinaryIO, name: str, *, total: int | None, progress: bool = True
) -> Iterator[Line]:
    """Yield every line of `total` bytes, None if unknown, under a bar on a terminal."""
    if not (progress and sys.stderr.isatty()):
        yield from read_lines(stream, name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeElapsedColumn

    with Progress(
        *(BarColumn(), DownloadColumn(), TimeElapsedColumn()),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        yield from read_lines(bar.wrap_file(stream, total), name)
