"""What the SQL audit store has to say to SQLite in another way than to PostgreSQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from ragguard.audit.models import Base

__all__ = ["SCHEMA_LOCK", "SCORES_LOCK", "insert_into", "lock"]

# Any fixed numbers: PostgreSQL's advisory locks have no names.
SCHEMA_LOCK = 0x7261676775617264
SCORES_LOCK = SCHEMA_LOCK + 1


def insert_into(session: Session, table: type[Base]) -> Any:
    """Return the database's own INSERT, which knows what to do on a conflict."""
    insert: Any = sqlite.insert if _on_sqlite(session) else postgresql.insert
    return insert(table)


def lock(session: Session, number: int) -> None:
    """Hold a lock until the transaction ends.

    In SQLite every transaction that writes holds the only one there is.

    Args:
        session: A session that writes.
        number: `SCHEMA_LOCK` or `SCORES_LOCK`.
    """
    if not _on_sqlite(session):
        session.execute(select(func.pg_advisory_xact_lock(number)))


def _on_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"
