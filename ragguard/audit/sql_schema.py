"""The schema of the SQL audit store: made or completed, and checked for its version."""

from __future__ import annotations

import time

from sqlalchemy import inspect, select, text, update
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateColumn, CreateTable

from ragguard.audit.database import Database
from ragguard.audit.dialect import SCHEMA_LOCK, lock
from ragguard.audit.models import SCHEMA_VERSION, Base, EventRow, MetaRow
from ragguard.errors import StoreError

__all__ = ["prepare"]

_TURNS_SINCE = 5  # the version that gave events turns and marks those without passages


def prepare(database: Database) -> None:
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
