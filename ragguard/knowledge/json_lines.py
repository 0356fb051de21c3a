"""A file with one passage a line, as `ragguard worker --knowledge-base` reads it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection, Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from ragguard.errors import StoreError
from ragguard.files import (
    cannot_write,
    open_input,
    passage_from_json,
    raw_lines,
    read_lines,
    write_whole,
)
from ragguard.knowledge.sources import by_id
from ragguard.passage import Passage

_Lines = list[tuple[Passage, bytes]]


class JsonLinesFile:
    """A file of passages, read anew once it has changed, and replaced as a whole or not at all.

    Lines that stay do so byte for byte, though blank ones go, and the last one is ended. One that
    is put in holds id, text, metadata and vector, and no other keys that it may have had before.
    Owner, group and mode stay, where the process may set them. `InvalidInputError` where the file
    cannot be read or written, or a line is bad; `StoreError` where somebody else writes to it at
    the same moment.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._state: tuple[int, ...] = ()
        self._passages: dict[str, list[Passage]] = {}  # by id, of the file in that state

    def find(self, ids: Sequence[str]) -> list[Passage]:
        with self._lock:
            with open_input(self._path) as stream:
                found = os.fstat(stream.fileno())
            # With the moment of any change: a copy may keep the size and the time of a file.
            if (state := (*_state(found), found.st_ctime_ns)) != self._state:
                lines, _ = self._read()
                self._state, self._passages = state, by_id(passage for passage, _ in lines)
            return [one for id_ in dict.fromkeys(ids) for one in self._passages.get(id_, ())]

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        return self._replaced(set(ids), ())

    def add(self, passages: Sequence[Passage]) -> None:
        self._replaced({passage.id for passage in passages}, map(_as_line, passages))

    def _replaced(self, ids: Collection[str], more: Iterable[bytes]) -> list[Passage]:
        """Write the lines without those of some ids, and more after them; return what is gone."""
        with self._lock:
            lines, state = self._read()
            kept = [line for passage, line in lines if passage.id not in ids]
            added = [*more]
            if added or len(kept) < len(lines):
                self._write([*kept, *added], state)
        return [passage for passage, _ in lines if passage.id in ids]

    def _read(self) -> tuple[_Lines, tuple[int, ...]]:
        """Return each passage with its line, and by what it shows that the file is another one."""
        with open_input(self._path) as stream:
            state = _state(os.fstat(stream.fileno()))
            data = b"".join(raw_lines(stream, self._path)).removeprefix(b"\xef\xbb\xbf")
        parsed = read_lines(BytesIO(data), str(self._path))
        raw = (line.removesuffix(b"\n") + b"\n" for line in BytesIO(data) if line.strip())
        pairs = zip(parsed, raw, strict=True)
        return [(passage_from_json(one.value, one.place), line) for one, line in pairs], state

    def _write(self, lines: Sequence[bytes], state: tuple[int, ...]) -> None:
        def require_same() -> None:
            if _state(self._path.stat()) != state:
                raise StoreError(f"another process has just written {self._path}; try again")

        try:
            write_whole(self._path, lines, require_same)
        except OSError as error:
            raise cannot_write(self._path, error) from error


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _as_line(passage: Passage) -> bytes:
    held: dict[str, Any] = {"id": passage.id, "text": passage.text}
    if passage.metadata:
        held["metadata"] = dict(passage.metadata)
    if passage.embedding is not None:
        held["embedding"] = [float(number) for number in passage.embedding]
    return json.dumps(held, default=str).encode() + b"\n"
