"""What the store in memory only ever adds to: verdicts, answers, counters, scores and the trail."""

from __future__ import annotations

import secrets
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from ragguard.audit.quarantine import as_utc, utc_now
from ragguard.audit.records import ANSWER_DAY, KEPT_ALIKE, Answer, ScoredQuery, TenantViews
from ragguard.audit.trail import Change, Keys, TrailRow, head_of, next_rows, says, tell_head
from ragguard.audit.verdict_counter import retained
from ragguard.audit.verdicts import VerdictRecord, no_verdict

_MAX_CHARS = 16_000_000  # of all texts and reasons of verdicts; 64 MB at most
_MAX_ANSWERS = 20_000  # of all tenants together; some 30 MB with ten passages each


class MemoryRecords(TenantViews):
    """Verdicts, answers, counters, scores and trail of a `MemoryStore`.

    Of the first two it keeps what there is room for.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # of all that the store has
        self._verdicts: dict[str, dict[str, VerdictRecord]] = {}  # by tenant and id
        self._chars: Counter[str] = Counter()  # of a tenant's verdicts
        self._answer_key = secrets.token_bytes(32)
        self._answers: dict[str, deque[Answer]] = {}  # by tenant, of each the oldest first
        self._counts: Counter[str] = Counter()
        self._scores: list[ScoredQuery] = []
        self._trail: list[TrailRow] = []

    def add_verdicts(self, records: Sequence[VerdictRecord], *, keep: int, days: float) -> None:
        if not records:
            return
        oldest = utc_now() - timedelta(days=days)
        new = [replace(one, recorded_at=as_utc(one.recorded_at)) for one in records]
        with self._lock:
            for one in new:
                mine = self._verdicts.setdefault(one.tenant, {})
                if mine.setdefault(one.id, one) is one:
                    self._chars[one.tenant] += _chars(one)
            for mine in [*self._verdicts.values()]:
                self._forget([one for one in mine.values() if one.recorded_at < oldest])
                self._forget([*islice(mine.values(), max(0, len(mine) - keep))])
            while self._chars.total() > _MAX_CHARS:
                # Whichever tenant has most pays for lack of room.
                fullest = self._verdicts[max(self._chars, key=self._chars.__getitem__)]
                self._forget([next(iter(fullest.values()))])

    def verdicts(
        self, *, limit: int = 100, before: datetime | None = None, passage_id: str | None = None
    ) -> list[VerdictRecord]:
        with self._lock:
            mine = [*self._verdicts.get(self.tenant, {}).values()]
        found = [
            one
            for one in sorted(mine, key=lambda one: one.recorded_at)[::-1]
            if (before is None or one.recorded_at < as_utc(before))
            and (passage_id is None or passage_id in [each.passage_id for each in one.passages])
        ]
        return found[: max(limit, 0)]

    def verdict(self, verdict_id: str) -> VerdictRecord:
        with self._lock:
            found = self._verdicts.get(self.tenant, {}).get(verdict_id)
        if found is None:
            raise no_verdict(verdict_id)
        return found

    def answer_key(self) -> bytes:
        return self._answer_key

    def add_answer(self, answer: Answer) -> None:
        oldest = utc_now() - 2 * ANSWER_DAY
        with self._lock:
            mine = self._answers.setdefault(self.tenant, deque())
            while mine and mine[0].given_at < oldest:
                mine.popleft()
            mine.append(answer)
            if sum(map(len, self._answers.values())) > _MAX_ANSWERS:
                # Whoever has most answers given loses one of their own.
                fullest = max(self._answers, key=lambda tenant: len(self._answers[tenant]))
                self._answers[fullest].popleft()
                if not self._answers[fullest]:
                    del self._answers[fullest]

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        with self._lock:
            mine = self._answers.get(self.tenant, ())
            found = [
                one for one in reversed(mine) if one.digest == digest and one.given_at >= since
            ]
        return found[:KEPT_ALIKE]

    def add_counts(self, counts: Mapping[str, int]) -> None:
        with self._lock:
            self._counts.update({name: int(count) for name, count in counts.items()})

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def add_scores(self, scored: Sequence[ScoredQuery], *, sample: int, recent: int) -> None:
        scorers = {record.scorer for record in scored}
        with self._lock:
            everything = [*self._scores, *scored]
            self._scores[:] = retained(everything, sample=sample, recent=recent, scorers=scorers)

    def scores(self) -> list[ScoredQuery]:
        with self._lock:
            return list(self._scores)

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

    def _forget(self, verdicts: Iterable[VerdictRecord]) -> None:
        for one in verdicts:
            del self._verdicts[one.tenant][one.id]
            self._chars[one.tenant] -= _chars(one)
            if not self._verdicts[one.tenant]:
                del self._verdicts[one.tenant], self._chars[one.tenant]

    def _seen(self) -> list[TrailRow]:
        return [row for row in self._trail if self.tenant in ("", row.tenant)]

    def _append(self, changes: Iterable[Change]) -> str | None:
        """Add rows; called before anything is changed, so that it is not where this fails."""
        keys = Keys.from_environment()
        rows = next_rows(self._trail[-1] if self._trail else None, changes, keys)
        self._trail += rows
        return head_of(rows[-1], keys) if rows else None


def _chars(record: VerdictRecord) -> int:
    texts = [record.query, record.error, *[one.text for one in record.passages]]
    texts += [one.reason + one.passage_id for one in record.passages]
    return 500 + sum([300 + len(text) for text in texts if text])
