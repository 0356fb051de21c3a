"""What is in quarantine, and what every store does with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, get_args

from ragguard.errors import InvalidInputError, QuarantineNotFoundError
from ragguard.inline.fingerprints import is_current, signature
from ragguard.inline.quarantined import Allowed, Quarantined

QuarantineStatus = Literal["proposed", "quarantined", "confirmed", "released", "rejected", "lapsed"]
Reporters = tuple[str | None, ...]
HELD: tuple[QuarantineStatus, ...] = ("quarantined", "confirmed")
"""The statuses of entries that the filter drops."""

SPARED: tuple[QuarantineStatus, ...] = ("released", "rejected")
"""The statuses of entries of which a person has said that they are no attack."""

UNDOABLE: tuple[QuarantineStatus, ...] = ("proposed", "quarantined")
"""The statuses of entries that no person has decided about."""


def utc_now() -> datetime:
    """Return the moment that it is."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Return the same moment in UTC, in which one without a timezone is taken to be already.

    Raises `InvalidInputError` for what is no datetime, or outside of the calendar in UTC.
    """
    # pandas' "not a time" is a datetime, and equal to none.
    if not isinstance(moment, datetime) or moment != moment:
        raise InvalidInputError(f"pass a datetime, not {type(moment).__name__}")
    try:
        found = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        # Of a plain type: some libraries' moments behave in other ways.
        return datetime.combine(found.date(), found.time(), UTC)
    except OverflowError as error:
        raise InvalidInputError(
            f"{moment.isoformat()} is outside of the calendar in UTC; pass another moment"
        ) from error


def check_status(status: QuarantineStatus) -> None:
    """Raise `InvalidInputError` when this is none of an entry's."""
    if status not in (known := get_args(QuarantineStatus)):
        raise InvalidInputError(
            f"a quarantine's status cannot be {status!r}; pass one of {', '.join(known)}"
        )


def not_in_quarantine(key: str) -> QuarantineNotFoundError:
    """Return the error for a key that no entry has."""
    return QuarantineNotFoundError(
        f"no passage with key {key!r} is in quarantine; `ragguard quarantine list` shows the keys"
    )


