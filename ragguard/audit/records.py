"""The records that the audit store keeps, and the protocol that every store follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from sys import getsizeof
from typing import Literal, Protocol, Self

from ragguard.arguments import require_tenant
from ragguard.attribution.result import Attribution
from ragguard.audit.allow_list import AllowanceStore
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.quarantine import QuarantineStore, utc_now
from ragguard.audit.trail import TrailStore
from ragguard.audit.verdicts import VerdictStore
from ragguard.errors import EventNotFoundError
from ragguard.fork import WorkedOutOnce
from ragguard.passage import Passage
from ragguard.recent_passages import passages_bytes

EventStatus = Literal["pending", "running", "done", "failed"]
Access = Literal["make", "keep", "look"]
"""What `SqlStore` may do with file and tables; "make" alone sets a file's journal mode."""

OPEN: tuple[EventStatus, ...] = ("pending", "running")
"""The statuses of events that still wait for their attribution."""

ANSWER_DAY = timedelta(days=1)
"""For how long an answer may be reported; it is kept twice as long, since events may wait."""

KEPT_ANSWERS = 100_000
"""How many of the newest answers of a tenant a store keeps."""

KEPT_ALIKE = 100
"""How many answers of one digest are looked at, the newest."""


def no_event(event_id: str) -> EventNotFoundError:
    """Return the error for an id that no event has."""
    return EventNotFoundError(
        f"no event {event_id!r} is in the audit store; use an id that `report` returned or that "
        "`ragguard events list` shows, and name the tenant if it is a tenant's"
    )


class TenantViews:
    """A store that tenants see in their own ways."""

    tenant = ""

    def of_tenant(self, tenant: str | None) -> Self:
        """Return an object of its own that shares all else with this one."""
        name = require_tenant(tenant)
        if name == self.tenant:
            return self
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__, tenant=name)
        return view


