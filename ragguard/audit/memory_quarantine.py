"""The quarantine of the store in memory."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace
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

__all__ = ["MemoryQuarantine"]


class MemoryQuarantine:
    """The quarantine of a `MemoryStore`, and its allow-list.

    Attributes:
        place: Names this store among all of the process.
    """

    place: str

    def __init__(self) -> None:
        super().__init__()
        self.place = f"memory:{uuid.uuid4().hex}"
        self._lock = threading.RLock()
        self._quarantine: dict[str, QuarantineEntry] = {}
        self._changed: dict[str, int] = {}  # the version of each key's last change, oldest first
        self._allowances: dict[tuple[str, str, Effect], Allowance] = {}
        self._version = 0  # grows with every change of what the filter is told

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        with self._lock:
            fresh = []
            for entry in entries:
                if entry.key not in self._quarantine:
                    created, updated = as_utc(entry.created_at), as_utc(entry.updated_at)
                    until = None if entry.until is None else as_utc(entry.until)
                    new = replace(entry, created_at=created, updated_at=updated, until=until)
                    self._quarantine[entry.key] = new
                    self._note_change(entry.key)
                    fresh.append(new)
            self._version += any(new.status in HELD + SPARED for new in fresh)
        announce(self.place)
        tell(fresh)
        return len(fresh)

    def accuse(self, entries: Sequence[QuarantineEntry], limits: Limits) -> list[Accused]:
        now = utc_now()
        with self._lock:
            load = Load.of(self._quarantine.values(), entries[:1], now)
            found = []
            for entry in entries:
                one = decided(entry, self._quarantine.get(entry.key), limits, load, now)
                if one.kept:
                    self._quarantine[entry.key] = one.entry
                if one.quarantined:
                    self._note_change(entry.key)
                found.append(one)
            self._version += any(one.quarantined for one in found)
        announce(self.place)
        tell(one.entry for one in found if one.quarantined)
        return found

    def lapse(self) -> int:
        now = utc_now()
        with self._lock:
            over = [e for e in self._quarantine.values() if e.until is not None and e.until <= now]
            for entry in over:
                self._quarantine[entry.key] = replace(
                    entry, status="lapsed", updated_at=now, until=None
                )
                self._note_change(entry.key)
            self._version += bool(over)
        if over:
            announce(self.place)
        return len(over)

    def set_quarantine_status(
        self, key: str, status: QuarantineStatus, *, actor: str | None = None
    ) -> QuarantineEntry:
        checked_status(status)
        with self._lock:
            entry = self._quarantine.get(key)
            if entry is None:
                raise not_in_quarantine(key)
            changed = replace(entry, status=status, updated_at=utc_now(), actor=actor, until=None)
            self._quarantine[key] = changed
            if matters(entry.status, status):
                self._note_change(key)
                self._version += 1
        announce(self.place)
        tell([changed])
        return changed

    def quarantine(self, *, status: QuarantineStatus | None = None) -> list[QuarantineEntry]:
        with self._lock:
            entries = list(self._quarantine.values())[::-1]
        found = [entry for entry in entries if status in (None, entry.status)]
        found.sort(key=lambda entry: entry.created_at, reverse=True)
        return found

    def quarantine_keys(self) -> frozenset[str]:
        with self._lock:
            return self._of(self._quarantine, HELD)

    def quarantine_version(self) -> int:
        return self._version

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        with self._lock:
            newest_first = reversed(self._changed.items())
            keys = {key for key, _ in takewhile(lambda change: change[1] > since, newest_first)}
            held, spared = self._of(keys, HELD), self._of(keys, SPARED)
            ends = [entry.until for entry in self._quarantine.values() if entry.until is not None]
            due = min(ends).timestamp() if ends else None
            signatures = {key: self._quarantine[key].signature or b"" for key in held}
            released = frozenset(keys - held)
            allowed = as_allowed(
                (one for one in self._allowances.values() if one.effect == "allowed"),
                self._of(self._quarantine, ALLOWED),
            )
            return QuarantineChanges(
                self._version, held, released, since < 0, due, signatures, spared, allowed
            )

    def allow(self, allowance: Allowance) -> None:
        with self._lock:
            self._allowances[allowance.key, allowance.source, allowance.effect] = allowance
            self._version += 1
        announce(self.place)

    def disallow(self, key: str, source: str, *, actor: str | None = None) -> list[Allowance]:
        now = utc_now()
        with self._lock:
            ended = [
                replace(one, ended_at=now, ended_by=actor)
                for one in self._allowances.values()
                if (one.key, one.source) == (key, source) and one.ended_at is None
            ]
            for one in ended:
                self._allowances[one.key, one.source, one.effect] = one
            self._version += bool(ended)
        announce(self.place)
        return ended

    def allowances(self) -> list[Allowance]:
        with self._lock:
            found = list(self._allowances.values())[::-1]
        found.sort(key=lambda one: one.created_at, reverse=True)
        return found

    def _of(self, keys: Collection[str], statuses: Collection[QuarantineStatus]) -> frozenset[str]:
        return frozenset(key for key in keys if self._quarantine[key].status in statuses)

    def _note_change(self, key: str) -> None:
        self._changed.pop(key, None)
        self._changed[key] = self._version + 1
