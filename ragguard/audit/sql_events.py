"""Events and attributions in a SQL database; each function is part of its caller's transaction.

What an event goes through is described in `AuditStore`: it is added, claimed under a lease, and
finished or failed, each by whoever holds the claim.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, select, update
from sqlalchemy.orm import Session

from ragguard.audit.dialect import insert_into
from ragguard.audit.models import AttributionRow, EventRow
from ragguard.audit.records import OPEN, Event, EventStatus
from ragguard.audit.sql_reporting import add_events
from ragguard.audit.sql_types import epoch_now
from ragguard.errors import EventNotFoundError

__all__ = [
    "add_events",
    "attribution_body",
    "claim_next",
    "fail_event",
    "finish_event",
    "is_any_claimable",
    "newest_events",
    "one_event",
    "renew_lease",
]


def one_event(session: Session, event_id: str) -> Event:
    """Return the event, or raise `EventNotFoundError`."""
    row = session.scalar(select(EventRow).where(EventRow.id == event_id))
    if row is None:
        raise _no_event(event_id)
    return row.to_event()


def newest_events(session: Session, status: EventStatus | None, limit: int) -> list[Event]:
    """Return at most `limit` events of the status, or of any, the newest first."""
    newest = select(EventRow).order_by(EventRow.created_at.desc(), EventRow.seq.desc())
    if status is not None:
        newest = newest.where(EventRow.status == status)
    return [row.to_event() for row in session.scalars(newest.limit(max(limit, 0)))]


def is_any_claimable(session: Session, bare: Collection[str] | None) -> bool:
    """Return whether `claim_next` would find an event now; takes no lock."""
    return bool(_next_claimable(session, bare))


def claim_next(session: Session, lease_s: float, bare: Collection[str] | None) -> Event | None:
    """Claim the event whose turn it is, pending or with a lease that has ended; None without one.

    With `bare`, events without passages are passed over, but for those with these ids.
    """
    for next_one in _next_claimable(session, bare):
        claim = (
            update(EventRow)
            # SQLite renders no FOR UPDATE: there the whole transaction holds the write lock.
            .where(EventRow.seq == next_one.with_for_update(skip_locked=True).scalar_subquery())
            .values(
                status="running",
                attempts=EventRow.attempts + 1,
                claimable_at=epoch_now() + lease_s,
            )
            .returning(EventRow.seq)
            .execution_options(synchronize_session=False)
        )
        seq = session.scalar(claim)
        if seq is not None:
            return session.get_one(EventRow, seq).to_event()
    return None


def renew_lease(session: Session, event_id: str, lease_s: float, attempt: int | None) -> bool:
    """Let the lease end `lease_s` seconds from now; False if the claim no longer stands."""
    renewed = (
        update(EventRow)
        .where(EventRow.id == event_id, EventRow.status == "running", *_held(attempt))
        .values(claimable_at=epoch_now() + lease_s)
        .returning(EventRow.seq)
        .execution_options(synchronize_session=False)
    )
    return session.scalar(renewed) is not None


def finish_event(session: Session, event_id: str, body: str, attempt: int | None) -> bool:
    """Set the event done and keep the attribution's JSON; False if the claim no longer stands.

    Raises:
        EventNotFoundError: The id is unknown.
    """
    done = (
        update(EventRow)
        .where(EventRow.id == event_id, *_held(attempt))
        .values(status="done", error=None, claimable_at=None)
        .returning(EventRow.seq)
        .execution_options(synchronize_session=False)
    )
    seq = session.scalar(done)
    if seq is None:
        return _left_alone(session, event_id)
    stored = insert_into(session, AttributionRow).values(event_seq=seq, body_json=body)
    session.execute(
        stored.on_conflict_do_update(
            index_elements=[AttributionRow.event_seq],
            set_={"body_json": stored.excluded.body_json},
        )
    )
    return True


def fail_event(
    session: Session, event_id: str, error: str, *, final: bool, attempt: int | None, counts: bool
) -> bool:
    """Set the event failed, or pending again; False if it is settled or claimed by others.

    Raises:
        EventNotFoundError: The id is unknown.
    """
    failed = (
        update(EventRow)
        .where(EventRow.id == event_id, EventRow.status.in_(OPEN), *_held(attempt))
        .values(
            status="failed" if final else "pending",
            error=error,
            claimable_at=None if final else 0.0,
            failures=EventRow.failures + int(counts),
        )
        .returning(EventRow.seq)
        .execution_options(synchronize_session=False)
    )
    return session.scalar(failed) is not None or _left_alone(session, event_id)


def attribution_body(session: Session, event_id: str) -> str | None:
    """Return the attribution's JSON, or None for an event that has none or is unknown."""
    return session.scalar(
        select(AttributionRow.body_json)
        .join(EventRow, EventRow.seq == AttributionRow.event_seq)
        .where(EventRow.id == event_id)
    )


def _next_claimable(session: Session, bare: Collection[str] | None) -> list[Select[Any]]:
    """Return the selections that find an event now, the one with the earliest turn first.

    Each reads an index up to its first hit.
    """
    by_turn = (
        select(EventRow.seq)
        .where(EventRow.claimable_at <= epoch_now())
        .order_by(EventRow.turn, EventRow.seq)
        .limit(1)
    )
    if bare is None:
        ways = [by_turn]
    else:
        ways = [by_turn.where(EventRow.bare.is_(False))]
        if bare:
            ways.append(by_turn.where(EventRow.id.in_(bare)))
    found = []
    for way in ways:
        place = session.execute(way.with_only_columns(EventRow.turn, EventRow.seq)).one_or_none()
        if place is not None:
            found.append((tuple(place), way))
    return [way for _, way in sorted(found, key=lambda item: item[0])]


def _held(attempt: int | None) -> tuple[ColumnElement[bool], ...]:
    """Conditions that a worker's claim still stands; none where nobody says which attempt."""
    if attempt is None:
        return ()
    return (EventRow.status == "running", EventRow.attempts == attempt)


def _left_alone(session: Session, event_id: str) -> bool:
    if session.scalar(select(EventRow.seq).where(EventRow.id == event_id)) is None:
        raise _no_event(event_id)
    return False


def _no_event(event_id: str) -> EventNotFoundError:
    return EventNotFoundError(
        f"no event {event_id!r} is in the audit store; use the id that report() returned"
    )
