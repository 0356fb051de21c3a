"""The records that the audit store keeps, and the protocol that every store follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol, get_args

from ragguard.attribution.result import Attribution
from ragguard.errors import EventNotFoundError, InvalidInputError, QuarantineNotFoundError
from ragguard.passage import Passage

__all__ = [
    "OPEN",
    "AuditStore",
    "Event",
    "EventStatus",
    "QuarantineChanges",
    "QuarantineEntry",
    "QuarantineStatus",
    "ScoredQuery",
    "as_utc",
    "checked_status",
    "no_event",
    "not_in_quarantine",
]

EventStatus = Literal["pending", "running", "done", "failed"]
OPEN: tuple[EventStatus, ...] = ("pending", "running")
"""The statuses of events that still wait for their attribution."""

QuarantineStatus = Literal["quarantined", "confirmed", "released"]


def _now() -> datetime:
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Return the same moment in UTC; one without a timezone is taken to be UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def checked_status(status: QuarantineStatus) -> QuarantineStatus:
    """Return `status`, or raise `InvalidInputError` when it is none of a quarantine's three."""
    if status not in get_args(QuarantineStatus):
        raise InvalidInputError(
            f"a quarantine's status cannot be {status!r}; "
            f"pass one of {', '.join(get_args(QuarantineStatus))}"
        )
    return status


def no_event(event_id: str) -> EventNotFoundError:
    """Return the error for an id that no event has."""
    return EventNotFoundError(
        f"no event {event_id!r} is in the audit store; use the id that report() returned"
    )


def not_in_quarantine(key: str) -> QuarantineNotFoundError:
    """Return the error for a key that no entry has."""
    return QuarantineNotFoundError(
        f"no passage with key {key!r} is in quarantine; list the keys with quarantine()"
    )


@dataclass(frozen=True)
class Event:
    """A response that somebody flagged as wrong.

    Attributes:
        id: Unique id, made by the caller of `AuditStore.add_event`.
        query: The user's question.
        response: The response that was flagged.
        passages: The passages that the generator saw, best first; may be empty.
        reporter: Who flagged it, or None.
        status: "pending", "running", "done" or "failed".
        created_at: When it was flagged, UTC.
        attempts: How often a worker has begun on it.
        error: Why the last attempt failed, or None.
        failures: How many of the attempts failed; one whose worker died did not.
        reports: How often it was reported.
        reporters: By how many; past `fair_queueing.MAX_REPORTERS` they are not told apart.
        cut: What was left out of it because of its size, in words, or None.
    """

    id: str
    query: str
    response: str
    passages: tuple[Passage, ...] = ()
    reporter: str | None = None
    status: EventStatus = "pending"
    created_at: datetime = field(default_factory=_now)
    attempts: int = 0
    error: str | None = None
    failures: int = 0
    reports: int = 1
    reporters: int = 1
    cut: str | None = None


@dataclass(frozen=True)
class QuarantineEntry:
    """A passage that the filter drops from now on, until somebody releases it.

    Attributes:
        key: `ragguard.content.content_key` of the text; what the filter compares.
        passage_id: The passage's id in its knowledge base.
        text: The text itself, kept so that a release can restore it.
        reason: Why it was quarantined, in words.
        event_id: The event whose attribution found it, or None if a person put it there.
        status: "quarantined" (found), "confirmed" or "released" (what a person said).
        created_at: When it was quarantined, UTC.
        updated_at: When its status last changed, UTC.
        actor: Who changed the status last, or None for the worker.
    """

    key: str
    passage_id: str
    text: str
    reason: str
    event_id: str | None = None
    status: QuarantineStatus = "quarantined"
    created_at: datetime = field(default_factory=_now)
    updated_at: datetime = field(default_factory=_now)
    actor: str | None = None


@dataclass(frozen=True)
class QuarantineChanges:
    """How the keys that the filter must drop came to differ from those of an earlier version.

    Attributes:
        version: What `AuditStore.quarantine_version` returns for the keys as they are now.
        held: Keys to add to those of the earlier version, or all that there are.
        released: Keys to take out of them; empty if `complete`.
        complete: Whether `held` is all that there are.
    """

    version: int
    held: frozenset[str]
    released: frozenset[str] = frozenset()
    complete: bool = False

    def applied_to(self, keys: frozenset[str]) -> frozenset[str]:
        """Return the keys of now, from those of the earlier version."""
        return self.held if self.complete else (keys - self.released) | self.held


