"""Recorded scores: what every store keeps of them, and how they reach it."""

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ragguard.audit import MemoryStore, ScoredQuery
from ragguard.audit.verdict_counter import (
    RECENT_SIZE,
    SAMPLE_SIZE,
    VerdictCounter,
    retained,
    sampled,
)
from ragguard.errors import StoreError
from tests.audit.conftest import in_threads

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def scored(number, priority=0.0, scorer="s", **fields):
    values = {
        "score": float(number),
        "suspicions": (float(number), -1.0 / 3.0),
        "with_reference": False,
        "attacked": False,
        "recorded_at": NOON + timedelta(seconds=number),
    }
    return ScoredQuery(scorer=scorer, priority=priority, **{**values, **fields})


def test_a_record_comes_back_as_it_was_added(store):
    record = scored(
        1, 0.25, attacked=True, with_reference=True, naming=True, suspicions=(0.1, 1e-300)
    )
    store.add_scores([record, scored(2)], sample=10, recent=10)
    store.add_scores([], sample=0, recent=0)
    assert store.scores() == [record, scored(2)]


def test_a_store_keeps_the_lowest_priorities_and_the_newest(store):
    priorities = [0.9, 0.1, 0.5, 0.2, 0.8, 0.7]
    records = [scored(n, priority) for n, priority in enumerate(priorities)]
    for record in records:
        store.add_scores([record], sample=2, recent=1)
    assert store.scores() == [records[1], records[3], records[5]]


def test_scorers_do_not_crowd_each_other_out(store):
    old = [scored(n, 0.0, "old") for n in range(3)]
    store.add_scores(old, sample=3, recent=1)
    new = [scored(n, 0.9, "new") for n in range(10, 14)]
    store.add_scores(new, sample=1, recent=1)
    assert store.scores() == [*old, new[0], new[3]]


@given(
    st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5]), max_size=4), max_size=5),
    st.integers(0, 4),
    st.integers(0, 3),
)
def test_batches_or_all_at_once_makes_no_difference(batches, sample, recent):
    number, store, everything = 0, MemoryStore(), []
    for priorities in batches:
        batch = []
        for priority in priorities:
            batch.append(scored(number, priority))
            number += 1
        everything += batch
        store.add_scores(batch, sample=sample, recent=recent)
    kept = store.scores()
    lowest = sorted(everything, key=lambda r: (r.priority, r.score))[:sample]
    newest = everything[len(everything) - min(recent, len(everything)) :]
    assert kept == [r for r in everything if r in lowest or r in newest]
    assert sampled(kept, sample) == [r for r in everything if r in lowest]


def test_sql_and_memory_keep_the_same(open_sql):
    rng = random.Random(5)
    sql, memory = open_sql(), MemoryStore()
    for start in range(0, 60, 6):
        batch = [scored(n, rng.random(), "ab"[n % 5 == 0]) for n in range(start, start + 6)]
        for store in (sql, memory):
            store.add_scores(batch, sample=12, recent=5)
    assert sql.scores() == memory.scores()


def test_the_sample_is_uniform():
    rng, hits = random.Random(0), Counter()
    for _ in range(2000):
        records = [scored(n, rng.random()) for n in range(10)]
        hits.update(r.score for r in sampled(records, 3))
    # 600 each in the mean, standard deviation 20.5.
    assert all(500 < hits[float(n)] < 700 for n in range(10))


def test_retained_leaves_other_scorers_alone():
    records = [scored(0, 0.9, "x"), scored(1, 0.9, "y"), scored(2, 0.1, "y")]
    assert retained(records, sample=1, recent=0, scorers={"y"}) == [records[0], records[2]]


# The thread that writes


class Failing(MemoryStore):
    """A store that can be taken down."""

    down = False

    def add_scores(self, scored, *, sample, recent):
        if self.down:
            raise StoreError("down; wait")
        super().add_scores(scored, sample=sample, recent=recent)

    def add_counts(self, counts):
        if self.down:
            raise StoreError("down; wait")
        super().add_counts(counts)


def counter_on(store, **options):
    counter = VerdictCounter(store, **options)
    counter._interval_s = 3600.0
    return counter


def without_priority(records):
    return [replace(record, priority=0.0) for record in records]


def test_scores_and_counts_are_written_by_flush_and_close():
    store = MemoryStore()
    counter = counter_on(store)
    counter.add(scored(1), queries=1)
    assert store.scores() == []
    counter.flush()
    counter.add(scored(2), queries=1)
    counter.add(queries=1)
    counter.close()
    assert without_priority(store.scores()) == [scored(1), scored(2)]
    assert store.counts() == {"queries": 3}


def test_priorities_repeat_on_an_empty_store_and_go_on_on_a_used_one():
    def run(store, count=50):
        counter = counter_on(store)
        for n in range(count):
            counter.add(scored(n), queries=1)
        counter.close()
        return [record.priority for record in store.scores()][-count:]

    store = MemoryStore()
    first = run(store)
    assert run(MemoryStore()) == first
    assert set(run(store)).isdisjoint(first)
    assert len(set(first)) == 50
    assert all(0.0 <= priority < 1.0 for priority in first)


def test_a_store_that_is_down_gets_everything_later_and_once(caplog):
    store, seen = Failing(), []
    counter = counter_on(store, on_scored=seen.extend)
    store.down = True
    counter.add(scored(1), queries=1)
    counter.flush()
    counter.add(scored(2), queries=1)
    counter.flush()
    assert "trying again later: down; wait" in caplog.text
    assert store.scores() == []
    store.down = False
    counter.flush()
    assert without_priority(store.scores()) == [scored(1), scored(2)]
    assert store.counts() == {"queries": 2}
    assert seen == [scored(1), scored(2)]
    counter.close()


def test_memory_is_bounded_while_the_store_is_down():
    store = Failing()
    counter = counter_on(store)
    store.down = True
    for n in range(5000):
        counter.add(scored(n))
        if n % 1500 == 0:
            counter.flush()
    store.down = False
    counter.close()
    assert len(store.scores()) <= SAMPLE_SIZE + RECENT_SIZE
    assert store.scores()[-1].score == 4999.0


def test_writers_that_forget_at_once_do_not_get_in_each_others_way(store):
    def write(writer):
        rng = random.Random(writer)
        for start in range(0, 50, 5):
            batch = [scored(n, rng.random(), "ab"[n % 2]) for n in range(start, start + 5)]
            store.add_scores(batch, sample=7, recent=3)

    in_threads(write)
    everything = []
    for writer in range(4):
        rng = random.Random(writer)
        everything += [scored(n, rng.random(), "ab"[n % 2]) for n in range(50)]
    kept = store.scores()
    for scorer in "ab":
        lowest = sorted(r.priority for r in everything if r.scorer == scorer)[:7]
        mine = [r for r in kept if r.scorer == scorer]
        assert sorted(r.priority for r in sampled(mine, 7)) == lowest
        assert len(mine) <= 10


def test_a_forked_child_does_not_write_its_parents_scores():
    store = MemoryStore()
    counter = counter_on(store)
    counter.add(scored(1), queries=1)
    counter._before_fork()
    counter._after_fork(in_child=True)
    counter.flush()
    assert (store.scores(), store.counts()) == ([], {})
    counter.add(scored(2), queries=1)
    counter.close()
    assert without_priority(store.scores()) == [scored(2)]
