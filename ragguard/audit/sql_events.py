"""Events and attributions in a SQL database.

What an event goes through is described in `AuditStore`: it is added, claimed under a lease, and
finished or failed, each by whoever holds the claim, and put back where somebody wants it tried
again. One that is reported again is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, undefer

from ragguard.attribution.result import Attribution
from ragguard.audit.database import Database, epoch_now, insert_into
from ragguard.audit.encoding import from_json, to_json
from ragguard.audit.fair_queueing import MAX_REPORTERS, lane_of, next_turn
from ragguard.audit.models import EventRow
from ragguard.audit.records import OPEN, Event, EventStatus, TenantViews, no_event
from ragguard.errors import EventNotFoundError

_AT_ONCE = 500  # events that one transaction puts back
_IS_OPEN = EventRow.claimable_at.isnot(None)
_FIRST: Any = select(EventRow.turn, EventRow.seq).order_by(EventRow.turn, EventRow.seq).limit(1)
_WHOLE = undefer(EventRow.seen)
_LAST = select(func.max(EventRow.turn)).where(_IS_OPEN)


class SqlEvents(TenantViews):
    """The events and attributions of a `SqlStore`."""

    _database: Database

    def add_event(self, event: Event) -> None:
        self.add_events([event])

    def add_events(self, events: Sequence[Event]) -> None:
        if not events:
            return
        with self._database.write() as session:
            next_in = _turns(session)
            fresh: dict[str, tuple[Event, int]] = {}
            again: list[tuple[Event, int]] = []
            for event in events:
                one = event, next_in(event.lane)
                if fresh.setdefault(event.id, one) is not one:
                    again.append(one)
            # In the order of ids, as they are inserted: two writers in different order would
            # deadlock.
            known = _insert(session, fresh)
            for event, turn in sorted([*known, *again], key=lambda item: item[0].id):
                row = _locked(session, event.id)
                lanes = row.lanes.split()
                if event.lane not in lanes and len(lanes) < MAX_REPORTERS:
                    row.lanes += f" {event.lane}"
                row.reports += event.reports
                if turn < row.turn:
                    # Not to wait behind a flood that happens to hold the same claim.
                    row.lane, row.turn = event.lane, turn

    def event(self, event_id: str) -> Event:
        named = select(EventRow).where(*self._of_id(event_id)).options(_WHOLE)
        found: list[Event] = self._database.records(named)
        if not found:
            raise no_event(event_id)
        return found[0]

    def events(
        self, *, status: EventStatus | None = None, limit: int = 100, passages: bool = True
    ) -> list[Event]:
        mine = select(EventRow).where(EventRow.tenant == self.tenant)
        newest = mine.order_by(EventRow.created_at.desc(), EventRow.seq.desc())
        if status is not None:
            newest = newest.where(EventRow.status == status)
        if passages:
            newest = newest.options(_WHOLE)
        return self._database.records(newest.limit(max(limit, 0)))

    def claim_event(
        self, *, lease_s: float, passageless: Collection[str] | None = None
    ) -> Event | None:
        with self._database.read() as session:
            # An idle worker polls: it must not take the write lock for nothing.
            if not _claimable(session, passageless, self.tenant):
                return None
        with self._database.write() as session:
            for first in _claimable(session, passageless, self.tenant):
                next_one = first.with_only_columns(EventRow).options(_WHOLE)
                # SQLite renders no FOR UPDATE: there the whole transaction holds the write lock.
                row = session.scalar(next_one.with_for_update(skip_locked=True))
                if row is not None:
                    row.status, row.attempts = "running", row.attempts + 1
                    row.claimable_at = epoch_now(session) + lease_s
                    return row.to_record()
        return None

    def renew_lease(self, event_id: str, *, lease_s: float, attempt: int | None = None) -> bool:
        with self._database.write() as session, suppress(EventNotFoundError):
            row = _locked(session, event_id)
            if row.status == "running" and _holds(row, attempt):
                row.claimable_at = epoch_now(session) + lease_s
                return True
        return False

    def finish_event(
        self, event_id: str, attribution: Attribution, *, attempt: int | None = None
    ) -> bool:
        body = to_json(attribution.brief().to_dict())
        with self._database.write() as session:
            row = _locked(session, event_id)
            if not _holds(row, attempt):
                return False
            row.status, row.error, row.claimable_at = "done", None, None
            row.attribution_json = body
            return True

    def fail_event(
        self,
        event_id: str,
        error: str,
        *,
        final: bool,
        attempt: int | None = None,
        counts: bool = True,
        wait_s: float = 0.0,
    ) -> bool:
        with self._database.write() as session:
            row = _locked(session, event_id)
            if row.status not in OPEN or not _holds(row, attempt):
                return False
            row.turn = max(row.turn, _served(session) or 0)  # before it waits itself
            again_at = epoch_now(session) + wait_s if wait_s else 0.0
            row.status, row.claimable_at = ("failed", None) if final else ("pending", again_at)
            row.error = error
            row.failures += counts
            row.attempts_before += not counts
            return True

    def withdraw_reporter(self, event_id: str, reporter: str, error: str) -> int | None:
        lane = lane_of(reporter, self.tenant)
        with self._database.write() as session:
            row = _locked(session, event_id, self.tenant)
            lanes = row.lanes.split()
            if row.status not in OPEN or lane not in lanes:
                return None
            lanes.remove(lane)
            if not lanes:
                row.status, row.error, row.claimable_at = "failed", error, None
                return 0
            row.lanes = " ".join(lanes)
            if row.reporter == reporter:
                row.turn = max(row.turn, _served(session) or 0)
                row.reporter, row.status, row.claimable_at = None, "pending", 0.0
            return len(lanes)

    def attribution(self, event_id: str) -> Attribution | None:
        found = select(EventRow.attribution_json).where(*self._of_id(event_id))
        stored = next((row.attribution_json for row in self._database.rows(found)), None)
        return None if stored is None else Attribution.from_dict(from_json(stored))

    def retry_events(self, ids: Collection[str] | None = None) -> list[str]:
        settled = ("failed",) if ids is None else ("done", "failed")
        wanted: list[str] = [] if ids is None else list(dict.fromkeys(ids))
        with self._database.read() as session:
            for event_id in wanted:
                if session.scalar(select(EventRow.seq).where(*self._of_id(event_id))) is None:
                    raise no_event(event_id)
            if ids is None:
                failed = (EventRow.tenant == self.tenant, EventRow.status == "failed")
                mine = select(EventRow.id).where(*failed)
                wanted += session.scalars(mine.order_by(EventRow.created_at, EventRow.seq))
        done: list[str] = []
        for first in range(0, len(wanted), _AT_ONCE):
            with self._database.write() as session:
                done += _put_back(session, wanted[first : first + _AT_ONCE], settled)
        return done

    def _of_id(self, event_id: str) -> tuple[ColumnElement[bool], ...]:
        return (EventRow.id == event_id, EventRow.tenant == self.tenant)


def _locked(session: Session, event_id: str, tenant: str | None = None) -> EventRow:
    """Return an event, of whichever tenant if none is said, that nobody else changes meanwhile."""
    named = select(EventRow).where(EventRow.id == event_id).with_for_update()
    row = session.scalar(named)
    if row is None or tenant not in (None, row.tenant):
        raise no_event(event_id)
    return row


def _holds(row: EventRow, attempt: int | None) -> bool:
    return attempt is None or (row.status, row.attempts) == ("running", attempt)


def _turns(session: Session) -> Callable[[str], int]:
    """Return what gives the turn of one more event in a lane; each call gives a later one."""
    served = _served(session)
    if served is None:
        served = session.scalar(_LAST)
    last: dict[str, int | None] = {}

    def next_in(lane: str) -> int:
        if lane not in last:
            last[lane] = session.scalar(_LAST.where(EventRow.lane == lane))
        last[lane] = turn = next_turn(served, last[lane])
        return turn

    return next_in


def _served(session: Session) -> int | None:
    # Not == "pending": SQLite would read all such by their index.
    turn: int | None = session.scalar(_FIRST.where(_IS_OPEN, EventRow.status != "running"))
    return turn


def _claimable(
    session: Session, passageless: Collection[str] | None, tenant: str
) -> list[Select[Any]]:
    """Return the selections that find an event now, the earliest turn first; none takes a lock."""
    first = _FIRST.where(EventRow.claimable_at <= epoch_now(session))
    if tenant:
        first = first.where(EventRow.tenant == tenant)
    ways = [first]
    if passageless is not None:
        ways = [first.where(EventRow.bare.is_(False))]
        if passageless:
            ways.append(first.where(EventRow.id.in_(passageless)))
    places = [(session.execute(way).one_or_none(), way) for way in ways]
    found = [(tuple(place), way) for place, way in places if place is not None]
    return [way for _, way in sorted(found, key=lambda item: item[0])]


def _insert(session: Session, fresh: Mapping[str, tuple[Event, int]]) -> list[tuple[Event, int]]:
    """Insert the events and return those that are there already."""
    added = insert_into(session, EventRow).on_conflict_do_nothing(index_elements=[EventRow.id])
    rows = [EventRow.values(*fresh[event_id]) for event_id in sorted(fresh)]
    new = set(session.scalars(added.returning(EventRow.id), rows))
    return [one for event_id, one in fresh.items() if event_id not in new]


def _put_back(session: Session, ids: Sequence[str], settled: Sequence[str]) -> list[str]:
    """Put events back to "pending" that have one of these statuses, or wait after a failure."""
    waits = (EventRow.status == "pending") & (EventRow.claimable_at > epoch_now(session))
    some = select(EventRow).where(EventRow.id.in_(ids), EventRow.status.in_(settled) | waits)
    # In the order of ids, as `add_events` does: two writers in different order would deadlock.
    locked = some.order_by(EventRow.id).with_for_update()
    rows = {row.id: row for row in session.scalars(locked)}
    next_in, done = _turns(session), [event_id for event_id in ids if event_id in rows]
    for event_id in done:
        row = rows[event_id]
        lane = lane_of(row.reporter, row.tenant)
        row.lane, row.turn = lane, next_in(lane)
        row.status, row.error, row.claimable_at = "pending", None, 0.0
        row.failures, row.attempts_before = 0, row.attempts
    return done
