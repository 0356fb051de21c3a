"""The quarantine in a SQL database; each function is part of its caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from ragguard.audit.dialect import insert_into
from ragguard.audit.models import MetaRow, QuarantineRow
from ragguard.audit.records import QuarantineChanges, QuarantineEntry, QuarantineStatus
from ragguard.errors import QuarantineNotFoundError

__all__ = ["add_entries", "changes", "held_keys", "newest_entries", "set_status", "version"]


def add_entries(session: Session, entries: Sequence[QuarantineEntry]) -> int:
    """Add the entries whose keys are new, and return how many were."""
    added = (
        insert_into(session, QuarantineRow)
        .on_conflict_do_nothing(index_elements=[QuarantineRow.key])
        .returning(QuarantineRow.status)
    )
    changed = _locked_version(session) + 1
    rows = [{**QuarantineRow.values(entry), "changed": changed} for entry in entries]
    statuses = session.scalars(added, rows).all()
    if any(status != "released" for status in statuses):
        _set_version(session, changed)
    return len(statuses)


def set_status(
    session: Session, key: str, status: QuarantineStatus, actor: str | None
) -> QuarantineEntry:
    """Change an entry's status and return it, or raise `QuarantineNotFoundError`."""
    changed = _locked_version(session) + 1
    row = session.scalar(select(QuarantineRow).where(QuarantineRow.key == key))
    if row is None:
        raise QuarantineNotFoundError(
            f"no passage with key {key!r} is in quarantine; list the keys with quarantine()"
        )
    if (row.status == "released") != (status == "released"):
        _set_version(session, changed)
        row.changed = changed
    row.status = status
    row.updated_at = datetime.now(UTC)
    row.actor = actor
    return row.to_entry()


def newest_entries(session: Session, status: QuarantineStatus | None) -> list[QuarantineEntry]:
    """Return the entries of the status, or of any, the newest first."""
    newest = select(QuarantineRow).order_by(
        QuarantineRow.created_at.desc(), QuarantineRow.seq.desc()
    )
    if status is not None:
        newest = newest.where(QuarantineRow.status == status)
    return [row.to_entry() for row in session.scalars(newest)]


def held_keys(session: Session) -> frozenset[str]:
    """Return the keys of all entries that are not released."""
    return frozenset(
        session.scalars(select(QuarantineRow.key).where(QuarantineRow.status != "released"))
    )


def version(session: Session) -> int:
    """Return the number that grows with every change of `held_keys`."""
    return session.scalars(select(MetaRow.value).where(MetaRow.name == "quarantine_version")).one()


def changes(session: Session, since: int) -> QuarantineChanges:
    """Return how `held_keys` came to differ from what they were at version `since`."""
    # The version first: what is committed between the two reads is then found again next time.
    now = version(session)
    newer = select(QuarantineRow.key, QuarantineRow.status, QuarantineRow.changed)
    rows = session.execute(newer.where(QuarantineRow.changed > since)).all()
    told = {changed for _, _, changed in rows if changed <= now}
    # Each version is the mark of some row, unless that changed twice, or ragguard of a version
    # without such marks, or a backup, has written to the store.
    if since < 0 or len(told) != now - since:
        return QuarantineChanges(now, held_keys(session), complete=True)
    held = frozenset(key for key, status, _ in rows if status != "released")
    return QuarantineChanges(now, held, frozenset(key for key, _, _ in rows) - held)


def _locked_version(session: Session) -> int:
    # Changes of the quarantine queue up here: versions grow in the order of their commits.
    return session.scalars(
        select(MetaRow.value).where(MetaRow.name == "quarantine_version").with_for_update()
    ).one()


def _set_version(session: Session, number: int) -> None:
    session.execute(
        update(MetaRow)
        .where(MetaRow.name == "quarantine_version")
        .values(value=number)
        .execution_options(synchronize_session=False)
    )
