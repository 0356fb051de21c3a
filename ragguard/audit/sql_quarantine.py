"""The quarantine in a SQL database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from ragguard.audit.database import Database, insert_into
from ragguard.audit.models import MetaRow, QuarantineRow
from ragguard.audit.records import (
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    checked_status,
    not_in_quarantine,
)
from ragguard.audit.watch import announce

__all__ = ["SqlQuarantine"]

_VERSION = select(MetaRow.value).where(MetaRow.name == "quarantine_version")
_HELD = select(QuarantineRow.key).where(QuarantineRow.status != "released")


class SqlQuarantine:
    """The quarantine of a `SqlStore`. What the filter asks for has a connection of its own."""

    place: str
    _database: Database
    _polls: Database

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        if not entries:
            return 0
        with self._database.write() as session:
            added = (
                insert_into(session, QuarantineRow)
                .on_conflict_do_nothing(index_elements=[QuarantineRow.key])
                .returning(QuarantineRow.status)
            )
            changed = _next_version(session)
            rows = [{**QuarantineRow.shared(entry), "changed": changed} for entry in entries]
            statuses = session.scalars(added, rows).all()
            if any(status != "released" for status in statuses):
                _set_version(session, changed)
        announce(self.place)
        return len(statuses)

    def set_quarantine_status(
        self, key: str, status: QuarantineStatus, *, actor: str | None = None
    ) -> QuarantineEntry:
        checked_status(status)
        with self._database.write() as session:
            changed = _next_version(session)
            row = session.scalar(select(QuarantineRow).where(QuarantineRow.key == key))
            if row is None:
                raise not_in_quarantine(key)
            if (row.status == "released") != (status == "released"):
                _set_version(session, changed)
                row.changed = changed
            row.status = status
            row.updated_at = datetime.now(UTC)
            row.actor = actor
            entry = row.to_entry()
        announce(self.place)
        return entry

    def quarantine(self, *, status: QuarantineStatus | None = None) -> list[QuarantineEntry]:
        newest = select(QuarantineRow).order_by(
            QuarantineRow.created_at.desc(), QuarantineRow.seq.desc()
        )
        if status is not None:
            newest = newest.where(QuarantineRow.status == status)
        with self._database.read() as session:
            return [row.to_entry() for row in session.scalars(newest)]

    def quarantine_keys(self) -> frozenset[str]:
        with self._database.read() as session:
            return frozenset(session.scalars(_HELD))

    def quarantine_version(self) -> int:
        with self._polls.read() as session:
            return session.scalars(_VERSION).one()

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        newer = select(QuarantineRow.key, QuarantineRow.status, QuarantineRow.changed)
        with self._polls.read() as session:
            # The version first: what is committed between the two reads is then found again next
            # time.
            now = session.scalars(_VERSION).one()
            rows = session.execute(newer.where(QuarantineRow.changed > since)).all()
            told = {changed for _, _, changed in rows if changed <= now}
            # Each version is the mark of some row, unless that changed twice, or ragguard of a
            # version without such marks, or a backup, has written to the store.
            if since < 0 or len(told) != now - since:
                return QuarantineChanges(now, frozenset(session.scalars(_HELD)), complete=True)
        held = frozenset(key for key, status, _ in rows if status != "released")
        return QuarantineChanges(now, held, frozenset(key for key, _, _ in rows) - held)


def _next_version(session: Session) -> int:
    # Changes of the quarantine queue up here: versions grow in the order of their commits.
    return session.scalars(_VERSION.with_for_update()).one() + 1


def _set_version(session: Session, number: int) -> None:
    session.execute(
        update(MetaRow)
        .where(MetaRow.name == "quarantine_version")
        .values(value=number)
        .execution_options(synchronize_session=False)
    )
