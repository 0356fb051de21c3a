"""How quarantine and allow-list change, in every store: each change whole, and told by the trail.

Reports are claims, and whoever may report can aim them. So what nobody has looked at is limited:
how many reporters it takes, how much may rest on one reporter's word, how much may come into force
within an hour, and for how long. Past a limit there are proposals only. What a person has decided
stays so, and what has lapsed once comes into force again by a person alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ragguard.audit.allow_list import Allowance
from ragguard.audit.fair_queueing import MAX_REPORTERS
from ragguard.audit.quarantine import (
    HELD,
    SPARED,
    Accused,
    Limits,
    QuarantineEntry,
    QuarantineStatus,
    check_status,
    not_in_quarantine,
    utc_now,
)
from ragguard.audit.records import TenantViews
from ragguard.audit.trail import Change, of_allowance, of_entry
from ragguard.audit.watch import Kept, announce

HOUR = timedelta(hours=1)


@dataclass
class Load:
    """How much rests on reports alone."""

    of_reporter: int  # other events of the same reporter of which something is in force
    within_hour: int  # entries that came into force within the last hour, by whomever
    proposed: int = 0  # proposals of the same reporter that wait for a person

    @classmethod
    def of(cls, entries: Iterable[QuarantineEntry], new: QuarantineEntry, now: datetime) -> Load:
        """Count it for those who report `new`."""
        reporters = set(new.reporters)
        reported = [entry for entry in entries if entry.event_id is not None]
        unseen = [entry for entry in reported if entry.status == "quarantined"]
        theirs = [entry for entry in reported if not reporters.isdisjoint(entry.reporters)]
        return cls(
            len({e.event_id for e in theirs if e.status == "quarantined"} - {new.event_id}),
            sum(entry.updated_at > now - HOUR for entry in unseen),
            sum(entry.status == "proposed" for entry in theirs),
        )


def decided(
    new: QuarantineEntry, known: QuarantineEntry | None, limits: Limits, load: Load, now: datetime
) -> Accused:
    """Return what becomes of an accusation, and count it in `load`; of its key there is `known`."""
    if known is not None and known.status not in ("proposed", "lapsed"):
        return Accused(known)
    proposal = replace(new, status="proposed")
    if known is not None and known.status == "lapsed":
        proposal = replace(proposal, lapsed_at=known.updated_at)
    elif known is not None:
        reporters = tuple(dict.fromkeys((*known.reporters, *new.reporters)))[:MAX_REPORTERS]
        proposal = replace(known, reporters=reporters)
    limit = None
    if new.status == "quarantined":
        limit = _limit(limits, load)
        why = limit or _lacking(proposal, limits)
        if why is None:
            load.within_hour += 1
            until = None if limits.days is None else now + timedelta(days=limits.days)
            since, reporters = proposal.created_at, proposal.reporters
            held = replace(new, reporters=reporters, created_at=since, updated_at=now, until=until)
            return Accused(held, quarantined=True)
        proposal = replace(proposal, reason=f"{new.reason}; proposed only: {why}")
    if known is None or known.status != "proposed":
        if load.proposed >= limits.proposals:
            told = f"{load.proposed} proposals of its reporter wait for a person"
            return Accused(proposal if known is None else known, limited=told, kept=False)
        load.proposed += 1
    return Accused(proposal, limited=limit)


def _limit(limits: Limits, load: Load) -> str | None:
    if load.within_hour >= limits.per_hour:
        return f"{load.within_hour} came into force within the last hour"
    if load.of_reporter >= limits.per_reporter:
        return f"{load.of_reporter} events of its reporter are in force, and nobody confirmed them"
    return None


def _lacking(proposal: QuarantineEntry, limits: Limits) -> str | None:
    if proposal.lapsed_at is not None:
        return "it was in quarantine before, until that lapsed or was undone"
    weights = limits.weights
    count = sum(1 if one is None else weights.get(one, 1) for one in proposal.reporters)
    if count < limits.quorum:
        return f"{count} of the {limits.quorum} reporters that it takes have accused it"
    return None


class Changing(ABC):
    """A change that a tenant makes, while nobody else makes one; `kept` is what it comes to.

    A store says with one what it holds, and how it keeps what is new.
    """

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.kept: list[Kept] = []

    def put(
        self, entry: QuarantineEntry, before: QuarantineEntry | None, why: str | None = None
    ) -> None:
        """Have an entry kept, in place of that `before`; `why` is for the trail."""
        was, told = None if before is None else before.status, HELD + SPARED
        is_news = was != entry.status and (was in told or entry.status in told)
        self.kept.append((of_entry(entry, self.tenant, why, was), entry, is_news))

    @abstractmethod
    def entries(self, keys: Collection[str]) -> dict[str, QuarantineEntry]:
        """Return the tenant's entries that have one of these keys, by key."""

    @abstractmethod
    def load(self, new: QuarantineEntry, now: datetime) -> Load:
        """Return how much rests on the reports of those who report `new`."""

    @abstractmethod
    def over(self, now: datetime) -> list[tuple[str, QuarantineEntry]]:
        """Return all tenants' entries whose time is over, each with its tenant."""

    @abstractmethod
    def allowances(self) -> list[Allowance]:
        """Return the tenant's allow-list, ended ones as well."""

    @abstractmethod
    def keep(self) -> str | None:
        """Put what is `kept` in place of what there is, tell the trail, and return its new head."""


