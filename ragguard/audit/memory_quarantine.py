"""The quarantine of the store in memory. Not safe to share between threads by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import takewhile

from ragguard.audit.records import QuarantineChanges, QuarantineEntry, QuarantineStatus, as_utc
from ragguard.errors import QuarantineNotFoundError

__all__ = ["MemoryQuarantine"]


class MemoryQuarantine:
    """Entries by key, and the versions in which the held keys changed.

    Attributes:
        version: Grows with every change of the keys that are held.
    """

    version: int

    def __init__(self) -> None:
        self._entries: dict[str, QuarantineEntry] = {}
        self._changed: dict[str, int] = {}  # the version of each key's last change, oldest first
        self.version = 0

    def add(self, entries: Sequence[QuarantineEntry]) -> int:
        """See `AuditStore.add_quarantine`."""
        added = 0
        grown = False
        for entry in entries:
            if entry.key not in self._entries:
                self._entries[entry.key] = replace(
                    entry,
                    created_at=as_utc(entry.created_at),
                    updated_at=as_utc(entry.updated_at),
                )
                added += 1
                grown = grown or entry.status != "released"
                self._note_change(entry.key)
        self.version += grown
        return added

    def set_status(self, key: str, status: QuarantineStatus, actor: str | None) -> QuarantineEntry:
        """See `AuditStore.set_quarantine_status`."""
        entry = self._entries.get(key)
        if entry is None:
            raise QuarantineNotFoundError(
                f"no passage with key {key!r} is in quarantine; list the keys with quarantine()"
            )
        changed = replace(entry, status=status, updated_at=datetime.now(UTC), actor=actor)
        self._entries[key] = changed
        if (entry.status == "released") != (status == "released"):
            self._note_change(key)
            self.version += 1
        return changed

    def entries(self, status: QuarantineStatus | None) -> list[QuarantineEntry]:
        """See `AuditStore.quarantine`."""
        found = [one for one in reversed(self._entries.values()) if status in (None, one.status)]
        found.sort(key=lambda entry: entry.created_at, reverse=True)
        return found

    def keys(self) -> frozenset[str]:
        """See `AuditStore.quarantine_keys`."""
        return frozenset(key for key, one in self._entries.items() if one.status != "released")

    def changes(self, since: int) -> QuarantineChanges:
        """See `AuditStore.quarantine_changes`."""
        newest_first = reversed(self._changed.items())
        keys = {key for key, _ in takewhile(lambda change: change[1] > since, newest_first)}
        held = frozenset(key for key in keys if self._entries[key].status != "released")
        return QuarantineChanges(self.version, held, frozenset(keys - held), since < 0)

    def _note_change(self, key: str) -> None:
        self._changed.pop(key, None)
        self._changed[key] = self.version + 1
