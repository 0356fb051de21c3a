"""From reports to events in a SQL database: each is stored once, and counted when it comes again.

Part of its caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import case, func, insert, select, update
from sqlalchemy.orm import Session

from ragguard.audit.dialect import insert_into
from ragguard.audit.fair_queueing import MAX_REPORTERS, lane_of, next_turn
from ragguard.audit.models import EventRow, PassageRow
from ragguard.audit.records import Event
from ragguard.audit.sql_types import epoch_now

__all__ = ["add_events"]

_CLAIMABLE_AT: Mapping[str, float] = {"pending": 0.0, "running": 0.0}
_LANES_LENGTH = 17 * MAX_REPORTERS - 1  # a space between each two


def add_events(session: Session, events: Sequence[Event]) -> None:
    """Add the events whose ids are new, with their passages, and count the reports of the others.

    Two processes may bring one event at once: the database lets the second one wait, and then it
    is one that is counted.
    """
    turns = _Turns(session)
    ids = {event.id for event in events}
    known = set(session.scalars(select(EventRow.id).where(EventRow.id.in_(ids))))
    again: list[tuple[Event, int]] = []
    fresh: dict[str, tuple[Event, int]] = {}
    for event in events:
        turn = turns.next(lane_of(event.reporter))
        if event.id in known or event.id in fresh:
            again.append((event, turn))
        else:
            fresh[event.id] = event, turn
    again += _insert(session, fresh)
    # In the order of ids, as they are inserted: two writers in different order would deadlock.
    for event, turn in sorted(again, key=lambda item: item[0].id):
        _count(session, event, turn)


class _Turns:
    """The turns that new events get."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._served = session.scalar(
            select(EventRow.turn)
            .where(EventRow.claimable_at <= epoch_now())
            .order_by(EventRow.turn, EventRow.seq)
            .limit(1)
        )
        self._last: dict[str, int | None] = {}

    def next(self, lane: str) -> int:
        if lane not in self._last:
            self._last[lane] = self._session.scalar(
                select(func.max(EventRow.turn)).where(
                    EventRow.lane == lane, EventRow.claimable_at.isnot(None)
                )
            )
        turn = next_turn(self._served, self._last[lane])
        self._last[lane] = turn
        return turn


def _insert(session: Session, fresh: Mapping[str, tuple[Event, int]]) -> list[tuple[Event, int]]:
    """Insert the events and return those that another process has inserted meanwhile."""
    if not fresh:
        return []
    added = (
        insert_into(session, EventRow)
        .on_conflict_do_nothing(index_elements=[EventRow.id])
        .returning(EventRow.id, EventRow.seq)
    )
    rows = [_values(*fresh[event_id]) for event_id in sorted(fresh)]
    seqs = {row.id: row.seq for row in session.execute(added, rows)}
    passages = [
        PassageRow.values(seq, *item)
        for event_id, seq in seqs.items()
        for item in enumerate(fresh[event_id][0].passages)
    ]
    if passages:
        session.execute(insert(PassageRow), passages)
    return [one for event_id, one in fresh.items() if event_id not in seqs]


def _values(event: Event, turn: int) -> dict[str, object]:
    lane = lane_of(event.reporter)
    return {
        "id": event.id,
        "query": event.query,
        "response": event.response,
        "reporter": event.reporter,
        "status": event.status,
        "created_at": event.created_at,
        "attempts": event.attempts,
        "error": event.error,
        "claimable_at": _CLAIMABLE_AT.get(event.status),
        "failures": event.failures,
        "reports": event.reports,
        "cut": event.cut,
        "lanes": lane,
        "lane": lane,
        "turn": turn,
        "bare": not event.passages,
    }


def _count(session: Session, event: Event, turn: int) -> None:
    lane = lane_of(event.reporter)
    is_new = ~EventRow.lanes.contains(lane) & (func.length(EventRow.lanes) < _LANES_LENGTH)
    is_sooner = EventRow.turn > turn
    session.execute(
        update(EventRow)
        .where(EventRow.id == event.id)
        .values(
            reports=EventRow.reports + event.reports,
            lanes=case((is_new, EventRow.lanes + f" {lane}"), else_=EventRow.lanes),
            # Not to wait behind a flood that happens to hold the same claim.
            lane=case((is_sooner, lane), else_=EventRow.lane),
            turn=case((is_sooner, turn), else_=EventRow.turn),
        )
        .execution_options(synchronize_session=False)
    )
