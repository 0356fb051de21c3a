"""What the store in memory holds beside events: quarantine and allow-list, verdicts, the trail."""

from __future__ import annotations

import secrets
import threading
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice, takewhile
from operator import attrgetter
from typing import Any

from ragguard.audit.allow_list import Allowance, Effect, as_allowed
from ragguard.audit.holdings import Changing, Holdings, Load
from ragguard.audit.quarantine import (
    HELD,
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    Reporters,
    as_utc,
    utc_now,
)
from ragguard.audit.records import ANSWER_DAY, KEPT_ALIKE, Answer
from ragguard.audit.trail import Change, Keys, TrailRow, head_of, next_rows, says, tell_head
from ragguard.audit.verdicts import VerdictRecord, no_verdict
from ragguard.errors import InvalidInputError
from ragguard.lru import FairLRU, fair_share

MAX_TENANTS = 1_000
"""How many named tenants may have a quarantine or an allow-list in memory."""

_MAX_CHARS = 16_000_000  # of all texts and reasons of verdicts; 64 MB at most
_MAX_ANSWERS = 20_000  # of all tenants together; some 30 MB with ten passages each


@dataclass
class _Holding:
    """What one tenant has in quarantine and on the allow-list."""

    version: int = 0  # of the last change that the filter is told
    entries: dict[str, QuarantineEntry] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)  # version of each key's, oldest first
    allowances: dict[tuple[str, str, Effect], Allowance] = field(default_factory=dict)

    def keys_of(self, statuses: Collection[QuarantineStatus]) -> frozenset[str]:
        return frozenset(key for key, one in self.entries.items() if one.status in statuses)

    def changes(self, since: int, version: int, due: float | None) -> QuarantineChanges:
        newer = takewhile(lambda change: change[1] > since, reversed(self.changed.items()))
        entries = [self.entries[key] for key, _ in newer]
        signatures = {one.key: one.signature or b"" for one in entries if one.status in HELD}
        allowed = as_allowed(self.allowances.values(), self.keys_of(["released"]))
        base = QuarantineChanges(version, frozenset(), complete=since < 0, due=due)
        return base.with_entries(entries, signatures, allowed)


class _Changing(Changing):
    def __init__(self, store: MemoryRecords) -> None:
        super().__init__(store.tenant)
        self._store, self._mine = store, store._mine

    def entries(self, keys: Collection[str]) -> dict[str, QuarantineEntry]:
        return {key: self._mine.entries[key] for key in keys if key in self._mine.entries}

    def load(self, new: QuarantineEntry, now: datetime) -> Load:
        return Load.of(self._mine.entries.values(), new, now)

    def over(self, now: datetime) -> list[tuple[str, QuarantineEntry]]:
        return [
            (tenant, entry)
            for tenant, one in self._store._holdings.items()
            for entry in one.entries.values()
            if entry.until is not None and entry.until <= now
        ]

    def allowances(self) -> list[Allowance]:
        return list(self._mine.allowances.values())

    def keep(self) -> str | None:
        holdings, version = self._store._holdings, self._store._version + 1
        kept = [(told.tenant, _in_utc(one), is_news) for told, one, is_news in self.kept]
        if len(holdings) > MAX_TENANTS and any(tenant not in holdings for tenant, _, _ in kept):
            raise InvalidInputError(
                f"a store in memory holds quarantines of {MAX_TENANTS} tenants at most; use a "
                "database: Guard(store=URL)"
            )
        # Before anything is changed, since it may fail.
        head = self._store._append([told for told, _, _ in self.kept])
        for tenant, one, is_news in kept:
            mine = holdings.setdefault(tenant, _Holding())
            if is_news:
                mine.version = version
            if isinstance(one, Allowance):
                mine.allowances[one.key, one.source, one.effect] = one
                continue
            mine.entries[one.key] = one
            if is_news:
                mine.changed.pop(one.key, None)
                mine.changed[one.key] = version
        return head


