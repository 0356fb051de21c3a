"""The queue between reports and the store: bounded, and fair to those who report little."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ragguard.audit import Event
from ragguard.background.fair_queue import FairQueue, HourlyQuota


def event(event_id, reporter=None, response="r", **fields):
    return Event(event_id, "q", response, reporter=reporter, **fields)


def ids(events):
    return [one.id for one in events]


def roomy():
    return FairQueue(max_events=1000, max_bytes=10**9)


def put_all(queue, events):
    return [one for event in events for one in queue.put(event)[1]]


def test_lanes_take_turns():
    queue = roomy()
    put_all(queue, [event(f"a{i}", "ann") for i in range(4)])
    put_all(queue, [event("b0", "bob"), event("n0"), event("b1", "bob")])
    assert ids(queue.take(3, 10**9)) == ["a0", "b0", "n0"]
    assert ids(queue.take(99, 10**9)) == ["a1", "b1", "a2", "a3"]
    assert queue.take(1, 10**9) == []
    assert len(queue) == 0


def test_a_flood_drops_its_own():
    queue = FairQueue(max_events=10, max_bytes=10**9)
    dropped = put_all(queue, [event(f"a{i}", "ann") for i in range(15)])
    assert ids(dropped) == [f"a{i}" for i in range(10, 15)]
    dropped = put_all(queue, [event(f"b{i}", "bob") for i in range(3)])
    assert ids(dropped) == ["a9", "a8", "a7"]
    # An equal share for each, and then everybody drops their own.
    dropped = put_all(queue, [event(f"b{i}", "bob") for i in range(3, 8)])
    assert ids(dropped) == ["a6", "a5", "b5", "b6", "b7"]
    assert len(queue) == 10


def test_each_lane_has_an_allowance_for_an_hour(monkeypatch):
    now = [7200.0]
    monkeypatch.setattr("ragguard.background.fair_queue.time.monotonic", lambda: now[0])
    quota = HourlyQuota(100)
    assert [quota.covers("ann", 40) for _ in range(4)] == [True, True, False, False]
    assert quota.covers("bob", 100)
    assert not quota.covers("bob", 1)
    now[0] += 3599.0
    assert not quota.covers("ann", 40)
    now[0] += 1.0
    assert quota.covers("ann", 40)


def test_a_flood_of_large_events_drops_its_own():
    small = event("b0", "bob")
    large = [event(f"a{i}", "ann", "x" * 1000) for i in range(5)]
    queue = FairQueue(max_events=1000, max_bytes=3 * large[0].nbytes + small.nbytes)
    dropped = put_all(queue, [*large[:2], small, *large[2:]])
    assert ids(dropped) == ["a3", "a4"]
    assert ids(queue.take(9, 10**9)) == ["a0", "b0", "a1", "a2"]


def test_what_is_reported_again_is_counted():
    queue = roomy()
    assert queue.put(event("a", "ann")) == (True, [])
    assert queue.put(event("a", "ann", reports=4)) == (False, [])
    assert queue.put(event("a", "bob")) == (True, [])
    mine, other = queue.take(9, 10**9)
    assert (mine.reports, mine.reporter) == (5, "ann")
    assert (other.reports, other.reporter) == (1, "bob")


def test_what_is_put_back_keeps_its_place_or_loses_it():
    queue = roomy()
    put_all(queue, [event(f"{i}") for i in range(5)])
    taken = queue.take(3, 10**9)
    queue.put(replace(taken[1]))
    assert ids(queue.put_back(taken, last=False)) == ["1"]
    assert ids(queue.take(2, 10**9)) == ["0", "1"]
    queue.put_back(queue.take(1, 10**9), last=True)
    assert ids(queue.take(9, 10**9)) == ["3", "4", "2"]


def test_a_batch_ends_with_the_event_that_fills_it():
    queue = roomy()
    put_all(queue, [event(f"{i}") for i in range(5)])
    assert len(queue.take(9, event("0").nbytes + 1)) == 2


reports = st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 300))


@given(st.lists(reports | st.integers(1, 4), max_size=60), st.integers(1, 8))
def test_no_event_is_lost_untold_and_bounds_hold(steps, room):
    queue = FairQueue(max_events=room, max_bytes=2_000)
    waiting: dict[tuple[str, str], int] = {}
    for step in steps:
        if isinstance(step, int):
            for one in queue.take(step, 10**9):
                assert waiting.pop((one.reporter, one.id)) == one.reports
        else:
            who, number, size = step
            given = event(f"{number}", who, "x" * size)
            is_more, dropped = queue.put(given)
            assert is_more == ((who, given.id) not in waiting)
            waiting[who, given.id] = waiting.get((who, given.id), 0) + 1
            for one in dropped:
                assert waiting.pop((one.reporter, one.id)) == one.reports
        assert len(queue) == len(waiting) <= room
    rest = queue.take(99, 10**9)
    assert {(one.reporter, one.id): one.reports for one in rest} == waiting
    assert len(queue) == 0
