"""Any sequence of calls leaves every store in the state of a model made of plain dicts."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ragguard import Passage
from ragguard.attribution.result import Attribution
from ragguard.audit import Event, QuarantineEntry
from ragguard.audit.holdings import Load, decided
from ragguard.audit.quarantine import HELD, Limits, QuarantineStatus
from ragguard.errors import EventNotFoundError, QuarantineNotFoundError
from ragguard.inline.quarantined import Quarantined

names = st.sampled_from(["a", "b", "c", "\ud800", "A"])
texts = st.text(st.characters(exclude_categories=()), max_size=5)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
passages = st.builds(
    Passage,
    texts,
    id=st.none() | texts,
    score=st.none() | st.floats(allow_nan=False),
    metadata=st.dictionaries(texts, st.none() | st.integers() | texts | st.booleans(), max_size=2),
)
events = st.builds(
    Event,
    names,
    texts,
    texts,
    st.lists(passages, max_size=2).map(tuple),
    reporter=st.none() | texts,
    created_at=moments,
)
statuses = st.sampled_from(get_args(QuarantineStatus))
reporters = st.lists(st.none() | texts, max_size=2, unique=True).map(tuple)
entries = st.builds(
    QuarantineEntry,
    names,
    texts,
    texts,
    texts,
    event_id=st.none() | texts,
    status=statuses,
    created_at=moments,
    updated_at=moments,
    actor=st.none() | texts,
    reporters=reporters,
    until=st.none() | moments,
)
attributions = st.builds(
    Attribution,
    texts,
    texts,
    texts,
    st.just([]),
    st.just([]),
    st.integers(0, 9),
    st.sampled_from(["poisoning", "model", "unclear"]),
    texts,
    st.dictionaries(texts, st.floats(allow_nan=False) | texts, max_size=2),
)
leases = st.sampled_from([0.0, 3600.0])


class StoreStates(RuleBasedStateMachine):
    def __init__(self, new_store):
        super().__init__()
        self.store = new_store()
        self.events: dict[str, Event] = {}
        self.free: set[str] = set()  # pending, or running with an expired lease
        self.reporters: dict[str, set[str | None]] = {}
        self.waits: dict[str, tuple[int, int, str | None]] = {}  # turn, number, whose lane
        self.retried: set[str] = set()
        self.attributions: dict[str, Attribution] = {}
        self.entries: dict[str, QuarantineEntry] = {}
        self.counts: dict[str, int] = {}
        self.keys = frozenset()
        self.followed, self.reached = Quarantined(), -1
        self.version = self.store.quarantine_version()

    def teardown(self):
        self.store.close()

    @rule(event=events)
    def add_event(self, event):
        self.store.add_event(event)
        turn = self._turn(event.reporter)
        known = self.events.get(event.id)
        if known is None:
            self.events[event.id] = event
            self.free.add(event.id)
            self.reporters[event.id] = {event.reporter}
            self.waits[event.id] = turn, len(self.events), event.reporter
            return
        self.reporters[event.id].add(event.reporter)
        reporters = len(self.reporters[event.id])
        self.events[event.id] = replace(known, reports=known.reports + 1, reporters=reporters)
        if event.id in self.waits and turn < self.waits[event.id][0]:
            self.waits[event.id] = turn, self.waits[event.id][1], event.reporter

    def _turn(self, reporter):
        turns_of_lane = [turn + 1 for turn, _, who in self.waits.values() if who == reporter]
        if (served := self._served()) is None:
            served = max((turn for turn, *_ in self.waits.values()), default=0)
        return max([served, *turns_of_lane])

    def _served(self):
        waiting = (turn for one, (turn, *_) in self.waits.items() if self._is_pending(one))
        return min(waiting, default=None)

    def _is_pending(self, event_id):
        return self.events[event_id].status == "pending"

    def _come_back(self, event_id):
        turn, *rest = self.waits[event_id]
        self.waits[event_id] = max(turn, self._served() or 0), *rest

    @rule(lease_s=leases)
    def claim_event(self, lease_s):
        claimed = self.store.claim_event(lease_s=lease_s)
        if not self.free:
            assert claimed is None
            return
        first = min(self.free, key=lambda one: self.waits[one][:2])
        alike = {one for one in self.free if self.waits[one][0] == self.waits[first][0]}
        if alike & self.retried and claimed.id in alike:  # new, or as old as it was: either will do
            first = claimed.id
        oldest = self.events[first]
        expected = replace(oldest, status="running", attempts=oldest.attempts + 1)
        assert claimed == expected
        self.events[oldest.id] = expected
        if lease_s:
            self.free.remove(oldest.id)

    @rule(event_id=names, lease_s=leases)
    def renew_lease(self, event_id, lease_s):
        self.store.renew_lease(event_id, lease_s=lease_s)
        if event_id in self.events and self.events[event_id].status == "running":
            (self.free.discard if lease_s else self.free.add)(event_id)

    @rule(event_id=names, behind=st.integers(0, 2), attribution=attributions)
    def finish_event_as_a_worker(self, event_id, behind, attribution):
        event = self.events.get(event_id)
        if event is None:
            return
        holds = event.status == "running" and behind == 0
        written = self.store.finish_event(event_id, attribution, attempt=event.attempts - behind)
        assert written == holds
        if holds:
            self.events[event_id] = replace(event, status="done", error=None)
            self.attributions[event_id] = attribution
            self._settle(event_id)

    def _settle(self, event_id):
        self.waits.pop(event_id, None)
        self.free.discard(event_id)

    @rule(event_id=names, attribution=attributions)
    def finish_event(self, event_id, attribution):
        if event_id not in self.events:
            with pytest.raises(EventNotFoundError):
                self.store.finish_event(event_id, attribution)
            return
        self.store.finish_event(event_id, attribution)
        self.events[event_id] = replace(self.events[event_id], status="done", error=None)
        self.attributions[event_id] = attribution
        self._settle(event_id)

    @rule(event_id=names, error=texts, final=st.booleans(), wait_s=leases, counts=st.booleans())
    def fail_event(self, event_id, error, final, wait_s, counts):
        if event_id not in self.events:
            with pytest.raises(EventNotFoundError):
                self.store.fail_event(event_id, error, final=final)
            return
        self.store.fail_event(event_id, error, final=final, wait_s=wait_s, counts=counts)
        event = self.events[event_id]
        if event.status in ("pending", "running"):
            self._come_back(event_id)
            self.events[event_id] = replace(
                event,
                status="failed" if final else "pending",
                error=error,
                failures=event.failures + counts,
                attempts_before=event.attempts_before + (not counts),
            )
            if final:
                self._settle(event_id)
            else:
                (self.free.discard if wait_s else self.free.add)(event_id)

    @rule(event_id=names, reporter=texts, first=st.booleans(), error=texts)
    def withdraw_reporter(self, event_id, reporter, first, error):
        event = self.events.get(event_id)
        if event is None:
            with pytest.raises(EventNotFoundError):
                self.store.withdraw_reporter(event_id, reporter, error)
            return
        who = event.reporter if first and event.reporter is not None else reporter
        others = self.reporters[event_id] - {who}
        known = event.status in ("pending", "running") and who in self.reporters[event_id]
        told = self.store.withdraw_reporter(event_id, who, error)
        assert told == (len(others) if known else None)
        if told:
            self.reporters[event_id] = others
            event = replace(event, reporters=told)
            if event.reporter == who:
                self._come_back(event_id)
                event = replace(event, reporter=None, status="pending")
                self.free.add(event_id)
            self.events[event_id] = event
        elif known:
            self.events[event_id] = replace(event, status="failed", error=error)
            self._settle(event_id)

    @rule(wanted=st.none() | st.lists(names, max_size=3))
    def retry_events(self, wanted):
        if not self.events.keys() >= {*(wanted or ())}:
            with pytest.raises(EventNotFoundError):
                self.store.retry_events(wanted)
            return
        done = self.store.retry_events(wanted)
        statuses = ("failed",) if wanted is None else ("done", "failed")
        waiting = [
            one
            for one in wanted or ()
            if self.events[one].status == "pending" and one not in self.free
        ]
        settled = [one for one in wanted or self.events if self.events[one].status in statuses]
        settled += waiting
        assert sorted(done) == sorted(set(settled) if wanted != [] else [])
        for event_id in done:
            event = self.events[event_id]
            anew = {"failures": 0, "attempts_before": event.attempts}
            self.events[event_id] = replace(event, status="pending", error=None, **anew)
            self.waits[event_id] = self._turn(event.reporter), len(self.events), event.reporter
            self.free.add(event_id)
            self.retried.add(event_id)

    @rule(batch=st.lists(entries, max_size=3))
    def add_quarantine(self, batch):
        known = len(self.entries)
        for entry in batch:
            self.entries.setdefault(entry.key, entry)
        assert self.store.add_quarantine(batch) == len(self.entries) - known

    @rule(key=names, status=statuses, actor=st.none() | texts)
    def set_quarantine_status(self, key, status, actor):
        if key not in self.entries:
            with pytest.raises(QuarantineNotFoundError):
                self.store.set_quarantine_status(key, status, actor=actor)
            return
        changed = self.store.set_quarantine_status(key, status, actor=actor)
        expected = replace(
            self.entries[key], status=status, actor=actor, updated_at=changed.updated_at, until=None
        )
        assert changed == expected
        self.entries[key] = expected

    @rule(
        batch=st.lists(entries, max_size=3),
        who=st.none() | texts,
        limits=st.builds(
            Limits,
            quorum=st.integers(1, 2),
            per_reporter=st.integers(0, 2),
            per_hour=st.integers(0, 3),
            proposals=st.integers(0, 3),
        ),
    )
    def accuse(self, batch, who, limits):
        batch = [replace(one, reporters=(who,), event_id="e", until=None) for one in batch]
        now = datetime.now(UTC)
        load = Load.of(self.entries.values(), batch[0], now) if batch else None
        done = self.store.accuse(batch, limits)
        for new, one in zip(batch, done, strict=True):
            expected = decided(new, self.entries.get(new.key), limits, load, now)
            if expected.quarantined:
                assert now <= one.entry.updated_at <= datetime.now(UTC)
                stamped = {"updated_at": one.entry.updated_at, "until": one.entry.until}
                expected = replace(expected, entry=replace(expected.entry, **stamped))
            assert one == expected
            if one.kept:
                self.entries[new.key] = one.entry

    @rule()
    def lapse(self):
        now = datetime.now(UTC)
        over = [one for one in self.entries.values() if one.until is not None and one.until <= now]
        assert self.store.lapse() == len(over)
        changed = {one.key: one for one in self.store.quarantine()}
        for one in over:
            moment = changed[one.key].updated_at
            assert moment >= now
            self.entries[one.key] = replace(one, status="lapsed", until=None, updated_at=moment)

    @rule()
    def follow_the_quarantine(self):
        changes = self.store.quarantine_changes(self.reached)
        self.followed = changes.applied_to(self.followed)
        self.reached = changes.version
        assert self.reached == self.store.quarantine_version()
        assert self.followed.keys == self.store.quarantine_keys()
        assert self.followed.spared == {
            key for key, one in self.entries.items() if one.status in ("released", "rejected")
        }

    @rule(counts=st.dictionaries(names, st.integers(0, 10**6), max_size=3))
    def add_counts(self, counts):
        self.store.add_counts(counts)
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    @invariant()
    def agrees(self):
        # Of equal times the one that was added later comes first.
        newest = sorted(self.events.values(), key=lambda e: e.created_at)[::-1]
        assert self.store.events() == newest
        for event in newest:
            assert self.store.event(event.id) == event
            assert self.store.attribution(event.id) == self.attributions.get(event.id)
        assert self.store.counts() == self.counts
        keys = frozenset(k for k, entry in self.entries.items() if entry.status in HELD)
        assert self.store.quarantine_keys() == keys
        assert sorted(self.store.quarantine(), key=lambda e: e.key) == sorted(
            self.entries.values(), key=lambda e: e.key
        )
        version = self.store.quarantine_version()
        assert version > self.version if keys != self.keys else version >= self.version
        self.keys, self.version = keys, version


@pytest.mark.slow
def test_every_sequence_of_calls(new_store):
    run_state_machine_as_test(
        lambda: StoreStates(new_store),
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
