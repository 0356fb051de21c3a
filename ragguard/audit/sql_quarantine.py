"""The quarantine and the allow-list in a SQL database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Select, false, func, or_, select, update
from sqlalchemy.orm import Session

from ragguard.audit.accusation import HOUR, Load, decided_all
from ragguard.audit.allow_list import Allowance
from ragguard.audit.database import Database, insert_into, next_version, set_version
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.quarantine import (
    HELD,
    SPARED,
    Accused,
    Limits,
    QuarantineEntry,
    QuarantineStatus,
    Reporters,
    check_status,
    matters,
    not_in_quarantine,
    utc_now,
)
from ragguard.audit.records import TenantViews
from ragguard.audit.sql_records import append
from ragguard.audit.trail import of_allowance, of_entry, of_lapse
from ragguard.audit.watch import announce


class SqlQuarantine(TenantViews):
    """The quarantine of a `SqlStore`, and its allow-list."""

    place: str
    _database: Database

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        if not entries:
            return 0
        with self._database.write() as session:
            added = (
                insert_into(session, QuarantineRow)
                .on_conflict_do_nothing(index_elements=[QuarantineRow.tenant, QuarantineRow.key])
                .returning(QuarantineRow.key)
            )
            changed = next_version(session)
            rows = [QuarantineRow.values(entry, self.tenant, changed) for entry in entries]
            first = {entry.key: entry for entry in reversed(entries)}
            fresh = [first[key] for key in session.scalars(added, rows)]
            if any(entry.status in HELD + SPARED for entry in fresh):
                set_version(session, changed)
            head = append(session, [of_entry(entry, self.tenant) for entry in fresh])
        announce(self.place, self.tenant, head, fresh)
        return len(fresh)

    def accuse(self, entries: Sequence[QuarantineEntry], limits: Limits) -> list[Accused]:
        if not entries:
            return []
        with self._database.write() as session:
            changed = next_version(session)  # before the first look: accusations queue up here
            now = utc_now()
            keys = {entry.key for entry in entries}
            found_rows = session.scalars(self._mine.where(QuarantineRow.key.in_(keys)))
            rows = {row.key: row for row in found_rows}
            known = {key: row.to_record() for key, row in rows.items()}
            load = self._load(session, entries[0], now)
            found, told = decided_all(entries, known, limits, load, now, self.tenant)
            for one in found:
                if one.kept:
                    row = rows.setdefault(one.entry.key, QuarantineRow(changed=0))
                    since = changed if one.quarantined else row.changed
                    values = QuarantineRow.values(one.entry, self.tenant, since)
                    for name, value in values.items():
                        setattr(row, name, value)
                    session.add(row)
            if any(one.quarantined for one in found):
                set_version(session, changed)
            head = append(session, told)
        announce(self.place, self.tenant, head, (one.entry for one in found if one.quarantined))
        return found

    def lapse(self) -> int:
        now = utc_now()
        over = QuarantineRow.until <= now
        with self._database.read() as session:
            if session.scalar(select(QuarantineRow.seq).where(over).limit(1)) is None:
                return 0  # the write lock is not taken for nothing
        with self._database.write() as session:
            changed = next_version(session)
            lapsed = session.execute(
                update(QuarantineRow)
                .where(over)
                .values(status="lapsed", updated_at=now, until=None, changed=changed)
                .returning(QuarantineRow.key, QuarantineRow.tenant)
                .execution_options(synchronize_session=False)
            ).all()
            if lapsed:
                set_version(session, changed)
            head = append(session, [of_lapse(key, tenant) for key, tenant in lapsed])
        announce(self.place, self.tenant, head)
        return len(lapsed)

    def set_quarantine_status(
        self,
        key: str,
        status: QuarantineStatus,
        *,
        actor: str | None = None,
        said: str | None = None,
        only: Collection[QuarantineStatus] | None = None,
    ) -> QuarantineEntry:
        check_status(status)
        with self._database.write() as session:
            changed = next_version(session)
            row = session.scalar(self._mine.where(QuarantineRow.key == key))
            if row is None:
                raise not_in_quarantine(key)
            if only is not None and row.status not in only:
                return row.to_record()
            if matters(row.status, status):
                set_version(session, changed)
                row.changed = changed
            was, row.status = row.status, status
            row.updated_at = utc_now()
            row.actor = actor
            row.until = None
            entry = row.to_record()
            head = append(session, [of_entry(entry, self.tenant, said, was)])
        announce(self.place, self.tenant, head, [entry])
        return entry

    def quarantine(
        self,
        *,
        status: QuarantineStatus | None = None,
        keys: Collection[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[QuarantineEntry]:
        newest = self._mine.order_by(QuarantineRow.created_at.desc(), QuarantineRow.seq.desc())
        if status is not None:
            newest = newest.where(QuarantineRow.status == status)
        if keys is not None:
            newest = newest.where(QuarantineRow.key.in_(keys))
        some = newest.limit(None if limit is None else max(limit, 0)).offset(max(offset, 0))
        with self._database.read() as session:
            return [row.to_record() for row in session.scalars(some)]

    def quarantine_counts(self) -> dict[QuarantineStatus, int]:
        status = QuarantineRow.status
        rows = self._mine.with_only_columns(status, func.count()).group_by(status)
        with self._database.read() as session:
            return dict(session.execute(rows).all())

    def quarantine_tally(self) -> dict[tuple[QuarantineStatus, Reporters], int]:
        kinds = (QuarantineRow.status, QuarantineRow.reporters)
        rows = self._mine.with_only_columns(*kinds, func.count()).group_by(*kinds)
        with self._database.read() as session:
            return {(status, names): count for status, names, count in session.execute(rows)}

    def quarantine_keys(self) -> frozenset[str]:
        with self._database.read() as session:
            held = QuarantineRow.status.in_(HELD)
            rows = self._mine.where(held).with_only_columns(QuarantineRow.key)
            return frozenset(session.scalars(rows))

    def allow(self, allowance: Allowance, *, said: str | None = None) -> None:
        with self._database.write() as session:
            changed = next_version(session)
            marks = {"tenant": self.tenant, "changed": changed}
            values = AllowanceRow.shared(allowance) | marks
            put = insert_into(session, AllowanceRow).values(values)
            named = ["tenant", "key", "source", "effect"]
            session.execute(put.on_conflict_do_update(index_elements=named, set_=values))
            set_version(session, changed)
            head = append(session, [of_allowance(allowance, self.tenant, said)])
        announce(self.place, self.tenant, head)

    def disallow(
        self, key: str, source: str, *, actor: str | None = None, said: str | None = None
    ) -> list[Allowance]:
        with self._database.write() as session:
            changed = next_version(session)
            named = (AllowanceRow.tenant == self.tenant, AllowanceRow.key == key)
            held = select(AllowanceRow).where(*named, AllowanceRow.source == source)
            rows = session.scalars(held.where(AllowanceRow.ended_at.is_(None))).all()
            for row in rows:
                row.ended_at, row.ended_by, row.changed = utc_now(), actor, changed
            if rows:
                set_version(session, changed)
            ended = [row.to_record() for row in rows]
            told = [of_allowance(one, self.tenant, said, one.effect) for one in ended]
            head = append(session, told)
        announce(self.place, self.tenant, head)
        return ended

    def allowances(self) -> list[Allowance]:
        mine = select(AllowanceRow).where(AllowanceRow.tenant == self.tenant)
        newest = mine.order_by(AllowanceRow.created_at.desc(), AllowanceRow.seq.desc())
        with self._database.read() as session:
            return [row.to_record() for row in session.scalars(newest)]

    @property
    def _mine(self) -> Select[QuarantineRow]:
        return select(QuarantineRow).where(QuarantineRow.tenant == self.tenant)

    def _load(self, session: Session, new: QuarantineEntry, now: datetime) -> Load:
        mine = QuarantineRow.tenant == self.tenant
        unseen = (mine, QuarantineRow.status == "quarantined", QuarantineRow.event_id.isnot(None))
        events = select(func.count(QuarantineRow.event_id.distinct())).where(*unseen)
        theirs = [QuarantineRow.lanes.contains(lane_of(reporter)) for reporter in new.reporters]
        others = events.where(or_(false(), *theirs), QuarantineRow.event_id != new.event_id)
        count = select(func.count()).select_from(QuarantineRow)
        recent = count.where(*unseen, QuarantineRow.updated_at > now - HOUR)
        reported = (mine, or_(false(), *theirs), QuarantineRow.event_id.isnot(None))
        proposed = count.where(QuarantineRow.status == "proposed", *reported)
        return Load(*(session.scalar(one) or 0 for one in (others, recent, proposed)))
