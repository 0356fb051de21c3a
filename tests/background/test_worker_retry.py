"""A worker attributes again what somebody has put back."""

import pytest

from ragguard.attribution.result import Attribution
from ragguard.audit import Event
from ragguard.background import Worker

LONG = 60.0


class Failing:
    """Fails for as long as it is down."""

    def __init__(self):
        self.is_down, self.calls = True, 0

    def attribute(self, event):
        self.calls += 1
        if self.is_down:
            raise ConnectionError("no model answers")
        return Attribution(event.query, event.response, "test", [], [], 0, "model", "so")

    def quarantine(self, event, attribution):
        pass


@pytest.fixture
def steps():
    return Failing()


@pytest.fixture
def worker(store, steps, monkeypatch):
    monkeypatch.setattr("ragguard.background.threads._FIRST_RETRY_S", 0.001)
    made = Worker(store, steps, poll_s=0.01, retry_s=(0.001,), max_starts=4)
    yield made
    made.close(LONG)


def test_an_event_that_failed_for_good_is_attributed_once_it_is_put_back(store, steps, worker):
    store.add_event(Event("e", "who?", "me"))
    assert worker.wait("e", LONG)
    gone = store.event("e")
    assert (gone.status, gone.attempts, steps.calls) == ("failed", 3, 3)
    steps.is_down = False
    assert store.retry_events() == ["e"]
    assert worker.wait("e", LONG)
    done = store.event("e")
    assert (done.status, done.attempts, done.failures, done.error) == ("done", 4, 0, None)
    assert store.attribution("e").reason == "so"


def test_it_may_fail_and_begin_as_often_as_a_new_one(store, steps, worker):
    store.add_event(Event("e", "who?", "me"))
    for round_ in (1, 2, 3):
        assert worker.wait("e", LONG)
        gone = store.event("e")
        assert (gone.status, gone.attempts, gone.failures) == ("failed", 3 * round_, 3)
        assert gone.error == "ConnectionError: no model answers"
        store.retry_events(["e"])


def test_one_that_kills_its_workers_is_given_up_again(store, steps):
    store.add_event(Event("e", "who?", "me"))
    worker = Worker(store, steps, max_starts=2)
    for attempts in (3, 6):
        for _ in range(2):
            assert store.claim_event(lease_s=0) is not None  # and its worker dies
        assert worker.run_once()
        gone = store.event("e")
        assert (gone.status, gone.attempts, steps.calls) == ("failed", attempts, 0)
        assert gone.error.startswith("given up after 2 starts")
        store.retry_events(["e"])
