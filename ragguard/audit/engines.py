"""Which database a path or a URL names, and how connections to it are set up.

Of those to PostgreSQL none waits without limit, and none that is dead is used. psycopg, an extra,
is imported when a store in PostgreSQL is opened.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError

from ragguard.audit.records import Access
from ragguard.errors import InvalidInputError, MissingExtraError
from ragguard.files import make_private
from ragguard.text import encodable

_BUSY_S = 10.0

# libpq's names. A server that is gone is noticed after 25 s at most where the network says so.
_CONNECT: dict[str, int] = {
    "connect_timeout": 5,  # s
    "keepalives_idle": 10,  # s
    "keepalives_interval": 5,  # s
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,  # ms
}
_LOCK_S = 5.0
_FIRST_ANSWER_S = 3.0
_GRACE_S = 1.0
_POOL_S = 10.0

_SPELLINGS = "pass a path, sqlite:///path or postgresql://user@host/database"


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
            raise InvalidInputError(f"the store's URL cannot be read; {_SPELLINGS}") from error
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
        raise InvalidInputError(f"no audit store speaks {url_object.drivername!r}; {_SPELLINGS}")
    database = url_object.database
    if not database or database == ":memory:":
        raise InvalidInputError(
            "a SQLite store needs a file, as in sqlite:///audit.db; in Python store=None keeps "
            "everything in memory"
        )
    if "\0" in database or database != encodable(database):
        raise InvalidInputError(f"no file can have the name {database!r}; {_SPELLINGS}")
    if database.startswith("file:"):
        return url_object
    return url_object.set(database=str(Path(database).absolute()))


def sqlite_file(where: URL) -> Path | None:
    """Return the file that a `store_url` names; None for a server, or where SQLite parses a URI."""
    database = str(where.database)
    on_sqlite = where.get_backend_name() == "sqlite"
    return Path(database) if on_sqlite and not database.startswith("file:") else None


def engine(where: URL, statement_s: float, access: Access, may_make: Callable[[], bool]) -> Engine:
    """Return an engine for what `store_url` made; the rest as in `Database`.

    `may_make` says, with each connection, whether that may make a SQLite file.

    Raises:
        MissingExtraError: The driver for PostgreSQL is not installed.
    """
    if where.get_backend_name() != "sqlite":
        try:
            return _postgres_engine(where, statement_s)
        except ImportError as error:
            raise MissingExtraError("an audit store in PostgreSQL", "postgres") from error
    path = sqlite_file(where)
    if access == "look" and path is not None:
        where = _readable(where, path)
    made = create_engine(where, connect_args={"timeout": _BUSY_S})

    def connect(dialect: Any, record: object, args: Any, named: Any) -> Any:  # noqa: ARG001
        if path is None or args[0].startswith("file:"):
            return None
        if may_make():
            # Before SQLite makes it, for its owner alone; the log and the index get its mode.
            make_private(path)
            return None
        return dialect.connect(f"{path.as_uri()}?mode=rw", *args[1:], **{**named, "uri": True})

    event.listen(made, "do_connect", connect)
    event.listen(made, "connect", lambda connection, _: _set_up(connection, access))
    event.listen(made, "begin", _begin)
    return made


def _readable(where: URL, file: Path) -> URL:
    """Return a URL as it is, or where SQLite may not make its files beside the file one without."""
    if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK):
        return where
    # A log beside it holds what was written last, and somebody may be writing.
    there = file.resolve()
    logged = there.with_name(f"{there.name}-wal").exists()
    query = {"mode": "ro", "uri": "true"} | ({} if logged else {"immutable": "1"})
    return where.set(database=there.as_uri(), query=query)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what tells the file from any other that may take its place; None if there is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _set_up(connection: Any, access: Access) -> None:
    # The driver would open transactions by its own rules; `_begin` opens them instead.
    connection.isolation_level = None
    try:
        if access == "make":
            _use_wal(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        connection.close()  # one that was never handed out is closed by nobody else
        raise


def _use_wal(connection: Any) -> None:
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except Exception as error:
            # SQLite does not wait on its own when several processes switch a new file at once.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin(connection: Any) -> None:
    # A writer that begins as a reader would fail instead of waiting for another writer.
    immediate = connection.get_execution_options().get("begin_immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


@cache
def _bounded_connection() -> Any:
    """Return the class of a connection that fails when a call has no answer for `limit_s`.

    Keep-alive and the server's time-outs cannot replace it: a router or a proxy that forgot a
    connection may go on acknowledging what is sent, and the server never hears of the statement.
    """
    import psycopg

    class BoundedConnection(psycopg.Connection):  # type: ignore[misc]
        limit_s = _FIRST_ANSWER_S

        def wait(self, steps: Any, *args: Any, **options: Any) -> Any:
            try:
                return super().wait(in_time(steps, self.limit_s), *args, **options)
            except OverdueError:
                self.close()
                raise psycopg.OperationalError(
                    f"the server did not answer within {self.limit_s:g} s"
                ) from None

    return BoundedConnection


class OverdueError(Exception):
    """An answer has not come in time."""


def in_time(steps: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """Do what a generator of psycopg does, which waits for a socket whenever it yields.

    psycopg resumes it ten times a second. Raises `OverdueError` where it has not ended in time.
    """
    due = time.monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send((yield wanted))
            if time.monotonic() > due:
                raise OverdueError
    except StopIteration as end:
        return end.value


def _postgres_engine(where: URL, statement_s: float) -> Engine:
    """Return an engine whose every wait has an end.

    A connection is tried when it is taken from the pool; without an answer within 3 s it and all
    older ones are replaced. What the URL names, and time-outs in its `options`, replace defaults.
    """
    defaults = {name: value for name, value in _CONNECT.items() if name not in where.query}
    engine = create_engine(where, connect_args=defaults, pool_timeout=_POOL_S)
    driver: Any = engine.dialect.dbapi
    greeting = _greeting(str(where.query.get("options", "")), statement_s)

    def connect(dialect: object, record: object, args: Any, named: Any) -> Any:  # noqa: ARG001
        return _bounded_connection().connect(*args, **named)

    def check_out(connection: Any, record: object, proxy: object) -> None:  # noqa: ARG001
        connection.limit_s = _FIRST_ANSWER_S
        try:
            statement_limit, _ = connection.execute(greeting).fetchone()
        except driver.Error as error:
            replaced = DisconnectionError(str(error))
            replaced.invalidate_pool = True
            raise replaced from error
        connection.limit_s = (float(statement_limit) or math.inf) + _GRACE_S

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "checkout", check_out)
    return engine


def _greeting(options: str, statement_s: float) -> str:
    """Return the first statement of each transaction, which shows that the server answers.

    Its answer is how many seconds a statement may take, 0 for no limit, and how long a lock may be
    waited for, in words. These hold for the transaction only: a pooler in between refuses them when
    it connects, and may share a session.
    """

    def limit(name: str, seconds: float) -> str:
        own = f"current_setting('{name}')"
        return own if name in options else f"set_config('{name}', '{seconds * 1000:.0f}', true)"

    statement, lock = limit("statement_timeout", statement_s), limit("lock_timeout", _LOCK_S)
    return f"SELECT extract(epoch FROM {statement}::interval), {lock}"  # noqa: S608 - all ours
