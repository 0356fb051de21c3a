"""The quarantine of the store in memory."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from ragguard.audit.accusation import Load, decided_all
from ragguard.audit.allow_list import Allowance, Effect, as_allowed
from ragguard.audit.memory_records import MemoryRecords
from ragguard.audit.quarantine import (
    HELD,
    SPARED,
    Accused,
    Limits,
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    Reporters,
    as_utc,
    check_status,
    matters,
    not_in_quarantine,
    utc_now,
)
from ragguard.audit.trail import Change, of_allowance, of_entry, of_lapse
from ragguard.audit.watch import announce
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

    def to_change(self, tenant: str) -> _Holding:
        """Return what a tenant has; raises `InvalidInputError` where there are too many."""
        if tenant not in self.by_tenant:
            if len(self.by_tenant) > MAX_TENANTS:
                raise InvalidInputError(
                    f"a store in memory holds quarantines of {MAX_TENANTS} tenants at most; use a "
                    "database: Guard(store=URL)"
                )
            self.by_tenant[tenant] = _Holding()
        return self.by_tenant[tenant]


class MemoryQuarantine(MemoryRecords):
    """The quarantine of a `MemoryStore`, named `place` in this process, and its allow-list."""

    def __init__(self) -> None:
        super().__init__()
        self.place = f"memory:{uuid.uuid4().hex}"
        self._holdings = _Holdings()

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        with self._lock:
            new: dict[str, QuarantineEntry] = {}
            for entry in entries:
                if entry.key not in self._mine.entries:
                    new.setdefault(entry.key, _in_utc(entry))
            fresh = list(new.values())
            kept = [(self.tenant, one, one.status in HELD + SPARED) for one in fresh]
            head = self._keep(kept, [of_entry(one, self.tenant) for one in fresh])
        announce(self.place, self.tenant, head, fresh)
        return len(fresh)

    def accuse(self, entries: Sequence[QuarantineEntry], limits: Limits) -> list[Accused]:
        if not entries:
            return []
        now = utc_now()
        with self._lock:
            mine = self._mine.entries
            load = Load.of(mine.values(), entries[0], now)
            known = {one.key: mine[one.key] for one in entries if one.key in mine}
            found, told = decided_all(entries, known, limits, load, now, self.tenant)
            kept = [(self.tenant, one.entry, one.quarantined) for one in found if one.kept]
            head = self._keep(kept, told)
        announce(self.place, self.tenant, head, (one.entry for one in found if one.quarantined))
        return found

    def lapse(self) -> int:
        now = utc_now()
        with self._lock:
            over = [
                (tenant, replace(entry, status="lapsed", updated_at=now, until=None), True)
                for tenant, one in self._holdings.by_tenant.items()
                for entry in one.entries.values()
                if entry.until is not None and entry.until <= now
            ]
            head = self._keep(over, [of_lapse(entry.key, tenant) for tenant, entry, _ in over])
        if over:
            announce(self.place, self.tenant, head)
        return len(over)

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
        with self._lock:
            entry = self._mine.entries.get(key)
            if entry is None:
                raise not_in_quarantine(key)
            if only is not None and entry.status not in only:
                return entry
            changed = replace(entry, status=status, updated_at=utc_now(), actor=actor, until=None)
            told = [of_entry(changed, self.tenant, said, entry.status)]
            head = self._keep([(self.tenant, changed, matters(entry.status, status))], told)
        announce(self.place, self.tenant, head, [changed])
        return changed

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

    def allow(self, allowance: Allowance, *, said: str | None = None) -> None:
        with self._lock:
            told = [of_allowance(allowance, self.tenant, said)]
            head = self._keep([(self.tenant, allowance, True)], told)
        announce(self.place, self.tenant, head)

    def disallow(
        self, key: str, source: str, *, actor: str | None = None, said: str | None = None
    ) -> list[Allowance]:
        now = utc_now()
        with self._lock:
            ended = [
                replace(one, ended_at=now, ended_by=actor)
                for one in self._mine.allowances.values()
                if (one.key, one.source) == (key, source) and one.ended_at is None
            ]
            told = [of_allowance(one, self.tenant, said, one.effect) for one in ended]
            head = self._keep([(self.tenant, one, True) for one in ended], told)
        announce(self.place, self.tenant, head)
        return ended

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

    def _keep(
        self, kept: Sequence[tuple[str, QuarantineEntry | Allowance, bool]], told: Sequence[Change]
    ) -> str | None:
        """Keep what tenants have, each with whether the filter is told; return the trail's head."""
        holdings, version = self._holdings, self._holdings.version + 1
        for tenant, _, _ in kept[:1]:
            holdings.to_change(tenant)  # which may refuse it: before it is told
        head = self._append(told)
        for tenant, one, is_told in kept:
            holdings.by_tenant[tenant].keep(one, version if is_told else None)
        holdings.version += any(is_told for _, _, is_told in kept)
        return head


def _in_utc(entry: QuarantineEntry) -> QuarantineEntry:
    created, updated = as_utc(entry.created_at), as_utc(entry.updated_at)
    until = None if entry.until is None else as_utc(entry.until)
    lapsed = None if entry.lapsed_at is None else as_utc(entry.lapsed_at)
    return replace(entry, created_at=created, updated_at=updated, until=until, lapsed_at=lapsed)
