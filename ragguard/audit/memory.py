"""The audit store in memory: for tests, and for a guard that persists nothing.

It is no SQL store in memory: such a guard loads no SQLAlchemy, what it is given comes back as the
same objects, and a thread that writes takes little of the interpreter from queries.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragguard.attribution.result import Attribution
from ragguard.audit.allow_list import Allowance
from ragguard.audit.fair_queueing import MAX_REPORTERS, Turns, lane_of
from ragguard.audit.memory_records import MemoryRecords, newest
from ragguard.audit.quarantine import QuarantineEntry, as_utc
from ragguard.audit.records import OPEN, Event, EventStatus, ScoredQuery, no_event
from ragguard.audit.verdict_counter import retained
from ragguard.fork import follow_forks
from ragguard.recent_passages import passages_bytes

_OPEN_BYTES, _FINISHED_BYTES = 64_000_000, 256_000_000
_LOST = "lost: too many events wait"
_Held = Sequence[tuple[str, QuarantineEntry | Allowance]]  # each with its tenant


@dataclass
class _Kept:
    event: Event
    lanes: set[str]  # of whoever reported it
    claimable_at: float = 0.0  # while it is open: the end of its lease, or of its wait
    attribution: Attribution | None = None

    @property
    def nbytes(self) -> int:
        scope = () if self.attribution is None else self.attribution.scores
        return self.event.nbytes + passages_bytes([one.passage for one in scope])


class MemoryStore(MemoryRecords):
    """The audit store of one process; its content ends with the process.

    Quarantine is kept for good. Of finished events the newest `max_finished` are kept, in 256 MB at
    most, and no more than `max_open` open ones, in 64 MB: then the newest of whoever has reported
    most is lost. A pickled store takes its quarantine along, and nothing else.

    Attributes:
        shared: False: no other process sees it.
    """

    shared = False

    def __init__(self, *, max_finished: int = 10_000, max_open: int = 10_000) -> None:
        """Make an empty store."""
        super().__init__()
        self._max_finished, self._max_open = max_finished, max_open
        self._events: dict[str, _Kept] = {}
        self._turns: Turns[str] = Turns()  # of open events
        self._finished: Turns[str] = Turns()  # of the others, in one lane
        self._counts: Counter[str] = Counter()
        self._scores: list[ScoredQuery] = []
        follow_forks(self)

    def tenants(self) -> list[str]:
        with self._lock:
            found = {kept.event.tenant for kept in self._events.values()}
            return sorted(found.union(self._verdicts, self._holdings) - {""})

    def add_event(self, event: Event) -> None:
        with self._lock:
            lane = event.lane
            known = self._events.get(event.id)
            turn = self._next_turn(lane)
            if known is None:
                new = _Kept(replace(event, created_at=as_utc(event.created_at)), {lane})
                self._events[event.id] = new
                if event.status in OPEN:
                    self._turns.place(event.id, lane, turn, event.nbytes)
                self._put(new)
                while (name := self._turns.surplus(lane, self._max_open, _OPEN_BYTES)) is not None:
                    lost = self._events[name]
                    self._put(lost, status="failed", error=_LOST, passages=())
                    self.add_counts({"reports_lost": lost.event.reports})
                return
            if len(known.lanes) < MAX_REPORTERS:
                known.lanes.add(lane)
            reports = known.event.reports + event.reports
            known.event = replace(known.event, reports=reports, reporters=len(known.lanes))
            if event.id in self._turns and turn < self._turns.turn(event.id):
                # Not to wait behind a flood that happens to hold the same claim.
                self._turns.place(event.id, lane, turn, known.nbytes)

    def add_events(self, events: Sequence[Event]) -> None:
        for event in events:
            as_utc(event.created_at)  # or raise before any of them is there
        with self._lock:
            for event in events:
                self.add_event(event)

    def event(self, event_id: str) -> Event:
        with self._lock:
            found = self._events.get(event_id)
            if found is None or found.event.tenant != self.tenant:
                raise no_event(event_id)
            return found.event

    def events(
        self, *, status: EventStatus | None = None, limit: int = 100, passages: bool = True
    ) -> list[Event]:
        with self._lock:
            events = [kept.event for kept in self._events.values()]
        found = [e for e in events if e.tenant == self.tenant and status in (None, e.status)]
        some = newest(found)[: max(limit, 0)]
        return some if passages else [replace(event, passages=()) for event in some]

    def claim_event(
        self, *, lease_s: float, passageless: Collection[str] | None = None
    ) -> Event | None:
        with self._lock:
            now = time.monotonic()
            for event_id in self._turns:
                event = (kept := self._events[event_id]).event
                is_due = kept.claimable_at <= now and self.tenant in ("", event.tenant)
                if is_due and (passageless is None or event.passages or event_id in passageless):
                    self._put(kept, status="running", attempts=event.attempts + 1)
                    kept.claimable_at = now + lease_s
                    return kept.event
        return None

    def renew_lease(self, event_id: str, *, lease_s: float, attempt: int | None = None) -> bool:
        with self._lock:
            kept = self._events.get(event_id)
            if kept is None or kept.event.status != "running" or not _holds(kept, attempt):
                return False
            kept.claimable_at = time.monotonic() + lease_s
            return True

    def finish_event(
        self, event_id: str, attribution: Attribution, *, attempt: int | None = None
    ) -> bool:
        with self._lock:
            kept = self._claimed(event_id)
            if not _holds(kept, attempt):
                return False
            kept.attribution = _copied(attribution.brief())
            self._put(kept, status="done", error=None)
            return True

    def fail_event(
        self,
        event_id: str,
        error: str,
        *,
        final: bool,
        attempt: int | None = None,
        counts: bool = True,
        wait_s: float = 0.0,
    ) -> bool:
        with self._lock:
            kept = self._claimed(event_id)
            event, status = kept.event, "failed" if final else "pending"
            if event.status not in OPEN or not _holds(kept, attempt):
                return False
            failures, before = event.failures + counts, event.attempts_before + (not counts)
            tally = {"failures": failures, "attempts_before": before}
            self._put(kept, wait_s, status=status, error=error, **tally)
            return True

    def withdraw_reporter(self, event_id: str, reporter: str, error: str) -> int | None:
        lane = lane_of(reporter, self.tenant)
        with self._lock:
            event, kept = self.event(event_id), self._events[event_id]
            if event.status not in OPEN or lane not in kept.lanes:
                return None
            others = kept.lanes - {lane}
            if not others:
                self._put(kept, status="failed", error=error)
                return 0
            kept.lanes = others
            kept.event = replace(event, reporters=len(others))
            if event.reporter == reporter:
                self._put(kept, status="pending", reporter=None)
            return len(others)

    def attribution(self, event_id: str) -> Attribution | None:
        with self._lock:
            kept = self._events.get(event_id)
            if kept is None or kept.event.tenant != self.tenant or kept.attribution is None:
                return None
            return _copied(kept.attribution)

    def retry_events(self, ids: Collection[str] | None = None) -> list[str]:
        done = []
        with self._lock:
            if ids is None:
                failed = self.events(status="failed", limit=len(self._events))
                ids = [event.id for event in reversed(failed)]
            for event_id in (wanted := dict.fromkeys(ids)):
                self.event(event_id)  # or raise before any of them is changed
            for event_id in wanted:
                kept = self._events[event_id]
                status, lane, size = kept.event.status, kept.event.lane, kept.nbytes
                is_full = len(self._turns) >= self._max_open
                too_large = self._turns.size + size > _OPEN_BYTES
                waits = status == "pending" and kept.claimable_at > time.monotonic()
                if not waits and (status in OPEN or is_full or too_large):
                    continue
                self._finished.remove(event_id)
                self._turns.place(event_id, lane, self._next_turn(lane), size)
                anew = {"failures": 0, "attempts_before": kept.event.attempts}
                self._put(kept, status="pending", error=None, **anew)
                done.append(event_id)
        return done

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({f'tenant={self.tenant!r}' if self.tenant else ''})"

    def close(self) -> None:
        """Release nothing: nothing is held."""

    def _claimed(self, event_id: str) -> _Kept:
        if event_id not in self._events:  # of any tenant: whoever was handed it brings it back
            raise no_event(event_id)
        return self._events[event_id]

    def _put(self, kept: _Kept, wait_s: float = 0.0, **changes: Any) -> None:
        if changes.get("status") == "pending":
            self._turns.postpone(kept.event.id, self._served() or 0)
        kept.event = event = replace(kept.event, **changes)
        kept.claimable_at = time.monotonic() + wait_s
        if event.status in OPEN:
            return
        self._turns.remove(event.id)
        self._finished.place(event.id, "", 0, kept.nbytes)
        while len(self._finished) > self._max_finished or (
            self._finished.size > _FINISHED_BYTES and len(self._finished) > 1
        ):
            oldest = next(iter(self._finished))
            self._finished.remove(oldest)
            del self._events[oldest]

    def _next_turn(self, lane: str) -> int:
        served = self._served()
        return self._turns.next(lane, self._turns.last() if served is None else served)

    def _served(self) -> int | None:
        waiting = (one for one in self._turns if self._events[one].event.status == "pending")
        return next(map(self._turns.turn, waiting), None)

    def __reduce__(self) -> tuple[Any, ...]:
        # What is held back stays so elsewhere; events are attributed where they were reported.
        return _restored, (self._max_finished, self._max_open, self.standing(), self.tenant)

    def _before_fork(self) -> None:
        self._lock.acquire()

    def _after_fork(self, *, in_child: bool) -> None:  # noqa: ARG002
        self._lock.release()


def _restored(max_finished: int, max_open: int, held: _Held, tenant: str) -> MemoryStore:
    store = MemoryStore(max_finished=max_finished, max_open=max_open)
    for name, one in held:
        seen = store.of_tenant(name or None)
        if isinstance(one, Allowance):
            seen.allow(one)
        else:
            seen.add_quarantine([one])
    return store.of_tenant(tenant or None)


def _copied(found: Attribution) -> Attribution:
    """Return an attribution whose lists are not the caller's."""
    responsible, scores, details = list(found.responsible), list(found.scores), dict(found.details)
    return replace(found, responsible=responsible, scores=scores, details=details)


def _holds(kept: _Kept, attempt: int | None) -> bool:
    return attempt is None or (kept.event.status, kept.event.attempts) == ("running", attempt)
