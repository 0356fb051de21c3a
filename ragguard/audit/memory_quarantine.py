"""The quarantine of the store in memory."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from ragguard.audit.accusation import Load
from ragguard.audit.allow_list import Allowance, Effect, as_allowed
from ragguard.audit.holdings import Changing, Holdings
from ragguard.audit.memory_records import MemoryRecords
from ragguard.audit.quarantine import (
    HELD,
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    Reporters,
    as_utc,
)
from ragguard.errors import InvalidInputError

MAX_TENANTS = 1_000
"""How many named tenants may have a quarantine or an allow-list in memory."""


@dataclass
class _Holding:
    """What one tenant has."""

    version: int = 0  # of the last change
    entries: dict[str, QuarantineEntry] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)  # version of each key's, oldest first
    allowances: dict[tuple[str, str, Effect], Allowance] = field(default_factory=dict)

    def keys_of(self, statuses: Collection[QuarantineStatus]) -> frozenset[str]:
        return frozenset(key for key, one in self.entries.items() if one.status in statuses)

    def keep(self, one: QuarantineEntry | Allowance, version: int | None) -> None:
        """Keep it; with the version that it makes, where the filter is told of it."""
        self.version = self.version if version is None else version
        if isinstance(one, Allowance):
            self.allowances[one.key, one.source, one.effect] = one
            return
        self.entries[one.key] = one
        if version is not None:
            self.changed.pop(one.key, None)
            self.changed[one.key] = version

    def changes(self, since: int, version: int, due: float | None) -> QuarantineChanges:
        newer = takewhile(lambda change: change[1] > since, reversed(self.changed.items()))
        entries = [self.entries[key] for key, _ in newer]
        signatures = {one.key: one.signature or b"" for one in entries if one.status in HELD}
        allowed = as_allowed(self.allowances.values(), self.keys_of(["released"]))
        base = QuarantineChanges(version, frozenset(), complete=since < 0, due=due)
        return base.with_entries(entries, signatures, allowed)


@dataclass
class _Holdings:
    """What all tenants have; that of the default tenant is always there."""

    version: int = 0  # grows with every change of what the filter is told
    by_tenant: dict[str, _Holding] = field(default_factory=lambda: {"": _Holding()})


class _Changing(Changing):
    def __init__(self, store: MemoryQuarantine) -> None:
        super().__init__(store.tenant)
        self._all, self._mine, self._append = store._holdings, store._mine, store._append

    def entries(self, keys: Collection[str]) -> dict[str, QuarantineEntry]:
        return {key: self._mine.entries[key] for key in keys if key in self._mine.entries}

    def load(self, new: QuarantineEntry, now: datetime) -> Load:
        return Load.of(self._mine.entries.values(), new, now)

    def over(self, now: datetime) -> list[tuple[str, QuarantineEntry]]:
        return [
            (tenant, entry)
            for tenant, one in self._all.by_tenant.items()
            for entry in one.entries.values()
            if entry.until is not None and entry.until <= now
        ]

    def allowances(self) -> list[Allowance]:
        return list(self._mine.allowances.values())

    def keep(self) -> str | None:
        by_tenant, version = self._all.by_tenant, self._all.version + 1
        kept = [(told.tenant, _in_utc(one), is_told) for told, one, is_told in self.kept]
        if len(by_tenant) > MAX_TENANTS and any(tenant not in by_tenant for tenant, _, _ in kept):
            raise InvalidInputError(
                f"a store in memory holds quarantines of {MAX_TENANTS} tenants at most; use a "
                "database: Guard(store=URL)"
            )
        head = self._append([told for told, _, _ in self.kept])  # which may fail: before a change
        for tenant, one, is_told in kept:
            mine = by_tenant.setdefault(tenant, _Holding())
            mine.keep(one, version if is_told else None)
        self._all.version += any(is_told for _, _, is_told in kept)
        return head


class MemoryQuarantine(MemoryRecords, Holdings):
    """The quarantine of a `MemoryStore`, and its allow-list."""

    def __init__(self) -> None:
        super().__init__()
        self.place = f"memory:{uuid.uuid4().hex}"
        self._holdings = _Holdings()

    @contextmanager
    def _begin(self) -> Iterator[Changing]:
        with self._lock:
            yield _Changing(self)

    def quarantine(
        self,
        *,
        status: QuarantineStatus | None = None,
        keys: Collection[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[QuarantineEntry]:
        with self._lock:
            entries = list(self._mine.entries.values())
        if keys is not None:
            entries = [entry for entry in entries if entry.key in keys]
        some = [entry for entry in entries if status in (None, entry.status)]
        found = sorted(some, key=lambda entry: entry.created_at)[::-1]
        first = max(offset, 0)
        return found[first:] if limit is None else found[first : first + max(limit, 0)]

    def quarantine_counts(self) -> Counter[QuarantineStatus]:
        with self._lock:
            return Counter(entry.status for entry in self._mine.entries.values())

    def quarantine_tally(self) -> Counter[tuple[QuarantineStatus, Reporters]]:
        with self._lock:
            return Counter((one.status, one.reporters) for one in self._mine.entries.values())

    def quarantine_keys(self) -> frozenset[str]:
        with self._lock:
            return self._mine.keys_of(HELD)

    def quarantine_version(self) -> int:
        return self._holdings.version

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        with self._lock:
            version, by_tenant = self._holdings.version, self._holdings.by_tenant
            entries = [entry for one in by_tenant.values() for entry in one.entries.values()]
            ends = [entry.until for entry in entries if entry.until is not None]
            due = min(ends).timestamp() if ends else None
            own = self._mine.changes(since, version, due)
            if self.tenant:
                return own
            named = {
                tenant: one.changes(since, version, due)
                for tenant, one in by_tenant.items()
                if tenant and one.version > since
            }
        return replace(own, tenants=named)

    def allowances(self) -> list[Allowance]:
        with self._lock:
            found = list(self._mine.allowances.values())
        return sorted(found, key=lambda one: one.created_at)[::-1]

    def standing(self) -> list[tuple[str, QuarantineEntry | Allowance]]:
        with self._lock:
            found: list[tuple[str, QuarantineEntry | Allowance]] = []
            for tenant, mine in self._holdings.by_tenant.items():
                found += [(tenant, one) for one in mine.entries.values()]
                found += [(tenant, one) for one in mine.allowances.values()]
            return found

    @property
    def _mine(self) -> _Holding:
        """What this tenant has; not to be changed where it has nothing yet."""
        return self._holdings.by_tenant.get(self.tenant) or _Holding()


def _in_utc(one: QuarantineEntry | Allowance) -> QuarantineEntry | Allowance:
    moments: dict[str, Any] = {
        name: as_utc(at) for name, at in vars(one).items() if isinstance(at, datetime)
    }
    return replace(one, **moments)
