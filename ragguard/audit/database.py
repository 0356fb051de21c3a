"""The database behind the SQL audit store: its transactions, also after forks and faults."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Double, event, func, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError, StatementError
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

from ragguard.audit.engines import engine, file_identity, sqlite_file, store_url
from ragguard.audit.records import Access
from ragguard.audit.schema import create_tables, require_head, schema_version, upgrade
from ragguard.errors import InvalidInputError, RagguardError, StoreError
from ragguard.fork import follow_forks

logger = logging.getLogger(__name__)

_STATEMENT_S = 10.0
_CLOSE_S = 0.5
# As before the first release, when these could still change.
_OTHER_TABLES = re.compile("no such (?:column|table)|(?:column|relation) .+ does not exist")
_of_parents: list[Any] = []  # pools of connections from before a fork
_followed: dict[Path, tuple[int, int]] = {}  # the last file that took another's place, by path

# Any fixed numbers: PostgreSQL's advisory locks have no names.
_SCHEMA_LOCK = 0x7261676775617264
SCORES_LOCK = _SCHEMA_LOCK + 1
TRAIL_LOCK = _SCHEMA_LOCK + 2


class Database:
    """A SQLite file or a PostgreSQL database; safe to share between threads and across forks.

    Attributes:
        name: The URL without its password, and of its parameters those that hold none.
        on_sqlite: True for SQLite, False for PostgreSQL.
        path: Absolute path of the SQLite file, or None.
    """

    def __init__(
        self,
        url: str,
        *,
        access: Access = "make",
        statement_s: float = _STATEMENT_S,
        any_schema: bool = False,
    ) -> None:
        """Connect; `SqlStore` says what `url` and `access` are, and what is raised.

        A statement may take PostgreSQL `statement_s` seconds. With `any_schema` tables of another
        release are taken as well, to `upgrade` them.
        """
        where = store_url(url)
        shown = {key: value for key, value in where.query.items() if key in ("host", "port")}
        self.name = where.set(query=shown).render_as_string(hide_password=True)
        self.on_sqlite = where.get_backend_name() == "sqlite"
        self.path = sqlite_file(where)
        self._closed = False
        self._any_schema = any_schema
        self._file: tuple[int, int] | None = None  # None: it is not watched, or not now
        self._may_make = access == "make"
        self._engine = engine(where, statement_s, access, lambda: self._may_make)
        event.listen(self._engine, "checkin", self._close_late)
        self._reads = sessionmaker(self._engine, expire_on_commit=False)
        self._writes = sessionmaker(
            self._engine.execution_options(begin_immediate=True), expire_on_commit=False
        )
        self._make_gates()
        follow_forks(self)
        try:
            self._prepare(
                "check the path, or file a first event with `ragguard report`; of one that is gone "
                "restore a backup"
            )
        except BaseException:
            self.close()  # nobody else holds it, and its connections would stay open
            raise
        self._may_make = False  # who runs makes none, as `_follow_the_file` says
        self._file = None if self.path is None else file_identity(self.path)

    def close(self) -> None:
        """Close all connections that are not in use; the database is not used afterwards."""
        self._closed = True
        # A transaction that hangs keeps its connection: nobody waits for it for long.
        free = [gate for gate in self._gates if gate.acquire(timeout=_CLOSE_S)]
        self._engine.dispose()
        for gate in free:
            gate.release()

    def upgrade(self) -> str:
        """Move the tables on, as `ragguard.audit.schema.upgrade` does, and return their schema."""
        with self.write() as session:
            lock(session, _SCHEMA_LOCK)
            return upgrade(session, self.name)

    def read(self) -> AbstractContextManager[Session]:
        """Open a session that reads; raises `StoreError` as `write`."""
        return self._transaction(writes=False)

    def write(self) -> AbstractContextManager[Session]:
        """Open a session that commits at its end, or rolls back when anything is raised.

        Raises:
            InvalidInputError: A value has no place in its column.
            StoreError: The database fails, was closed, or its file is gone.
        """
        return self._transaction(writes=True)

    def rows(self, query: Any) -> list[Any]:
        """Return the rows that a query finds; raises as `read`."""
        with self.read() as session:
            return [*session.execute(query)]

    def records(self, query: Any) -> list[Any]:
        """Return the records (`models.OfRecord`) of the rows that a query finds, likewise."""
        with self.read() as session:
            return [row.to_record() for row in session.scalars(query)]

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Session]:
        if self._closed:
            raise StoreError(f"the audit store {self.name} is closed; open it anew")
        self._follow_the_file()
        gate, sessions = (self._writing, self._writes) if writes else (self._reading, self._reads)
        try:
            with gate, sessions.begin() as session:
                yield session
        except RagguardError:
            raise
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"the audit store {self.name} holds a row that cannot be read: "
                f"{_first_line(error)}; `ragguard audit verify` names what ragguard did not write"
            ) from error
        except (SQLAlchemyError, OverflowError) as error:
            what = _first_line(error.orig if isinstance(error, DBAPIError) else error)
            refused = isinstance(error, (StatementError, OverflowError))
            if refused and not isinstance(error, DBAPIError):
                # Not from the database: a value that has no place in the column's type.
                raise InvalidInputError(
                    f"the audit store cannot hold this: {what}; "
                    "check the types of its fields, and that no number is too large"
                ) from error
            check = "check that the server is up and that the role may write"
            if _OTHER_TABLES.search(what):
                check = "its tables are not those of this ragguard; use another store"
            elif self.on_sqlite:
                check = (
                    "check that the path exists, is writable, has room and holds a SQLite database"
                )
            raise StoreError(f"the audit store {self.name} failed: {what}; {check}") from error

    def _prepare(self, advice: str) -> None:
        found = None
        if self._may_make or self.path is None or self.path.exists():
            with self.read() as session:
                found = schema_version(session)
        if found is None and not self._may_make:
            raise StoreError(f"there is no audit store at {self.path or self.name}; {advice}")
        if found is None:
            with self.write() as session:
                lock(session, _SCHEMA_LOCK)  # processes that do so together wait in turn
                found = schema_version(session)
                found = create_tables(session) if found is None else found
        if not self._any_schema:
            require_head(found, self.name)

    def _follow_the_file(self) -> None:
        """Open the file anew where it is another one: what is open is out of everybody's reach.

        Who runs already makes none, nor tables in one, but waits for a backup, or for whoever opens
        a store there. What was in quarantine `QuarantineWatch` keeps in force.
        """
        if self._file is None or self.path is None:
            return
        found = file_identity(self.path)
        if found == self._file:
            return
        if found is None:
            raise StoreError(
                f"the file of the audit store {self.name} is gone; restore a backup of it, or "
                "restart to begin with an empty one"
            )
        with self._writing, self._reading:
            if self._file == file_identity(self.path):
                return  # another thread was faster
            self._engine.dispose()
            self._file = None
            try:
                self._prepare("restore a backup of the one that was")
                self._file = file_identity(self.path)
            finally:
                self._file = self._file or (-1, -1)  # not prepared: tried again next time
            if _followed.get(self.path) != self._file:  # a store has two of these
                _followed[self.path] = self._file
                logger.error(
                    "the file of the audit store %s was replaced; all is read from the new one and "
                    "goes to it from now on",
                    self.name,
                )

    def _close_late(self, connection: Any, record: object) -> None:  # noqa: ARG002
        # What comes back after `close` goes to a pool that nobody looks after any more.
        if self._closed and connection is not None:
            connection.close()

    def _make_gates(self) -> None:
        # SQLite must have no connection open while the process forks, so every use of one goes
        # through a gate that a fork closes. In WAL mode readers do not wait for the writer.
        self._gates: list[Any] = [threading.RLock(), threading.RLock()] if self.on_sqlite else []
        self._writing, self._reading = self._gates or [nullcontext(), nullcontext()]

    def _before_fork(self) -> None:
        for gate in self._gates:
            gate.acquire()
        if self.on_sqlite:
            self._engine.dispose()

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            # The sockets belong to the parent: they are neither used here nor closed, as what is
            # deleted would be, or at least warn of.
            _of_parents.append(self._engine.pool)
            self._engine.dispose(close=False)
            self._make_gates()
            return
        for gate in self._gates:
            gate.release()


def insert_into(session: Session, table: type[DeclarativeBase]) -> Any:
    """Return the database's own INSERT, which knows what to do on a conflict.

    Into the table itself: for many rows of a mapped class SQLAlchemy makes a class of statements
    when it first needs one, and two threads may meet in it.
    """
    insert: Any = sqlite.insert if on_sqlite(session) else postgresql.insert
    return insert(table.__table__)


def lock(session: Session, number: int) -> None:
    """Hold a lock until the transaction ends; in SQLite whoever writes holds the only one."""
    if not on_sqlite(session):
        session.execute(select(func.pg_advisory_xact_lock(number)))


def on_sqlite(session: Session) -> bool:
    """Return whether a session is one with SQLite."""
    return session.get_bind().dialect.name == "sqlite"


def epoch_now(session: Session) -> ColumnElement[float]:
    """Return the database's own clock in seconds since 1970: hosts that share a server share it."""
    now = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"
    if on_sqlite(session):
        now = "((julianday('now') - 2440587.5) * 86400.0)"
    return literal_column(now, Double())


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
