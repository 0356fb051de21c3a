"""The quarantine and the allow-list in a SQL database."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import product

from sqlalchemy import Select, false, func, or_, select
from sqlalchemy.orm import Session

from ragguard.audit.accusation import HOUR, Load
from ragguard.audit.allow_list import Allowance
from ragguard.audit.database import Database, insert_into, next_version, set_version
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.holdings import Changing, Holdings
from ragguard.audit.quarantine import (
    HELD,
    QuarantineEntry,
    QuarantineStatus,
    Reporters,
    utc_now,
)
from ragguard.audit.sql_records import append

_AT_ONCE = 500  # keys in a statement


class _Changing(Changing):
    def __init__(self, session: Session, tenant: str) -> None:
        super().__init__(tenant)
        self._session = session
        self._version = next_version(session)  # before the first look: changes queue up here

    def entries(self, keys: Collection[str]) -> dict[str, QuarantineEntry]:
        mine = select(QuarantineRow).where(QuarantineRow.tenant == self.tenant)
        return {row.key: row.to_record() for row in _of_keys(self._session, mine, keys)}

    def load(self, new: QuarantineEntry, now: datetime) -> Load:
        unseen, event = QuarantineRow.status == "quarantined", QuarantineRow.event_id
        lanes = [QuarantineRow.lanes.contains(lane_of(reporter)) for reporter in new.reporters]
        theirs = or_(false(), *lanes)
        counted = select(
            func.count(event.distinct()).filter(unseen, theirs, event != new.event_id),
            func.count().filter(unseen, QuarantineRow.updated_at > now - HOUR),
            func.count().filter(QuarantineRow.status == "proposed", theirs),
        ).where(
            QuarantineRow.tenant == self.tenant,
            QuarantineRow.status.in_(("quarantined", "proposed")),
            event.isnot(None),
        )
        return Load(*self._session.execute(counted).one())

    def over(self, now: datetime) -> list[tuple[str, QuarantineEntry]]:
        rows = self._session.scalars(select(QuarantineRow).where(QuarantineRow.until <= now))
        return [(row.tenant, row.to_record()) for row in rows]

    def allowances(self) -> list[Allowance]:
        return _listed(self._session, self.tenant)

    def keep(self) -> str | None:
        tables: tuple[type[QuarantineRow | AllowanceRow], ...] = (QuarantineRow, AllowanceRow)
        for table, is_news in product(tables, (False, True)):
            rows = [
                table.values(one, told.tenant, self._version if is_news else 0)
                for told, one, news in self.kept
                if news == is_news and isinstance(one, table.record)
            ]
            if rows:
                put = insert_into(self._session, table)
                anew = {name: put.excluded[name] for name in rows[0]}
                if not is_news:
                    del anew["changed"]
                put = put.on_conflict_do_update(index_elements=table.unique, set_=anew)
                self._session.execute(put, rows)
        if any(is_news for _, _, is_news in self.kept):
            set_version(self._session, self._version)
        return append(self._session, [told for told, _, _ in self.kept])


class SqlQuarantine(Holdings):
    """The quarantine of a `SqlStore`, and its allow-list."""

    _database: Database

    @contextmanager
    def _begin(self) -> Iterator[Changing]:
        with self._database.write() as session:
            yield _Changing(session, self.tenant)

    def lapse(self) -> int:
        with self._database.read() as session:
            over = select(QuarantineRow.seq).where(QuarantineRow.until <= utc_now())
            if session.scalar(over.limit(1)) is None:
                return 0  # the write lock is not taken for nothing
        return super().lapse()

    def quarantine(
        self,
        *,
        status: QuarantineStatus | None = None,
        keys: Collection[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[QuarantineEntry]:
        of_status = self._mine
        if status is not None:
            of_status = of_status.where(QuarantineRow.status == status)
        first, count = max(offset, 0), None if limit is None else max(limit, 0)
        if keys is not None:
            with self._database.read() as session:
                rows = list(_of_keys(session, of_status, keys))
                rows.sort(key=lambda row: (row.created_at, row.seq), reverse=True)
                last = None if count is None else first + count
                return [row.to_record() for row in rows[first:last]]
        newest = of_status.order_by(QuarantineRow.created_at.desc(), QuarantineRow.seq.desc())
        with self._database.read() as session:
            some = session.scalars(newest.limit(count).offset(first))
            return [row.to_record() for row in some]

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

    def allowances(self) -> list[Allowance]:
        with self._database.read() as session:
            return _listed(session, self.tenant)[::-1]

    @property
    def _mine(self) -> Select[QuarantineRow]:
        return select(QuarantineRow).where(QuarantineRow.tenant == self.tenant)


def _of_keys(
    session: Session, rows: Select[QuarantineRow], keys: Collection[str]
) -> Iterator[QuarantineRow]:
    """Yield those of some rows that have one of these keys: a statement takes so many at most."""
    wanted = list(dict.fromkeys(keys))
    for first in range(0, len(wanted), _AT_ONCE):
        yield from session.scalars(
            rows.where(QuarantineRow.key.in_(wanted[first : first + _AT_ONCE]))
        )


def _listed(session: Session, tenant: str) -> list[Allowance]:
    mine = select(AllowanceRow).where(AllowanceRow.tenant == tenant)
    oldest_first = mine.order_by(AllowanceRow.created_at, AllowanceRow.seq)
    return [row.to_record() for row in session.scalars(oldest_first)]
