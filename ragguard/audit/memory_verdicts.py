"""The verdicts of the store in memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ragguard.audit.quarantine import as_utc, utc_now
from ragguard.audit.verdicts import VerdictRecord, no_verdict

__all__ = ["MemoryVerdicts"]

_MAX_CHARS = 16_000_000  # of all texts and reasons; 64 MB at most


class MemoryVerdicts:
    """The verdicts of a `MemoryStore`, as many as there is room for."""

    _lock: threading.RLock
    tenant: str

    def __init__(self) -> None:
        super().__init__()
        self._verdicts: dict[str, VerdictRecord] = {}  # oldest first
        self._chars_of: Counter[str] = Counter()  # by tenant
        self._verdicts_of: Counter[str] = Counter()

    def add_verdicts(self, records: Sequence[VerdictRecord], *, keep: int, days: float) -> None:
        if not records:
            return
        oldest = utc_now() - timedelta(days=days)
        with self._lock:
            for record in records:
                if record.id not in self._verdicts:
                    kept = replace(record, recorded_at=as_utc(record.recorded_at))
                    self._verdicts[record.id] = kept
                    self._count(kept, 1)
            over = [one.id for one in self._verdicts.values() if one.recorded_at < oldest]
            for verdict_id in over:
                self._forget(verdict_id)
            for tenant in {record.tenant for record in records}:
                while self._verdicts_of[tenant] > keep:
                    self._forget_oldest(tenant)
            while self._chars_of.total() > _MAX_CHARS:
                self._forget_oldest(max(self._chars_of, key=self._chars_of.__getitem__))

    def verdicts(
        self, *, limit: int = 100, before: datetime | None = None, passage_id: str | None = None
    ) -> list[VerdictRecord]:
        with self._lock:
            newest = list(self._verdicts.values())[::-1]
        newest.sort(key=lambda one: one.recorded_at, reverse=True)
        found = [
            one
            for one in newest
            if one.tenant == self.tenant
            and (before is None or one.recorded_at < as_utc(before))
            and (passage_id is None or passage_id in [each.passage_id for each in one.passages])
        ]
        return found[: max(limit, 0)]

    def verdict(self, verdict_id: str) -> VerdictRecord:
        with self._lock:
            found = self._verdicts.get(verdict_id)
        if found is None or found.tenant != self.tenant:
            raise no_verdict(verdict_id)
        return found

    def _forget_oldest(self, tenant: str) -> None:
        self._forget(next(one.id for one in self._verdicts.values() if one.tenant == tenant))

    def _forget(self, verdict_id: str) -> None:
        self._count(self._verdicts.pop(verdict_id), -1)

    def _count(self, record: VerdictRecord, sign: int) -> None:
        self._verdicts_of[record.tenant] += sign
        self._chars_of[record.tenant] += sign * _chars(record)
        if not self._verdicts_of[record.tenant]:
            del self._verdicts_of[record.tenant], self._chars_of[record.tenant]


def _chars(record: VerdictRecord) -> int:
    texts = [record.query, record.error, *[one.text for one in record.passages]]
    texts += [one.reason + one.passage_id for one in record.passages]
    return 500 + sum([300 + len(text) for text in texts if text])