@dataclass(frozen=True)
class QuarantineEntry:
    """A passage that an attribution or a person accuses, and what became of that.

    Attributes:
        key: `ragguard.content.content_key` of the text; what the filter compares.
        passage_id: The passage's id in its knowledge base.
        text: The text itself, so that a release can restore it.
        event_id: The event whose attribution found it, or None if a person put it there.
        status: "proposed" (for a person to look at), "quarantined" (found, and dropped); by a
            person "confirmed" (and dropped), "released" (and allowed) or "rejected" (a proposal);
            "lapsed" (nobody confirmed it in time, or it was undone).
        created_at, updated_at: When it was accused, and when its status last changed, UTC.
        actor: Who changed the status last, or None for the worker.
        reporters: Who reported the events that accuse it, `fair_queueing.MAX_REPORTERS` at most;
            None stands for reports without a name.
        until: When it lapses unless a person confirms it, UTC; None: not by itself.
        signature: `ragguard.inline.fingerprints.signature` of the text, by which it is recognised
            when it comes back edited; None makes one.
        lapsed_at: When it had lapsed or was undone, if it was accused anew after that, UTC: only a
            person puts it into force then, however many report it.
    """

    key: str
    passage_id: str
    text: str
    reason: str
    event_id: str | None = None
    status: QuarantineStatus = "quarantined"
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)
    actor: str | None = None
    reporters: Reporters = ()
    until: datetime | None = None
    signature: bytes | None = field(default=None, compare=False, repr=False)
    lapsed_at: datetime | None = None

    def __post_init__(self) -> None:
        if not is_current(self.signature):
            object.__setattr__(self, "signature", signature(self.text))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much may be quarantined before a person has looked.

    Attributes:
        quorum: How many different reporters must accuse a passage.
        per_reporter: Of how many events of one reporter entries may be in force unconfirmed.
        per_hour: How many entries may come into force within an hour, of all reporters.
        days: After how many days an entry lapses that nobody has confirmed; None: never.
        proposals: How many proposals of one reporter may wait for a person; further ones are lost.
        weights: How many reporters a reporter counts for in the quorum, by name; 1 if not named,
            and 0 for one whose word does not count.
    """

    quorum: int = 1
    per_reporter: int = 4
    per_hour: int = 30
    days: float | None = 30.0
    proposals: int = 500
    weights: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Accused:
    """What became of one accusation.

    Attributes:
        entry: As the store has it now, if it does.
        quarantined: Whether it came into force by this.
        limited: Which limit kept it from coming into force, or from being proposed, in words;
            what only waits for further reporters is not limited.
        kept: Whether the store has it.
    """

    entry: QuarantineEntry
    quarantined: bool = False
    limited: str | None = None
    kept: bool = True


@dataclass(frozen=True)
class QuarantineChanges:
    """How the keys that the filter must drop came to differ from those of an earlier version.

    Attributes:
        version: What `AuditStore.quarantine_version` returns for the keys as they are now.
        held: Keys to add to those of the earlier version, or all that there are.
        released: Keys to take out of them; empty if `complete`.
        complete: Whether `held` is all that there are.
        due: When the next entry lapses, in seconds since 1970; None: none will.
        signatures: The signature of each in `held`; without one a text is recognised by its exact
            content alone.
        allowed: What the filter lets through now; None: what it did before.
        spared: Keys that are not held, and of which a person has said so: such a text is not taken
            for a copy of another one. Those to add, or all that there are.
        tenants: The same of each named tenant whose keys, or what is allowed, differ; if
            `complete`, of each that has any. All have one version.
        unconfirmed: Those in `held` that an event accuses, and no person has confirmed.
    """

    version: int
    held: frozenset[str]
    released: frozenset[str] = frozenset()
    complete: bool = False
    due: float | None = None
    signatures: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    spared: frozenset[str] = frozenset()
    allowed: Allowed | None = None
    tenants: Mapping[str, QuarantineChanges] = field(default_factory=dict)
    unconfirmed: frozenset[str] = frozenset()

    def applied_to(self, before: Quarantined) -> Quarantined:
        """Return what is held now, from what was at the earlier version."""

        def others(keys: frozenset[str]) -> frozenset[str]:
            return frozenset() if self.complete else keys - self.held - self.released

        return before.changed(
            others(before.keys) | self.held,
            self.signatures,
            others(before.spared) | self.spared,
            self.allowed,
            others(before.unconfirmed) | self.unconfirmed,
        )

    def with_entries(
        self, entries: Sequence[Any], signatures: Mapping[str, bytes], allowed: Allowed | None
    ) -> QuarantineChanges:
        """Return what a tenant's entries, or rows of them, tell; `signatures` are of held ones."""
        held, by_event = frozenset(signatures), [e for e in entries if e.event_id is not None]
        return replace(
            self,
            held=held,
            released=frozenset(() if self.complete else (e.key for e in entries)) - held,
            signatures=signatures,
            spared=frozenset(e.key for e in entries if e.status in SPARED),
            allowed=allowed,
            unconfirmed=frozenset(e.key for e in by_event if e.status == "quarantined"),
        )


class QuarantineStore(Protocol):
    """The part of an `AuditStore` that keeps the quarantine; raises its errors."""

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        """Store new entries and return how many were new.

        A key that is there already is left as it is: what a person released stays released until a
        person quarantines it again. Of two entries with one key the first counts.
        """

    def accuse(self, entries: Sequence[QuarantineEntry], limits: Limits) -> list[Accused]:
        """Propose or quarantine what one attribution accuses, as far as the limits allow.

        `ragguard.audit.holdings` says what becomes of each. Of two processes that accuse at once
        the second one sees what the first has done.
        """

    def lapse(self) -> int:
        """Let entries lapse whose time is over, and return how many did."""

    def set_quarantine_status(
        self,
        key: str,
        status: QuarantineStatus,
        *,
        actor: str | None = None,
        why: str | None = None,
        only: Collection[QuarantineStatus] | None = None,
    ) -> QuarantineEntry:
        """Change an entry's status for good, and return it, or raise `QuarantineNotFoundError`.

        `why` is for the trail. With `only`, an entry whose status is none of these at that
        moment stays as it is, since somebody else has decided about it.
        """

    def quarantine(
        self,
        *,
        status: QuarantineStatus | None = None,
        keys: Collection[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[QuarantineEntry]:
        """Return the entries, newest first; those of a status, or of some keys, if given.

        With `limit` so many at most; the first `offset` are left out.
        """

    def quarantine_counts(self) -> Mapping[QuarantineStatus, int]:
        """Return how many entries there are of each status; one that none has may be left out."""

    def quarantine_tally(self) -> Mapping[tuple[QuarantineStatus, Reporters], int]:
        """Return how many entries there are of each status and the same reporters."""

    def quarantine_keys(self) -> frozenset[str]:
        """Return the keys that the filter must drop: those whose status is one of `HELD`."""

    def quarantine_version(self) -> int:
        """Return a number that grows with what `quarantine_changes` tells, in any process."""

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        """Return what has changed for the filter since the quarantine had version `since`.

        Since version -1, before there was anything, all of them are new. A store may answer so
        whenever it cannot tell the changes apart.
        """
