"""The quarantine of the store in memory."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from ragguard.audit.accusing import Load, decided
from ragguard.audit.allowing import Allowance, Effect, as_allowed
from ragguard.audit.quarantine import (
    ALLOWED,
    HELD,
    SPARED,
    Accused,
    Limits,
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    as_utc,
    checked_status,
    matters,
    not_in_quarantine,
    utc_now,
)
from ragguard.audit.quarantine_log import tell
from ragguard.audit.watch import announce
from ragguard.errors import InvalidInputError

__all__ = ["MAX_TENANTS", "MemoryQuarantine"]

MAX_TENANTS = 1_000
"""How many named tenants may have a quarantine or an allow-list in memory."""


@dataclass
class _Holding:
    """What one tenant has.

    Attributes:
        version: Of the last change.
        entries: By key.
        changed: The version of each key's last change, oldest first.
        allowances: By key, source and effect.
    """

    version: int = 0
    entries: dict[str, QuarantineEntry] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    allowances: dict[tuple[str, str, Effect], Allowance] = field(default_factory=dict)

    def of(self, keys: Collection[str], statuses: Collection[QuarantineStatus]) -> frozenset[str]:
        return frozenset(key for key in keys if self.entries[key].status in statuses)

    def note_change(self, key: str, version: int) -> None:
        self.changed.pop(key, None)
        self.changed[key] = self.version = version

    def changes(self, since: int, version: int) -> QuarantineChanges:
        newest_first = reversed(self.changed.items())
        keys = {key for key, _ in takewhile(lambda change: change[1] > since, newest_first)}
        held, spared = self.of(keys, HELD), self.of(keys, SPARED)
        signatures = {key: self.entries[key].signature or b"" for key in held}
        allowed = as_allowed(
            (one for one in self.allowances.values() if one.effect == "allowed"),
            self.of(self.entries, ALLOWED),
        )
        released = frozenset(keys - held)
        return QuarantineChanges(
            version, held, released, since < 0, self.due(), signatures, spared, allowed
        )

    def due(self) -> float | None:
        ends = [entry.until for entry in self.entries.values() if entry.until is not None]
        return min(ends).timestamp() if ends else None


@dataclass
class _Holdings:
    """What all tenants have.

    Attributes:
        version: Grows with every change of what the filter is told.
        by_tenant: The default tenant's is always there.
    """

    version: int = 0
    by_tenant: dict[str, _Holding] = field(default_factory=lambda: {"": _Holding()})

    def to_change(self, tenant: str) -> _Holding:
        """Return what a tenant has, also where it had nothing.

        Raises:
            InvalidInputError: There are too many tenants already.
        """
        if tenant not in self.by_tenant:
            if len(self.by_tenant) > MAX_TENANTS:
                raise InvalidInputError(
                    f"a store in memory holds quarantines of {MAX_TENANTS} tenants at most; use a "
                    "database: Guard(store=URL)"
                )
            self.by_tenant[tenant] = _Holding()
        return self.by_tenant[tenant]


class MemoryQuarantine:
    """The quarantine of a `MemoryStore`, and its allow-list.

    Attributes:
        place: Names this store among all of the process.
        tenant: Whose store it is.
    """

    place: str
    tenant: str

    def __init__(self) -> None:
        super().__init__()
        self.place = f"memory:{uuid.uuid4().hex}"
        self.tenant = ""
        self._lock = threading.RLock()
        self._holdings = _Holdings()

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        with self._lock:
            fresh = []
            for entry in entries:
                if entry.key not in self._mine.entries:
                    created, updated = as_utc(entry.created_at), as_utc(entry.updated_at)
                    until = None if entry.until is None else as_utc(entry.until)
                    new = replace(entry, created_at=created, updated_at=updated, until=until)
                    self._keep(new, changes=True)
                    fresh.append(new)
            self._holdings.version += any(new.status in HELD + SPARED for new in fresh)
        announce(self.place)
        tell(fresh, self.tenant)
        return len(fresh)

    def accuse(self, entries: Sequence[QuarantineEntry], limits: Limits) -> list[Accused]:
        now = utc_now()
        with self._lock:
            load = Load.of(self._mine.entries.values(), entries[:1], now)
            found = []
            for entry in entries:
                one = decided(entry, self._mine.entries.get(entry.key), limits, load, now)
                if one.kept:
                    self._keep(one.entry, changes=one.quarantined)
                found.append(one)
            self._holdings.version += any(one.quarantined for one in found)
        announce(self.place)
        tell((one.entry for one in found if one.quarantined), self.tenant)
        return found

    def lapse(self) -> int:
        now = utc_now()
        count = 0
        with self._lock:
            version = self._holdings.version + 1
            for mine in self._holdings.by_tenant.values():
                until = {e.key: e.until for e in mine.entries.values() if e.until is not None}
                for key in [key for key, end in until.items() if end <= now]:
                    mine.entries[key] = replace(
                        mine.entries[key], status="lapsed", updated_at=now, until=None
                    )
                    mine.note_change(key, version)
                    count += 1
            self._holdings.version += bool(count)
        if count:
            announce(self.place)
        return count

    def set_quarantine_status(
        self, key: str, status: QuarantineStatus, *, actor: str | None = None
    ) -> QuarantineEntry:
        checked_status(status)
        with self._lock:
            entry = self._mine.entries.get(key)
            if entry is None:
                raise not_in_quarantine(key)
            changed = replace(entry, status=status, updated_at=utc_now(), actor=actor, until=None)
            changes = matters(entry.status, status)
            self._keep(changed, changes=changes)
            self._holdings.version += changes
        announce(self.place)
        tell([changed], self.tenant)
        return changed

    def quarantine(self, *, status: QuarantineStatus | None = None) -> list[QuarantineEntry]:
        with self._lock:
            entries = list(self._mine.entries.values())[::-1]
        found = [entry for entry in entries if status in (None, entry.status)]
        found.sort(key=lambda entry: entry.created_at, reverse=True)
        return found

    def quarantine_keys(self) -> frozenset[str]:
        with self._lock:
            return self._mine.of(self._mine.entries, HELD)

    def quarantine_version(self) -> int:
        return self._holdings.version

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        with self._lock:
            version, by_tenant = self._holdings.version, dict(self._holdings.by_tenant)
            own = by_tenant.pop(self.tenant, _Holding()).changes(since, version)
            if self.tenant:
                return own
            ends = [one.due() for one in by_tenant.values()]
            named = {
                tenant: one.changes(since, version)
                for tenant, one in by_tenant.items()
                if one.version > since
            }
        due = min([end for end in (own.due, *ends) if end is not None], default=None)
        return replace(own, due=due, tenants=named)

    def allow(self, allowance: Allowance) -> None:
        with self._lock:
            mine = self._holdings.to_change(self.tenant)
            mine.allowances[allowance.key, allowance.source, allowance.effect] = allowance
            self._holdings.version += 1
            mine.version = self._holdings.version
        announce(self.place)

    def disallow(self, key: str, source: str, *, actor: str | None = None) -> list[Allowance]:
        now = utc_now()
        with self._lock:
            mine = self._mine
            allowances = mine.allowances
            ended = [
                replace(one, ended_at=now, ended_by=actor)
                for one in allowances.values()
                if (one.key, one.source) == (key, source) and one.ended_at is None
            ]
            for one in ended:
                allowances[one.key, one.source, one.effect] = one
            if ended:
                self._holdings.version += 1
                mine.version = self._holdings.version
        announce(self.place)
        return ended

    def allowances(self) -> list[Allowance]:
        with self._lock:
            found = list(self._mine.allowances.values())[::-1]
        found.sort(key=lambda one: one.created_at, reverse=True)
        return found

    @property
    def _mine(self) -> _Holding:
        """What this tenant has; not to be changed where it has nothing yet."""
        return self._holdings.by_tenant.get(self.tenant) or _Holding()

    def _keep(self, entry: QuarantineEntry, *, changes: bool) -> None:
        mine = self._holdings.to_change(self.tenant)
        mine.entries[entry.key] = entry
        if changes:
            mine.note_change(entry.key, self._holdings.version + 1)
