"""Which database a path or a URL names, and how connections to it are set up.

Those to PostgreSQL are in `ragguard.audit.postgres`, which needs an extra.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from ragguard.errors import InvalidInputError, MissingExtraError
from ragguard.file_mode import make_private

_BUSY_S = 10.0


def store_url(url: str) -> URL:
    """Return what a path or a URL names, with an absolute path or the driver that is used.

    Raises:
        InvalidInputError: It names neither a SQLite file nor a PostgreSQL database.
    """
    if "://" not in url:
        url_object = URL.create("sqlite", database=str(Path(url).expanduser()))
    else:
        try:
            url_object = make_url(url)
        except ArgumentError as error:
            raise InvalidInputError(
                "the store's URL cannot be read; pass a path, sqlite:///path or "
                "postgresql://user@host/database"
            ) from error
    if url_object.drivername in ("postgres", "postgresql"):
        url_object = url_object.set(drivername="postgresql+psycopg")
    if url_object.drivername == "postgresql+psycopg":
        if "@" in (url_object.host or ""):
            # Not to be shown: the rest of a password would be.
            raise InvalidInputError(
                "the store's URL has more than one @; write one in the password as %40"
            )
        try:
            (url_object.host or "").encode("idna")
            url.encode()
        except UnicodeError as error:
            raise InvalidInputError(
                "the store's URL has a name of a host that none can have, or a character that "
                "cannot be sent; check its spelling"
            ) from error
        return url_object
    if url_object.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise InvalidInputError(
            f"no audit store speaks {url_object.drivername!r}; pass a path, sqlite:///path or "
            "postgresql://user@host/database"
        )
    database = url_object.database
    if not database or database == ":memory:":
        raise InvalidInputError(
            "a SQLite store needs a file; for a store in memory pass store=None"
        )
    if database.startswith("file:"):
        return url_object
    return url_object.set(database=str(Path(database).absolute()))


def engine(where: URL, path: Path | None, statement_s: float) -> Engine:
    """Return an engine for the database that `where`, made by `store_url`, names.

    Args:
        where: The URL.
        path: The SQLite file, or None if SQLite's own URI names it or it is a server.
        statement_s: Seconds that PostgreSQL may take for a statement.

    Raises:
        MissingExtraError: The driver for PostgreSQL is not installed.
    """
    if where.get_backend_name() == "sqlite":
        return _sqlite_engine(where, path)
    try:
        from ragguard.audit.postgres import postgres_engine

        return postgres_engine(where, statement_s=statement_s)
    except ImportError as error:
        raise MissingExtraError("an audit store in PostgreSQL", "postgres") from error


def _sqlite_engine(where: URL, path: Path | None) -> Engine:
    """Return an engine in WAL mode; a file that it makes is for its owner alone."""
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
