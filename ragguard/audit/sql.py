"""The audit store in a SQL database: SQLite in a file, PostgreSQL by URL, through the same code."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import delete, insert, inspect, select, text, update
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateColumn, CreateTable

from ragguard.audit.database import SCHEMA_LOCK, SCORES_LOCK, Database, insert_into, lock
from ragguard.audit.models import SCHEMA_VERSION, Base, CounterRow, EventRow, MetaRow, ScoreRow
from ragguard.audit.records import ScoredQuery
from ragguard.audit.sql_events import SqlEvents
from ragguard.audit.sql_quarantine import SqlQuarantine
from ragguard.errors import StoreError

__all__ = ["SqlStore"]

_POLL_S = 5.0  # for a statement that asks what the filter drops
_TURNS_SINCE = 5  # the version that gave events turns and marks those without passages


class SqlStore(SqlEvents, SqlQuarantine):
    """The audit store in SQLite or PostgreSQL; safe to share between threads and across forks.

    Texts come back exactly as they were given, on both databases. Of a passage the text, id,
    score and metadata are kept, not the embedding. Metadata is kept as JSON: a value that JSON
    cannot hold comes back as its `str()`, a tuple as a list, and keys come back as strings.

    SQLite runs in WAL mode with `synchronous=NORMAL`: a killed process loses nothing, a power
    failure at most the last moments. Leases are measured on the database's own clock.

    Attributes:
        path: Absolute path of the SQLite file, or None for PostgreSQL.
        place: The URL without secrets: the same for all stores of a process on one database.
    """

    path: Path | None

    def __init__(self, url: str) -> None:
        """Open the store and create its tables where they are missing.

        Args:
            url: A path, `sqlite:///path`, `postgresql://...` or `postgresql+psycopg://...`.

        Raises:
            InvalidInputError: `url` names neither a SQLite file nor a PostgreSQL database.
            MissingExtraError: The driver for PostgreSQL is not installed.
            StoreError: The server cannot be reached, the file cannot be written, or the tables
                were made by a newer version of ragguard.
        """
        self._database = Database(url)
        # What the filter drops is asked for ten times a second, on a connection of its own: no
        # other read stands in the way, however long.
        self._polls = Database(url, statement_s=_POLL_S)
        self.path = self._database.path
        self.place = self._database.name
        try:
            self._database.open(_prepare)
            self._polls.open(_prepare)
        except StoreError:
            self.close()
            raise

    def add_counts(self, counts: Mapping[str, int]) -> None:
        if not counts:
            return
        # Sorted: two writers that lock the same counters in different order would deadlock.
        rows = [{"name": name, "value": int(counts[name])} for name in sorted(counts)]
        with self._database.write() as session:
            added = insert_into(session, CounterRow)
            upsert = added.on_conflict_do_update(
                index_elements=[CounterRow.name],
                set_={"value": CounterRow.value + added.excluded.value},
            )
            session.execute(upsert, rows)

    def counts(self) -> dict[str, int]:
        with self._database.read() as session:
            return {row.name: row.value for row in session.scalars(select(CounterRow))}

    def add_scores(self, scored: Sequence[ScoredQuery], *, sample: int, recent: int) -> None:
        if not scored:
            return
        with self._database.write() as session:
            # Two writers that forget the same rows in different order would deadlock.
            lock(session, SCORES_LOCK)
            session.execute(insert(ScoreRow), [ScoreRow.values(record) for record in scored])
            for scorer in {record.scorer for record in scored}:
                mine = select(ScoreRow.seq).where(ScoreRow.scorer == scorer)
                newest = mine.order_by(ScoreRow.seq.desc()).limit(recent)
                lowest = mine.order_by(ScoreRow.priority, ScoreRow.seq).limit(sample)
                session.execute(
                    delete(ScoreRow)
                    .where(ScoreRow.scorer == scorer)
                    .where(ScoreRow.seq.not_in(newest), ScoreRow.seq.not_in(lowest))
                    .execution_options(synchronize_session=False)
                )

    def scores(self) -> list[ScoredQuery]:
        with self._database.read() as session:
            rows = session.scalars(select(ScoreRow).order_by(ScoreRow.seq))
            return [row.to_scored() for row in rows]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._database.name!r})"

    def close(self) -> None:
        self._database.close()
        self._polls.close()


def _prepare(database: Database) -> None:
    """Create missing tables, columns and indexes; processes that do so together wait in turn.

    Raises:
        StoreError: The database fails, or the tables were made by a newer version of ragguard.
    """
    with database.read() as session:
        found = _version(session)
    if found is None or found < SCHEMA_VERSION:
        with database.write() as session:
            lock(session, SCHEMA_LOCK)
            # Asked again under the lock: another process may have been faster.
            found = _version(session)
            if found is None or found < SCHEMA_VERSION:
                # Versions have only ever added tables, indexes, and columns that may be empty or
                # have a default of the database's: making what is missing is enough.
                _make_what_is_missing(session)
                if found is not None and found < _TURNS_SINCE:
                    _give_turns(session)
                session.merge(MetaRow(name="schema_version", value=SCHEMA_VERSION))
                if found is None:
                    # The time and not 0: versions of two stores that take each other's place at
                    # one address are not mistaken for each other.
                    now_ms = time.time_ns() // 1_000_000
                    session.add(MetaRow(name="quarantine_version", value=now_ms))
                found = SCHEMA_VERSION
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"the audit store {database.name} has schema version {found}, this ragguard "
            f"knows {SCHEMA_VERSION}; upgrade ragguard-middleware or use another store"
        )


def _make_what_is_missing(session: Session) -> None:
    connection = session.connection()
    for table in Base.metadata.sorted_tables:
        session.execute(CreateTable(table, if_not_exists=True))
    found = inspect(connection)
    for table in Base.metadata.sorted_tables:
        present = {column["name"] for column in found.get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                session.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {definition}"))
        # In one order: of two indexes that serve equally well SQLite takes the last one made.
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            index.create(connection, checkfirst=True)


def _give_turns(session: Session) -> None:
    # Open events keep turn 0, so they come before all that is reported from now on.
    session.execute(text("DROP INDEX IF EXISTS ragguard_events_claimable"))
    session.execute(
        update(EventRow)
        .where(EventRow.claimable_at.isnot(None), ~EventRow.passages.any())
        .values(bare=True)
        .execution_options(synchronize_session=False)
    )


def _version(session: Session) -> int | None:
    if not inspect(session.connection()).has_table(MetaRow.__tablename__):
        return None
    return session.scalar(select(MetaRow.value).where(MetaRow.name == "schema_version"))
