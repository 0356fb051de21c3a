"""Deadlines, pauses after faults, and shorter turns while something works in the background."""

import os
import sys
import threading

import pytest

from ragguard.attribution.result import Attribution
from ragguard.audit import Event, MemoryStore
from ragguard.background import Worker
from ragguard.background.threads import Backoff, Deadline, insist, rest_s, shared_interpreter
from ragguard.errors import StoreError


@pytest.fixture(autouse=True)
def usual():
    before = sys.getswitchinterval()
    yield before
    assert sys.getswitchinterval() == before
    sys.setswitchinterval(before)


def test_turns_are_short_until_the_last_block_ends(usual):
    with shared_interpreter():
        with pytest.raises(ValueError, match="x"), shared_interpreter():
            raise ValueError("x")
        assert sys.getswitchinterval() < usual
    assert sys.getswitchinterval() == usual


def test_turns_that_are_shorter_stay(usual):
    sys.setswitchinterval(1e-5)
    with shared_interpreter():
        assert sys.getswitchinterval() == pytest.approx(1e-5)
    assert sys.getswitchinterval() == pytest.approx(1e-5)
    sys.setswitchinterval(usual)


def test_the_child_of_a_fork_begins_anew(usual):
    with shared_interpreter():
        pid = os.fork()
        if pid == 0:
            with shared_interpreter():
                pass
            os._exit(abs(sys.getswitchinterval() - usual) > 1e-6)
        assert os.waitpid(pid, 0)[1] == 0


def test_an_attribution_shares_and_so_does_what_becomes_of_it(usual):
    seen = {}

    class Looks:
        def attribute(self, event):
            seen["attribute"] = sys.getswitchinterval()
            return Attribution("who?", "me", "looks", [], [], 0, "unclear", "so")

        def quarantine(self, event, found):
            seen["quarantine"] = sys.getswitchinterval()

    store = MemoryStore()
    store.add_event(Event("1", "who?", "me"))
    worker = Worker(store, Looks())
    assert worker.run_once()
    assert store.event("1").status == "done"
    assert seen["attribute"] == seen["quarantine"] < usual


def test_a_rest_is_in_proportion_to_the_work_and_bounded():
    assert rest_s(0.0) == 0.0
    assert rest_s(0.004) == pytest.approx(0.396)
    assert rest_s(60.0) == 1.0


class Stop:
    """Stands in for a `threading.Event` that nobody sets, and keeps the pauses."""

    def __init__(self):
        self.pauses = []

    def is_set(self):
        return False

    def wait(self, seconds):
        self.pauses.append(seconds)


def test_a_deadline_comes_or_never_does():
    assert Deadline(None).left() is None
    assert 59.0 < Deadline(60.0).left() <= 60.0
    assert Deadline(0.0).left() == Deadline(-1.0).left() == 0.0


def test_pauses_double_up_to_ten_seconds():
    backoff, stop = Backoff(), Stop()
    assert not backoff.failing
    for _ in range(9):
        backoff.pause(stop)
        assert backoff.failing
    assert stop.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


class Flaky:
    """Fails the first `times` times."""

    def __init__(self, times, error):
        self.times = times
        self.error = error
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return "written"


def test_insisting_outlasts_a_store_that_is_down():
    action, stop = Flaky(3, StoreError("down")), Stop()
    assert insist(stop, 60.0, action) == "written"
    assert stop.pauses == [0.1, 0.2, 0.4]


def test_insisting_ends_with_the_time():
    action, stop = Flaky(99, StoreError("down")), Stop()
    with pytest.raises(StoreError, match="down"):
        insist(stop, 0.05, action)
    assert (action.calls, stop.pauses) == (1, [])


def test_insisting_ends_when_it_is_stopped():
    stop = threading.Event()
    stop.set()
    action = Flaky(99, StoreError("down"))
    with pytest.raises(StoreError, match="down"):
        insist(stop, 60.0, action)
    assert action.calls == 1


def test_other_errors_are_not_waited_for():
    action = Flaky(1, ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        insist(Stop(), 60.0, action)
    assert action.calls == 1