@dataclass(frozen=True)
class ScoredQuery:
    """What one query scored in the filter; of its texts nothing is kept but a hash.

    Attributes:
        score: Set-level nonconformity, which the gate decided on.
        suspicions: Suspicion of each judged passage, in rank order; at least one.
        with_reference: True if passages below the judged ones were given as reference.
        attacked: True if the gate fired.
        scorer: Version of the signals and weights.
        recorded_at: When, UTC.
        priority: Random number in [0, 1). A store keeps the records of lowest priority, which is a
            uniform sample of all queries, however many processes write.
        question: Hash of the question's content words: the same for questions of the same words,
            in whatever order and form. Empty in what older versions recorded.
    """

    score: float
    suspicions: tuple[float, ...]
    with_reference: bool
    attacked: bool
    scorer: str
    recorded_at: datetime = field(default_factory=_now)
    priority: float = 0.0
    question: str = ""


class AuditStore(Protocol):
    """Keeps events, attributions, quarantine, counters and scores. Safe to share between threads.

    Methods raise `ragguard.errors.StoreError` when the storage behind them fails.
    """

    def add_event(self, event: Event) -> None:
        """Store a new event; one with the same id is left as it is, and its reports are counted."""

    def add_events(self, events: Sequence[Event]) -> None:
        """Do what `add_event` does with each, in this order; all of them or, when it raises, none.

        An event that is reported again counts for its reporters as well, and its turn comes as
        early as that of an event of the new reporter would.
        """

    def event(self, event_id: str) -> Event:
        """Return the event, or raise `EventNotFoundError`."""

    def events(self, *, status: EventStatus | None = None, limit: int = 100) -> list[Event]:
        """Return the newest events first."""

    def claim_event(
        self, *, lease_s: float, passageless: Collection[str] | None = None
    ) -> Event | None:
        """Take the event whose turn it is, pending or running with an expired lease.

        Reporters take turns (`ragguard.audit.fair_queueing`), each with its event stored first.
        Atomic across threads and processes: no two callers get the same event within its lease.
        The returned event has status "running" and its `attempts` counted up. Of events
        that bring no passages only those in `passageless` are claimed, unless it is None.
        """

    def renew_lease(self, event_id: str, *, lease_s: float, attempt: int | None = None) -> bool:
        """Let the lease of a running event end `lease_s` seconds from now.

        An event that is not running is left as it is. `attempt` is the fencing token: a worker
        passes the `attempts` of the event that it claimed, and once another worker has claimed the
        event anew, whatever the first one still writes changes nothing. Returns whether it did.
        """

    def finish_event(
        self, event_id: str, attribution: Attribution, *, attempt: int | None = None
    ) -> bool:
        """Store the attribution, set the event "done" and forget the error of earlier attempts.

        With `attempt` only if the event is still running in that attempt; returns whether it was.
        Raises `EventNotFoundError` for an unknown id.
        """

    def fail_event(
        self,
        event_id: str,
        error: str,
        *,
        final: bool,
        attempt: int | None = None,
        counts: bool = True,
    ) -> bool:
        """Set the event back to "pending", or to "failed" when `final`, and keep the error.

        It is one of the event's `failures` unless `counts` is False, as for an attempt that was
        interrupted. An event that is done or failed stays so. With `attempt` only if the event is
        still running in that attempt. Returns whether it was changed. Raises `EventNotFoundError`
        for an unknown id.
        """

    def attribution(self, event_id: str) -> Attribution | None:
        """Return the attribution of a finished event, else None."""

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        """Store new entries and return how many were new.

        A key that is there already is left as it is: in particular, what a person released stays
        released until a person quarantines it again. Of two entries with one key the first counts.
        """

    def set_quarantine_status(
        self, key: str, status: QuarantineStatus, *, actor: str | None = None
    ) -> QuarantineEntry:
        """Change an entry's status and return it, or raise `QuarantineNotFoundError`."""

    def quarantine(self, *, status: QuarantineStatus | None = None) -> list[QuarantineEntry]:
        """Return the entries, newest first."""

    def quarantine_keys(self) -> frozenset[str]:
        """Return the keys that the filter must drop: every entry that is not released."""

    def quarantine_version(self) -> int:
        """Return a number that grows with every change of `quarantine_keys`, in any process."""

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        """Return what has changed in `quarantine_keys` since they had version `since`.

        Since version -1, before there was anything, all of them are new. A store may answer so
        whenever it cannot tell the changes apart.
        """

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add to the verdict counters (queries, attacked, dropped, errors, ...)."""

    def counts(self) -> dict[str, int]:
        """Return the verdict counters."""

    def add_scores(self, scored: Sequence[ScoredQuery], *, sample: int, recent: int) -> None:
        """Store what queries scored, oldest first, and forget what is no longer needed.

        Of each scorer the `sample` records of lowest priority and the `recent` that were added last
        are kept; at equal priority those that were added first.
        """

    def scores(self) -> list[ScoredQuery]:
        """Return the records that are kept, in the order in which they were added."""

    def close(self) -> None:
        """Release connections; the store is not used afterwards."""
