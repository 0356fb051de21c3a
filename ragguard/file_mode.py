"""Files that hold what users asked and were told are made for their owner alone."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ragguard.errors import InvalidInputError


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read, unless there is a file already.

    Where that fails, whoever opens the file fails as well, and knows better what to say.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def cannot_write(path: Path, error: Exception) -> InvalidInputError:
    """Return what to raise where a file that the caller names cannot be written."""
    why = getattr(error, "strerror", error)
    return InvalidInputError(f"cannot write {path}: {why}; pass a path that can be written")
