"""Connections to a SQLite file: how they are set up, and whether the file is still the same."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event

from ragguard.private import make_private

__all__ = ["file_identity", "sqlite_engine"]

_BUSY_S = 10.0


def sqlite_engine(where: URL, path: Path | None) -> Engine:
    """Return an engine in WAL mode; a file that it makes is for its owner alone.

    Args:
        where: The URL.
        path: The file, or None if SQLite's own URI names it.
    """
    engine = create_engine(where, connect_args={"timeout": _BUSY_S})
    if path is not None:
        # Before SQLite makes it; the log and the index get the mode of the file.
        event.listen(engine, "do_connect", lambda *_: make_private(path))
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what tells the file from any other that may take its place; None if there is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _set_up(connection: Any, record: object) -> None:  # noqa: ARG001
    # The driver would open transactions by its own rules; `_begin` opens them instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    try:
        _use_wal(cursor)
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        cursor.close()
        connection.close()  # one that was never handed out is closed by nobody else
        raise
    cursor.close()


def _use_wal(cursor: Any) -> None:
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except Exception as error:
            # SQLite does not wait on its own when several processes switch a new file at once.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _begin(connection: Any) -> None:
    # A writer that begins as a reader would fail instead of waiting for another writer.
    immediate = connection.get_execution_options().get("begin_immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
