"""Events and attributions in a SQL database; each function is part of its caller's transaction.

What an event goes through is described in `AuditStore`: it is added, claimed under a lease, and
finished or failed, each by whoever holds the claim.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, insert, or_, select, update
from sqlalchemy.orm import Session

from ragguard.audit.dialect import insert_into
from ragguard.audit.models import AttributionRow, EventRow, PassageRow, epoch_now
from ragguard.audit.records import Event, EventStatus
from ragguard.errors import EventNotFoundError

__all__ = [
    "add_event",
    "attribution_body",
    "claim_oldest",
    "fail_event",
    "finish_event",
    "is_any_claimable",
    "newest_events",
    "one_event",
    "renew_lease",
]

_CLAIMABLE_AT: Mapping[str, float] = {"pending": 0.0, "running": 0.0}


def add_event(session: Session, event: Event) -> None:
    """Add the event and its passages, unless its id is taken."""
    row = {
        "id": event.id,
        "query": event.query,
        "response": event.response,
        "reporter": event.reporter,
        "status": event.status,
        "created_at": event.created_at,
        "attempts": event.attempts,
        "error": event.error,
        "claimable_at": _CLAIMABLE_AT.get(event.status),
    }
    added = (
        insert_into(session, EventRow)
        .values(row)
        .on_conflict_do_nothing(index_elements=[EventRow.id])
        .returning(EventRow.seq)
    )
    seq = session.scalar(added)
    if seq is not None and event.passages:
        session.execute(
            insert(PassageRow),
            [PassageRow.values(seq, *item) for item in enumerate(event.passages)],
        )


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
    """Return whether `claim_oldest` would find an event now; takes no lock."""
    return session.scalar(_oldest_claimable(bare)) is not None


def claim_oldest(session: Session, lease_s: float, bare: Collection[str] | None) -> Event | None:
    """Claim the oldest event that is pending, or whose lease has ended; None if there is none.

    With `bare`, events without passages are passed over, but for those with these ids.
    """
    # SQLite renders no FOR UPDATE: there the whole transaction holds the write lock.
    oldest = _oldest_claimable(bare).with_for_update(skip_locked=True)
    claim = (
        update(EventRow)
        .where(EventRow.seq == oldest.scalar_subquery())
        .values(
            status="running",
            attempts=EventRow.attempts + 1,
            claimable_at=epoch_now() + lease_s,
        )
        .returning(EventRow.seq)
        .execution_options(synchronize_session=False)
    )
    seq = session.scalar(claim)
    return None if seq is None else session.get_one(EventRow, seq).to_event()


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
    session: Session, event_id: str, error: str, *, final: bool, attempt: int | None
) -> bool:
    """Set the event failed, or pending again; False if it is done or the claim no longer stands.

    Raises:
        EventNotFoundError: The id is unknown.
    """
    failed = (
        update(EventRow)
        .where(EventRow.id == event_id, EventRow.status != "done", *_held(attempt))
        .values(
            status="failed" if final else "pending",
            error=error,
            claimable_at=None if final else 0.0,
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


def _oldest_claimable(bare: Collection[str] | None) -> Select[Any]:
    claimable = select(EventRow.seq).where(EventRow.claimable_at <= epoch_now())
    if bare is not None:
        claimable = claimable.where(or_(EventRow.passages.any(), EventRow.id.in_(bare)))
    return claimable.order_by(EventRow.created_at, EventRow.seq).limit(1)


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