@dataclass(frozen=True)
class Event:
    """A response that somebody flagged as wrong.

    Attributes:
        id: Unique id, made by the caller of `AuditStore.add_event`.
        query, response: The user's question, and the response that was flagged.
        passages: Those that the generator saw, best first; may be empty.
        reporter: Who flagged it, or None.
        created_at: When it was flagged, UTC.
        attempts, attempts_before: How often a worker has begun on it, ever, and how many of these
            count no more: those before `retry_events`, and those that were given back.
        error: Why the last attempt failed, or None.
        failures: How many attempts since then failed; one whose worker died did not.
        reports, reporters: How often it was reported, and by how many; past
            `fair_queueing.MAX_REPORTERS` they are not told apart.
        cut: What was left out of it since it is too long or cannot be read, in words, or None.
        tenant: Whose it is; "" is the default tenant.
    """

    id: str
    query: str
    response: str
    passages: tuple[Passage, ...] = ()
    reporter: str | None = None
    status: EventStatus = "pending"
    created_at: datetime = field(default_factory=utc_now)
    attempts: int = 0
    attempts_before: int = 0
    error: str | None = None
    failures: int = 0
    reports: int = 1
    reporters: int = 1
    cut: str | None = None
    tenant: str = ""

    @property
    def address(self) -> tuple[str, str]:
        """Its tenant and its id."""
        return self.tenant, self.id

    @WorkedOutOnce
    def lane(self) -> str:
        """The lane in which it waits (`ragguard.audit.fair_queueing`)."""
        return lane_of(self.reporter, self.tenant)

    @WorkedOutOnce
    def nbytes(self) -> int:
        """Bytes of its texts and passages in memory."""
        return getsizeof(self.query) + getsizeof(self.response) + passages_bytes(self.passages)


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
        priority: Random number in [0, 1). A store keeps the records of lowest priority, a uniform
            sample of all queries, however many processes write.
        question: Hash of the question's content words, whatever their order and form. Empty in what
            older versions recorded.
        naming: True if the question only names something (`ragguard.inline.query_form`).
    """

    score: float
    suspicions: tuple[float, ...]
    with_reference: bool
    attacked: bool
    scorer: str
    recorded_at: datetime = field(default_factory=utc_now)
    priority: float = 0.0
    question: str = ""
    naming: bool = False


@dataclass(frozen=True)
class Answer:
    """An answer that the system gave: with these, reports can be bound to what somebody was told.

    Of the texts nothing is kept; without the store's key nobody can look for one.

    Attributes:
        digest: Keyed hash of question and response, but for case and white space: 32 hex digits.
        passages: Keyed hashes of the passages that the generator saw, 16 hex digits each.
        given_at: When, UTC.
    """

    digest: str
    passages: frozenset[str] = frozenset()
    given_at: datetime = field(default_factory=utc_now)


class AuditStore(QuarantineStore, AllowanceStore, VerdictStore, TrailStore, Protocol):
    """Keeps events, attributions, quarantine, verdicts, answers, the trail, counters and scores.

    Safe to share between threads. All methods raise `ragguard.errors.StoreError` when the storage
    behind them fails.

    A tenant sees and decides about its own events, attributions, quarantine, allow-list and
    verdicts only. Counters and scores, which hold no texts, are of all tenants together. A store as
    it was opened is the default tenant's, and that of whoever serves all: it takes the events and
    verdicts of every tenant, hands out their events, and tells the changes of all quarantines.

    Attributes:
        tenant: Whose store this is; "" for the default tenant.
    """

    tenant: str

    def of_tenant(self, tenant: str | None) -> AuditStore:
        """Return the store as a tenant sees it, for next to nothing; None is the default tenant.

        It shares all with this one, which is the one to close. Raises `InvalidInputError` for what
        is no name of a tenant.
        """

    def tenants(self) -> list[str]:
        """Return the names of all tenants that anything is kept of, but for the default one."""

    def add_event(self, event: Event) -> None:
        """Store a new event; one with the same id is left as it is, and its reports are counted."""

    def add_events(self, events: Sequence[Event]) -> None:
        """Do what `add_event` does with each, in this order; all of them or, when it raises, none.

        An event that is reported again counts for its reporters as well, and its turn comes as
        early as that of an event of the new reporter would.
        """

    def event(self, event_id: str) -> Event:
        """Return the event, or raise `EventNotFoundError`."""

    def events(
        self, *, status: EventStatus | None = None, limit: int = 100, passages: bool = True
    ) -> list[Event]:
        """Return the newest events first, with `passages` False without theirs (200 kB each)."""

    def claim_event(
        self, *, lease_s: float, passageless: Collection[str] | None = None
    ) -> Event | None:
        """Take the event whose turn it is, pending or running with an expired lease.

        Reporters take turns (`ragguard.audit.fair_queueing`), each with its event stored first.
        Atomic across threads and processes: no two callers get the same event within its lease.
        The returned event has status "running" and its `attempts` counted up. Of events that bring
        no passages only those in `passageless` are claimed, unless it is None.
        """

    def renew_lease(self, event_id: str, *, lease_s: float, attempt: int | None = None) -> bool:
        """Let the lease of a running event end `lease_s` seconds from now.

        An event that is not running is left as it is. `attempt` is the fencing token: a worker
        passes the `attempts` of the event that it claimed, and once another one has claimed it
        anew, whatever the first still writes changes nothing. Returns whether it did.
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
        wait_s: float = 0.0,
    ) -> bool:
        """Set the event back to "pending", or to "failed" when `final`, and keep the error.

        Nobody claims it again before `wait_s` seconds are over. It is one of the event's `failures`
        unless `counts` is False, as for an attempt that was given back: that is none of its starts,
        either. An event that is done or failed stays so. `attempt`, what is returned and what is
        raised are as in `finish_event`.
        """

    def withdraw_reporter(self, event_id: str, reporter: str, error: str) -> int | None:
        """Take a reporter out of an open event; return how many others have reported it.

        With none left it is "failed" with this error, and its reporter stays on record. Else it
        goes on waiting; where the first is taken out, as a report without a name, and a worker that
        has begun on it must begin anew. Its `reports` stay. None, and nothing is changed, where it
        is not open or not theirs. Raises `EventNotFoundError` for an id that the tenant lacks.
        """

    def attribution(self, event_id: str) -> Attribution | None:
        """Return the attribution that was stored last, also of an event tried again; or None."""

    def retry_events(self, ids: Collection[str] | None = None) -> list[str]:
        """Put events that are done or failed back to "pending"; return which, in this order.

        None means all that failed, the oldest first. One that waits after a failed attempt waits no
        longer. Left alone is what else is open, and what a store in memory has no room for; where
        two ask for one event one of them gets it. Each waits in the lane of its first reporter as
        if it were new, without error and failures; its `attempts` go on. Raises
        `EventNotFoundError`, before any is changed, for an id that the tenant does not have.
        """

    def answer_key(self) -> bytes:
        """Return the key of the answers' hashes, 32 bytes; one for all processes on the store."""

    def add_answer(self, answer: Answer) -> None:
        """Keep an answer, and forget those of two days ago and all but the newest 100,000."""

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        """Return the answers with this digest that were given since then, `KEPT_ALIKE` at most."""

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add to the verdict counters (queries, attacked, dropped, marked, errors, ...)."""

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
