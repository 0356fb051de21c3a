"""The version of the SQL audit store's tables, and how older ones are brought up to date."""

from __future__ import annotations

import time

from sqlalchemy import inspect, select, text, update
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateColumn, CreateTable

from ragguard.audit import verdict_rows  # noqa: F401 - it has a table of its own
from ragguard.audit.models import Base, EventRow, MetaRow

__all__ = ["SCHEMA_VERSION", "bring_up_to_date", "schema_version"]

SCHEMA_VERSION = 9
_TURNS_SINCE = 5  # the version that gave events turns and marks those without passages


def schema_version(session: Session) -> int | None:
    """Return the version of the tables that are there, or None if there are none."""
    if not inspect(session.connection()).has_table(MetaRow.__tablename__):
        return None
    return session.scalar(select(MetaRow.value).where(MetaRow.name == "schema_version"))


def bring_up_to_date(session: Session) -> int:
    """Create what older tables lack, or all of them, and return the version that there is then.

    Versions have only ever added tables, indexes, and columns that may be empty or have a default
    of the database's: making what is missing is enough.
    """
    found = schema_version(session)
    if found is not None and found >= SCHEMA_VERSION:
        return found
    connection = session.connection()
    for table in Base.metadata.sorted_tables:
        session.execute(CreateTable(table, if_not_exists=True))
    there = inspect(connection)
    for table in Base.metadata.sorted_tables:
        present = {column["name"] for column in there.get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                session.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {definition}"))
        # In one order: of two indexes that serve equally well SQLite takes the last one made.
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            index.create(connection, checkfirst=True)
    if found is None:
        # The time and not 0: versions of two stores that take each other's place at one address
        # are not mistaken for each other.
        session.add(MetaRow(name="quarantine_version", value=time.time_ns() // 1_000_000))
    elif found < _TURNS_SINCE:
        # Open events keep turn 0, so they come before all that is reported from now on.
        session.execute(text("DROP INDEX IF EXISTS ragguard_events_claimable"))
        bare = EventRow.claimable_at.isnot(None) & ~EventRow.passages.any()
        session.execute(
            update(EventRow).where(bare).values(bare=True),
            execution_options={"synchronize_session": False},
        )
    session.merge(MetaRow(name="schema_version", value=SCHEMA_VERSION))
    return SCHEMA_VERSION
