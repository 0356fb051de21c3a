"""The trail in a SQL database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from sqlalchemy import LargeBinary, Select, cast, insert, select
from sqlalchemy.orm import Session

from ragguard.audit.database import TRAIL_LOCK, Database, lock
from ragguard.audit.decision_models import TrailTable
from ragguard.audit.trail import Change, TrailRow, head_of, next_rows, says, tell_head
from ragguard.audit.trail_keys import Keys


class SqlTrail:
    """The trail of a `SqlStore`."""

    tenant: str
    _database: Database

    def trail(self, *, after: int = 0, limit: int = 10_000) -> list[TrailRow]:
        with self._database.read() as session:
            rows = _rows(session, self.tenant).where(TrailTable.seq > after)
            return _read(session, rows.order_by(TrailTable.seq).limit(max(limit, 0)))

    def newest_trail(self, limit: int) -> list[TrailRow]:
        with self._database.read() as session:
            return _newest(session, limit, self.tenant)

    def note(self, change: Change) -> bool:
        with self._database.read() as session:
            if _says(session, change):
                return False  # the write lock is not taken for nothing
        with self._database.write() as session:
            lock(session, TRAIL_LOCK)
            if _says(session, change):
                return False
            head = append(session, [change])
        tell_head(head)
        return True


def append(session: Session, changes: Iterable[Change]) -> str | None:
    """Add rows that tell of changes, in the transaction that makes them; return the new head.

    Writers queue up here until the transaction ends.

    Raises:
        StoreError: The last row is signed with a key that this process does not have.
    """
    told = list(changes)
    if not told:
        return None
    lock(session, TRAIL_LOCK)
    keys = Keys.from_environment()
    last = _newest(session, 1)
    rows = next_rows(last[0] if last else None, told, keys)
    session.execute(insert(TrailTable), [{**vars(row)} for row in rows])
    return head_of(rows[-1], keys)


def _rows(session: Session, tenant: str = "") -> Select[Any]:
    """Select the columns as they lie there: in SQLite a column may hold anything."""
    columns: list[Any] = [TrailTable.__table__.columns[field.name] for field in fields(TrailRow)]
    if session.get_bind().dialect.name == "sqlite":
        columns[1:] = [cast(column, LargeBinary).label(column.name) for column in columns[1:]]
    return select(*columns).where(TrailTable.tenant == tenant) if tenant else select(*columns)


def _read(session: Session, rows: Select[Any]) -> list[TrailRow]:
    return [TrailRow(row[0], *map(_text, row[1:])) for row in session.execute(rows)]  # type: ignore[arg-type]


def _text(value: str | bytes | None) -> str | None:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _newest(session: Session, limit: int, tenant: str = "") -> list[TrailRow]:
    newest = _rows(session, tenant).order_by(TrailTable.seq.desc()).limit(max(limit, 0))
    return _read(session, newest)[::-1]


def _says(session: Session, change: Change) -> bool:
    same = _rows(session).where(TrailTable.action == change.action)
    last = _read(session, same.order_by(TrailTable.seq.desc()).limit(1))
    return bool(last) and says(last[0], change)
