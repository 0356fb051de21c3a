"""How files are made: private where they hold what users asked, and whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from ragguard.errors import InvalidInputError


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read, unless there is a file already.

    Where that fails, whoever opens the file fails as well, and knows better what to say.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def write_whole(
    path: Path, lines: Iterable[bytes], check: Callable[[], object] = lambda: None
) -> None:
    """Write a file, or leave it as it was; owner, group and mode stay, where they may be set.

    `check` is called once all is written, just before the old file is replaced, and may raise.

    Raises:
        OSError: It cannot be written.
    """
    if path.exists() and not path.is_file():  # a pipe, say, which nothing can take the place of
        path.write_bytes(b"".join(lines))
        return
    target = path.resolve()
    made = target.with_name(f".ragguard-{secrets.token_hex(8)}")
    try:
        with made.open("xb") as file:
            if target.exists():
                _keep_owner(target.stat(), made)
                shutil.copymode(target, made)
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        check()
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _keep_owner(found: os.stat_result, made: Path) -> None:
    """Give a file the group and the owner of another one, each if the process may."""
    for owner, group in ((-1, found.st_gid), (found.st_uid, -1)):
        with contextlib.suppress(OSError, AttributeError):  # Windows has no chown
            os.chown(made, owner, group)


def cannot_write(path: Path, error: Exception) -> InvalidInputError:
    """Return what to raise where a file that the caller names cannot be written."""
    why = getattr(error, "strerror", error)
    return InvalidInputError(f"cannot write {path}: {why}; pass a path that can be written")
