"""Rows of numbers that are computed once, and kept in a file that processes may share."""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_WAIT = 60.0  # seconds, for another process


class KeptRows:
    """Rows by key; without a file they are kept in memory alone."""

    def __init__(self, file: Path | None, dtype: type[np.floating]) -> None:
        self._file, self._dtype = file, dtype
        self._known: dict[bytes, bytes] = {}
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(file, timeout=_WAIT)) as kept, kept:
                kept.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB)")
                self._known.update(kept.execute("SELECT key, row FROM rows"))

    def of(
        self, keys: Sequence[str], compute: Callable[[list[int]], NDArray[np.floating]]
    ) -> NDArray[np.floating]:
        """Return the rows of keys, shape (n, d); `compute` makes those of some of their places."""
        digests = [
            hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            for key in keys
        ]
        new = {one: at for at, one in enumerate(digests) if one not in self._known}
        if new:
            made = compute(list(new.values())).astype(self._dtype)
            rows = dict(zip(new, map(bytes, made), strict=True))
            self._known |= rows
            if self._file is not None:
                with closing(sqlite3.connect(self._file, timeout=_WAIT)) as kept, kept:
                    kept.executemany("INSERT OR IGNORE INTO rows VALUES (?, ?)", rows.items())
        return np.array([np.frombuffer(self._known[one], self._dtype) for one in digests])
