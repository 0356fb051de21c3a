"""The trail of the store in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from ragguard.audit.trail import Change, TrailRow, head_of, next_rows, says, tell_head
from ragguard.audit.trail_keys import Keys

__all__ = ["MemoryTrail"]


class MemoryTrail:
    """The trail of a `MemoryStore`."""

    tenant: str
    _lock: threading.RLock

    def __init__(self) -> None:
        super().__init__()
        self._trail: list[TrailRow] = []

    def trail(self, *, after: int = 0, limit: int = 10_000) -> list[TrailRow]:
        with self._lock:
            return [row for row in self._seen() if row.seq > after][: max(limit, 0)]

    def newest_trail(self, limit: int) -> list[TrailRow]:
        with self._lock:
            return self._seen()[-limit:] if limit > 0 else []

    def note(self, change: Change) -> bool:
        with self._lock:
            same = (row for row in reversed(self._trail) if row.action == change.action)
            last = next(same, None)
            if last is not None and says(last, change):
                return False
            head = self._append([change])
        tell_head(head)
        return True

    def _seen(self) -> list[TrailRow]:
        return [row for row in self._trail if self.tenant in ("", row.tenant)]

    def _append(self, changes: Iterable[Change]) -> str | None:
        """Add rows; called before anything is changed, so that it is not where this fails."""
        keys = Keys.from_environment()
        rows = next_rows(self._trail[-1] if self._trail else None, changes, keys)
        self._trail += rows
        return head_of(rows[-1], keys) if rows else None