class Holdings(TenantViews, ABC):
    """The quarantine of a store, which is named `place` in this process, and its allow-list."""

    place: str

    @abstractmethod
    def _begin(self) -> AbstractContextManager[Changing]: ...

    @contextmanager
    def _changing(self) -> Iterator[Changing]:
        with self._begin() as change:
            yield change
            head = change.keep()
        if change.kept:
            announce(self.place, head, change.kept)

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        with self._changing() as change:
            known = change.entries({one.key for one in entries})
            for one in entries:
                if known.setdefault(one.key, one) is one:
                    change.put(one, None)
        return len(change.kept)

    def accuse(self, entries: Sequence[QuarantineEntry], limits: Limits) -> list[Accused]:
        if not entries:
            return []
        found = []
        with self._changing() as change:
            now = utc_now()
            known = change.entries({one.key for one in entries})
            load = change.load(entries[0], now)
            for accusation in entries:
                before = known.get(accusation.key)
                one = decided(accusation, before, limits, load, now)
                found.append(one)
                if one.kept and one.entry != before:
                    known[accusation.key] = one.entry
                    change.put(one.entry, before)
        return found

    def lapse(self) -> int:
        now = utc_now()
        with self._changing() as change:
            for tenant, entry in change.over(now):
                one = replace(entry, status="lapsed", updated_at=now, until=None)
                told = Change("quarantine.lapsed", entry.key, tenant=tenant)
                change.kept.append((told, one, True))
        return len(change.kept)

    def set_quarantine_status(
        self,
        key: str,
        status: QuarantineStatus,
        *,
        actor: str | None = None,
        why: str | None = None,
        only: Collection[QuarantineStatus] | None = None,
    ) -> QuarantineEntry:
        check_status(status)
        with self._changing() as change:
            entry = change.entries([key]).get(key)
            if entry is None:
                raise not_in_quarantine(key)
            if only is not None and entry.status not in only:
                return entry
            one = replace(entry, status=status, updated_at=utc_now(), actor=actor, until=None)
            change.put(one, entry, why)
        return one

    def allow(self, allowance: Allowance, *, why: str | None = None) -> None:
        with self._changing() as change:
            change.kept.append((of_allowance(allowance, self.tenant, why), allowance, True))

    def disallow(
        self, key: str, source: str, *, actor: str | None = None, why: str | None = None
    ) -> list[Allowance]:
        with self._changing() as change:
            ended = [
                replace(one, ended_at=utc_now(), ended_by=actor)
                for one in change.allowances()
                if (one.key, one.source) == (key, source) and one.ended_at is None
            ]
            for one in ended:
                told = of_allowance(one, self.tenant, why, one.effect)
                change.kept.append((told, one, True))
        return ended
