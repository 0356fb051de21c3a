import threading

import pytest

from ragguard.background.retry import Backoff, Deadline, insist
from ragguard.errors import StoreError


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


def test_pauses_double_up_to_ten_seconds_and_begin_anew():
    backoff, stop = Backoff(), Stop()
    assert not backoff.failing
    for _ in range(9):
        backoff.pause(stop)
        assert backoff.failing
    assert stop.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    backoff.succeeded()
    assert (backoff.failing, backoff.pause_s) == (False, 0.1)


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
    assert insist(action, stop, seconds=60.0) == "written"
    assert stop.pauses == [0.1, 0.2, 0.4]


def test_insisting_ends_with_the_time():
    action, stop = Flaky(99, StoreError("down")), Stop()
    with pytest.raises(StoreError, match="down"):
        insist(action, stop, seconds=0.05)
    assert (action.calls, stop.pauses) == (1, [])


def test_insisting_ends_when_it_is_stopped():
    stop = threading.Event()
    stop.set()
    action = Flaky(99, StoreError("down"))
    with pytest.raises(StoreError, match="down"):
        insist(action, stop, seconds=60.0)
    assert action.calls == 1


def test_other_errors_are_not_waited_for():
    action = Flaky(1, ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        insist(action, Stop(), seconds=60.0)
    assert action.calls == 1
