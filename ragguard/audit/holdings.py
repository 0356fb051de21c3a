"""How quarantine and allow-list change, in every store: each change whole, and told by the trail.

A store says what it holds and how it keeps what is new, as a `Changing`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime

from ragguard.audit.accusation import Load, decided
from ragguard.audit.allow_list import Allowance
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


class Changing(ABC):
    """A change that a tenant makes, while nobody else makes one; `kept` is what it comes to."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.kept: list[Kept] = []

    def put(
        self, entry: QuarantineEntry, before: QuarantineEntry | None, said: str | None = None
    ) -> None:
        """Have an entry kept, in place of that `before`; `said` is why, for the trail."""
        was, told = None if before is None else before.status, HELD + SPARED
        is_news = was != entry.status and (was in told or entry.status in told)
        self.kept.append((of_entry(entry, self.tenant, said, was), entry, is_news))

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
        said: str | None = None,
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
            change.put(one, entry, said)
        return one

    def allow(self, allowance: Allowance, *, said: str | None = None) -> None:
        with self._changing() as change:
            change.kept.append((of_allowance(allowance, self.tenant, said), allowance, True))

    def disallow(
        self, key: str, source: str, *, actor: str | None = None, said: str | None = None
    ) -> list[Allowance]:
        with self._changing() as change:
            ended = [
                replace(one, ended_at=utc_now(), ended_by=actor)
                for one in change.allowances()
                if (one.key, one.source) == (key, source) and one.ended_at is None
            ]
            for one in ended:
                told = of_allowance(one, self.tenant, said, one.effect)
                change.kept.append((told, one, True))
        return ended