class MemoryRecords(Holdings):
    """What is decided, judged and answered; of verdicts and answers what there is room for."""

    def __init__(self) -> None:
        self.place = f"memory:{uuid.uuid4().hex}"
        self._lock = threading.RLock()  # of all that the store has
        self._holdings = {"": _Holding()}  # by tenant; that of the default one is always there
        self._verdicts: dict[str, dict[str, VerdictRecord]] = {}  # by tenant and id
        self._chars: Counter[str] = Counter()  # of a tenant's verdicts
        self._answer_key = secrets.token_bytes(32)
        self._answers: FairLRU[str, tuple[Answer, ...]] = FairLRU(_MAX_ANSWERS)  # of a digest
        self._trail: list[TrailRow] = []

    @property
    def _mine(self) -> _Holding:
        return self._holdings.get(self.tenant) or _Holding()

    @property
    def _version(self) -> int:
        return max(one.version for one in self._holdings.values())

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
            entries = [*self._mine.entries.values()]
        some = [one for one in entries if status in (None, one.status)]
        found = newest(some if keys is None else [one for one in some if one.key in keys])
        first = max(offset, 0)
        return found[first : None if limit is None else first + max(limit, 0)]

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
        with self._lock:
            return self._version

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        with self._lock:
            version, holdings = self._version, self._holdings
            entries = [entry for one in holdings.values() for entry in one.entries.values()]
            ends = [entry.until for entry in entries if entry.until is not None]
            due = min(ends).timestamp() if ends else None
            own = self._mine.changes(since, version, due)
            if self.tenant:
                return own
            named = {
                tenant: one.changes(since, version, due)
                for tenant, one in holdings.items()
                if tenant and one.version > since
            }
        return replace(own, tenants=named)

    def allowances(self) -> list[Allowance]:
        with self._lock:
            return newest(self._mine.allowances.values())

    def standing(self) -> list[tuple[str, QuarantineEntry | Allowance]]:
        with self._lock:
            found: list[tuple[str, QuarantineEntry | Allowance]] = []
            for tenant, mine in self._holdings.items():
                found += [(tenant, one) for one in mine.entries.values()]
                found += [(tenant, one) for one in mine.allowances.values()]
            return found

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
            # Whichever tenants have most pay for lack of room.
            share = fair_share(sorted(self._chars.values()), _MAX_CHARS)
            for tenant in [name for name, chars in self._chars.items() if chars > share]:
                while self._chars[tenant] > share:
                    self._forget([*islice(self._verdicts[tenant].values(), 1)])

    def verdicts(
        self, *, limit: int = 100, before: datetime | None = None, passage_id: str | None = None
    ) -> list[VerdictRecord]:
        with self._lock:
            found = [
                one
                for one in self._verdicts.get(self.tenant, {}).values()
                if (before is None or one.recorded_at < as_utc(before))
                and (passage_id is None or passage_id in [each.passage_id for each in one.passages])
            ]
        return newest(found, "recorded_at")[: max(limit, 0)]

    def verdict(self, verdict_id: str) -> VerdictRecord:
        with self._lock:
            found = self._verdicts.get(self.tenant, {}).get(verdict_id)
        if found is None:
            raise no_verdict(verdict_id)
        return found

    def answer_key(self) -> bytes:
        return self._answer_key

    def add_answer(self, answer: Answer) -> None:
        key = self.tenant, answer.digest
        with self._lock:
            alike = (answer, *(self._answers.get(key) or ()))[:KEPT_ALIKE]
            self._answers.put(key, alike, len(alike))

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        since = max(since, utc_now() - 2 * ANSWER_DAY)
        alike = self._answers.get((self.tenant, digest)) or ()
        return [one for one in alike if one.given_at >= since]

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
        keys = Keys.from_environment()
        rows = next_rows(self._trail[-1] if self._trail else None, changes, keys)
        self._trail += rows
        return head_of(rows[-1], keys) if rows else None


def newest(found: Iterable[Any], moment: str = "created_at") -> list[Any]:
    """Return records newest first, and of those of one moment the later one first."""
    return sorted(found, key=attrgetter(moment))[::-1]  # the sort is stable: reversed last


def _in_utc(one: QuarantineEntry | Allowance) -> QuarantineEntry | Allowance:
    moments = {name: as_utc(at) for name, at in vars(one).items() if isinstance(at, datetime)}
    return replace(one, **moments)  # type: ignore[arg-type]


def _chars(record: VerdictRecord) -> int:
    texts = [record.query, record.error, *[one.text for one in record.passages]]
    texts += [one.reason + one.passage_id for one in record.passages]
    return 500 + sum([300 + len(text) for text in texts if text])
