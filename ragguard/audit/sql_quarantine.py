"""The quarantine in a SQL database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import false, func, or_, select, update
from sqlalchemy.orm import Session

from ragguard.audit.accusing import HOUR, Load, decided
from ragguard.audit.database import Database, insert_into
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.models import QuarantineRow
from ragguard.audit.quarantine import (
    HELD,
    SPARED,
    Accused,
    Limits,
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    checked_status,
    matters,
    not_in_quarantine,
    utc_now,
)
from ragguard.audit.quarantine_log import tell
from ragguard.audit.sql_allowing import allowed_now, changes_of_the_list
from ragguard.audit.versions import VERSION, next_version, set_version
from ragguard.audit.watch import announce
from ragguard.inline.fingerprints import is_current, signature

__all__ = ["SqlQuarantine"]

_HELD = select(QuarantineRow.key).where(QuarantineRow.status.in_(HELD))
_UNSEEN = (QuarantineRow.status == "quarantined", QuarantineRow.event_id.isnot(None))
_AT_ONCE = 500  # keys in a statement


class SqlQuarantine:
    """The quarantine of a `SqlStore`."""

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
                .returning(QuarantineRow.key)
            )
            changed = next_version(session)
            rows = [QuarantineRow.values(entry, changed) for entry in entries]
            first = {entry.key: entry for entry in reversed(entries)}
            fresh = [first[key] for key in session.scalars(added, rows)]
            if any(entry.status in HELD + SPARED for entry in fresh):
                set_version(session, changed)
        announce(self.place)
        tell(fresh)
        return len(fresh)

    def accuse(self, entries: Sequence[QuarantineEntry], limits: Limits) -> list[Accused]:
        if not entries:
            return []
        with self._database.write() as session:
            changed = next_version(session)  # before the first look: accusations queue up here
            now = utc_now()
            found = []
            rows = select(QuarantineRow).where(QuarantineRow.key.in_({e.key for e in entries}))
            known = {row.key: row for row in session.scalars(rows)}
            load = _load(session, entries[0], now)
            for entry in entries:
                row = known.get(entry.key)
                one = decided(entry, None if row is None else row.to_entry(), limits, load, now)
                found.append(one)
                if not one.kept:
                    continue
                if row is None:
                    row = known[entry.key] = QuarantineRow(changed=0)
                    session.add(row)
                row.take(one.entry, changed if one.quarantined else row.changed)
            if any(one.quarantined for one in found):
                set_version(session, changed)
        announce(self.place)
        tell(one.entry for one in found if one.quarantined)
        return found

    def lapse(self) -> int:
        now = utc_now()
        over = QuarantineRow.until <= now
        with self._database.read() as session:
            if session.scalar(select(QuarantineRow.seq).where(over).limit(1)) is None:
                return 0  # the write lock is not taken for nothing
        with self._database.write() as session:
            changed = next_version(session)
            lapsed = session.scalars(
                update(QuarantineRow)
                .where(over)
                .values(status="lapsed", updated_at=now, until=None, changed=changed)
                .returning(QuarantineRow.key)
                .execution_options(synchronize_session=False)
            ).all()
            if lapsed:
                set_version(session, changed)
        announce(self.place)
        return len(lapsed)

    def set_quarantine_status(
        self, key: str, status: QuarantineStatus, *, actor: str | None = None
    ) -> QuarantineEntry:
        checked_status(status)
        with self._database.write() as session:
            changed = next_version(session)
            row = session.scalar(select(QuarantineRow).where(QuarantineRow.key == key))
            if row is None:
                raise not_in_quarantine(key)
            if matters(cast(QuarantineStatus, row.status), status):
                set_version(session, changed)
                row.changed = changed
            row.status = status
            row.updated_at = utc_now()
            row.actor = actor
            row.until = None
            entry = row.to_entry()
        announce(self.place)
        tell([entry])
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
            return session.scalars(VERSION).one()

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        newer = select(
            QuarantineRow.key, QuarantineRow.status, QuarantineRow.changed, QuarantineRow.signature
        )
        with self._polls.read() as session:
            # The version first: what is committed between the two reads is then found again next
            # time.
            now = session.scalars(VERSION).one()
            rows = session.execute(newer.where(QuarantineRow.changed > since)).all()
            due = _seconds(session.scalar(select(func.min(QuarantineRow.until))))
            listed = [number for number in changes_of_the_list(session, since) if number <= now]
            told = {row.changed for row in rows if row.changed <= now}.union(listed)
            # Each version is the mark of some row, unless that changed twice, or ragguard of a
            # version without such marks, or a backup, has written to the store.
            complete = since < 0 or len(told) != now - since
            if complete:
                rows = session.execute(newer.where(QuarantineRow.status.in_(HELD + SPARED))).all()
            held = {row.key: row.signature for row in rows if row.status in HELD}
            signatures = _signed(session, held)
            decided = any(row.status != "quarantined" for row in rows)
            allowed = allowed_now(session) if complete or listed or decided else None
        spared = frozenset(row.key for row in rows if row.status in SPARED)
        others = frozenset(row.key for row in rows) - held.keys()
        released = frozenset() if complete else others
        keys = frozenset(held)
        return QuarantineChanges(now, keys, released, complete, due, signatures, spared, allowed)


def _load(session: Session, new: QuarantineEntry, now: datetime) -> Load:
    events = select(func.count(QuarantineRow.event_id.distinct())).where(*_UNSEEN)
    theirs = [QuarantineRow.lanes.contains(lane_of(reporter)) for reporter in new.reporters]
    others = events.where(or_(false(), *theirs), QuarantineRow.event_id != new.event_id)
    count = select(func.count()).select_from(QuarantineRow)
    recent = count.where(*_UNSEEN, QuarantineRow.updated_at > now - HOUR)
    reported = (or_(false(), *theirs), QuarantineRow.event_id.isnot(None))
    proposed = count.where(QuarantineRow.status == "proposed", *reported)
    return Load(*(session.scalar(one) or 0 for one in (others, recent, proposed)))


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _signed(session: Session, found: Mapping[str, bytes | None]) -> dict[str, bytes]:
    """Return the signatures; those that another version wrote, or none, are made from the texts."""
    signed = {key: written for key, written in found.items() if written and is_current(written)}
    unsigned = [key for key in found if key not in signed]
    texts = select(QuarantineRow.key, QuarantineRow.text)
    for start in range(0, len(unsigned), _AT_ONCE):
        some = QuarantineRow.key.in_(unsigned[start : start + _AT_ONCE])
        for key, text in session.execute(texts.where(some)):
            signed[key] = signature(text)
    return signed
