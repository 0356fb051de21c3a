"""The database behind the SQL audit store: its URL, its transactions, its way through a fork."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError, StatementError
from sqlalchemy.orm import Session, sessionmaker

from ragguard.errors import InvalidInputError, MissingExtraError, StoreError
from ragguard.fork import follow_forks

__all__ = ["Database"]

_BUSY_S = 10.0
_CONNECT_S = 10


class Database:
    """A SQLite file or a PostgreSQL database; safe to share between threads and across forks.

    Attributes:
        name: The URL without its password.
        on_sqlite: True for SQLite, False for PostgreSQL.
        path: Absolute path of the SQLite file, or None.
    """

    name: str
    on_sqlite: bool
    path: Path | None

    def __init__(self, url: str) -> None:
        """Make ready to connect; the first transaction does.

        Args:
            url: A path, `sqlite:///path`, `postgresql://...` or `postgresql+psycopg://...`.

        Raises:
            InvalidInputError: `url` names neither a SQLite file nor a PostgreSQL database.
            MissingExtraError: The driver for PostgreSQL is not installed.
        """
        where = _url(url)
        self.name = where.render_as_string(hide_password=True)
        self.on_sqlite = where.get_backend_name() == "sqlite"
        self.path = None
        if self.on_sqlite and not str(where.database).startswith("file:"):
            self.path = Path(str(where.database))
        self._closed = False
        self._engine = _engine(where)
        self._reads = sessionmaker(self._engine, expire_on_commit=False)
        self._writes = sessionmaker(
            self._engine.execution_options(begin_immediate=True), expire_on_commit=False
        )
        self._make_gates()
        follow_forks(self)

    def close(self) -> None:
        """Close all connections; the database is not used afterwards."""
        self._closed = True
        with self._writing, self._reading:
            self._engine.dispose()

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """Open a session that reads.

        Raises:
            StoreError: The database fails, or was closed.
        """
        with self._transaction(self._reading, self._reads) as session:
            yield session

    @contextlib.contextmanager
    def write(self) -> Iterator[Session]:
        """Open a session that commits at its end, or rolls back when anything is raised.

        Raises:
            InvalidInputError: A value has no place in its column.
            StoreError: The database fails, or was closed.
        """
        with self._transaction(self._writing, self._writes) as session:
            yield session

    @contextlib.contextmanager
    def _transaction(
        self, gate: AbstractContextManager[object], sessions: sessionmaker[Session]
    ) -> Iterator[Session]:
        if self._closed:
            raise StoreError(f"the audit store {self.name} is closed; open it anew")
        try:
            with gate, sessions.begin() as session:
                yield session
        except SQLAlchemyError as error:
            if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
                # Not from the database: a value that has no place in the column's type.
                raise InvalidInputError(
                    f"the audit store cannot hold this record: {_first_line(error)}; "
                    "check the types of its fields"
                ) from error
            cause = error.orig if isinstance(error, DBAPIError) else error
            raise StoreError(
                f"the audit store {self.name} failed: {_first_line(cause)}; "
                + (
                    "check that the path exists, is writable and holds a SQLite database"
                    if self.on_sqlite
                    else "check that the server is up and that the role may write"
                )
            ) from error

    def _make_gates(self) -> None:
        # SQLite must have no connection open while the process forks, so every use of one goes
        # through a gate that a fork closes. In WAL mode readers do not wait for the writer.
        self._reading: Any = threading.RLock() if self.on_sqlite else contextlib.nullcontext()
        self._writing: Any = threading.RLock() if self.on_sqlite else contextlib.nullcontext()

    def _before_fork(self) -> None:
        if self.on_sqlite:
            self._writing.acquire()
            self._reading.acquire()
            self._engine.dispose()

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            # The sockets belong to the parent: they are forgotten here, not closed.
            self._engine.dispose(close=False)
            self._make_gates()
        elif self.on_sqlite:
            self._reading.release()
            self._writing.release()


def _url(url: str) -> URL:
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
        return url_object.set(drivername="postgresql+psycopg")
    if url_object.drivername == "postgresql+psycopg":
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


def _engine(where: URL) -> Engine:
    if where.get_backend_name() == "sqlite":
        engine = create_engine(where, connect_args={"timeout": _BUSY_S})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    waits = {} if "connect_timeout" in where.query else {"connect_timeout": _CONNECT_S}
    try:
        return create_engine(where, connect_args=waits, pool_pre_ping=True)
    except ImportError as error:
        raise MissingExtraError("an audit store in PostgreSQL", "postgres") from error


def _set_up_sqlite(connection: Any, record: object) -> None:  # noqa: ARG001
    # The driver would open transactions by its own rules; `_begin_sqlite` opens them instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    try:
        _use_wal(cursor)
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
    finally:
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


def _begin_sqlite(connection: Any) -> None:
    # A writer that begins as a reader would fail instead of waiting for another writer.
    immediate = connection.get_execution_options().get("begin_immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
