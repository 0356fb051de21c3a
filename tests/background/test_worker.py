import logging
import os
import re
import textwrap
import threading
import time

import pytest

from ragguard.attribution.result import Attribution
from ragguard.audit import Event, MemoryStore, QuarantineEntry
from ragguard.background import Worker
from ragguard.errors import EventLostError, EventNotFoundError, InvalidInputError, StoreError
from tests import processes
from tests.processes import begin, output

LONG = 60.0


def event(event_id):
    return Event(event_id, "who?", "me")


def attribute(flagged):
    return Attribution(flagged.query, flagged.response, "test", [], [], 0, "model", flagged.id)


class Steps:
    """What a worker does with an event, one step a function."""

    def __init__(self, attribute, quarantine=lambda event, attribution: None):
        self.attribute = attribute
        self.quarantine = quarantine


class Failing:
    """An attribution that fails the first `times` times."""

    def __init__(self, times, error=ValueError("broken")):  # noqa: B008
        self.times = times
        self.error = error
        self.calls = 0

    def __call__(self, flagged):
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return attribute(flagged)


class Held:
    """An attribution that begins, and ends when it is released."""

    def __init__(self):
        self.begun = threading.Event()
        self.released = threading.Event()

    def __call__(self, flagged):
        self.begun.set()
        assert self.released.wait(LONG)
        return attribute(flagged)


class BrokenStore(MemoryStore):
    """A store whose methods fail for as long as they are named in `down`."""

    def __init__(self, *down):
        super().__init__()
        self.down = set(down)
        self.tried = threading.Semaphore(0)

    def _check(self, method):
        if method in self.down:
            self.tried.release()
            raise StoreError("down")

    def add_event(self, event):
        self._check("add_event")
        super().add_event(event)

    def claim_event(self, **how):
        self._check("claim_event")
        return super().claim_event(**how)

    def finish_event(self, event_id, attribution, **fence):
        self._check("finish_event")
        return super().finish_event(event_id, attribution, **fence)

    def fail_event(self, event_id, error, *, final, **fence):
        self._check("fail_event")
        return super().fail_event(event_id, error, final=final, **fence)


@pytest.fixture
def worker_of():
    workers = []

    def make(store, *steps, **options):
        steps = Steps(*steps) if steps else Steps(attribute)
        workers.append(Worker(store, steps, **{"poll_s": 0.01, "retry_s": (0.001,), **options}))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close(LONG)


def wait_all(worker, *event_ids, timeout=LONG):
    return all(worker.wait(event_id, timeout) for event_id in event_ids)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    monkeypatch.setattr("ragguard.background.threads._FIRST_RETRY_S", 0.001)
    monkeypatch.setattr("ragguard.background.threads._LAST_RETRY_S", 0.01)


def test_a_submitted_event_is_attributed(store, worker_of):
    worker = worker_of(store)
    worker.submit(event("e"))
    assert worker.wait("e", LONG)
    assert store.event("e").status == "done"
    assert store.attribution("e") == attribute(event("e"))


@pytest.mark.slow
def test_events_are_attributed_in_order(store, worker_of):
    order = []
    worker = worker_of(store, lambda flagged: order.append(flagged.id) or attribute(flagged))
    for i in range(10):
        store.add_event(event(f"{i}"))
    for i in range(10, 20):
        worker.submit(event(f"{i}"))
    assert worker.wait("19", LONG)
    assert order == [f"{i}" for i in range(20)]


def test_submit_does_not_wait_for_the_store(worker_of):
    class Stuck(MemoryStore):
        def add_event(self, event):
            released.wait(LONG)
            super().add_event(event)

    released = threading.Event()
    store = Stuck()
    worker = worker_of(store)
    worker.submit(event("a"))
    worker.submit(event("b"))
    assert store.events() == []
    assert not worker.wait("a", 0)
    released.set()
    assert wait_all(worker, "a", "b")
    assert len(store.events(status="done")) == 2


def test_an_event_is_persisted_while_another_is_attributed(store, worker_of):
    held, saved = Held(), threading.Event()
    worker = worker_of(store, held)
    worker.submit(event("a"))
    assert held.begun.wait(LONG)
    add_events = store.add_events

    def add_and_tell(flagged):
        add_events(flagged)
        saved.set()

    store.add_events = add_and_tell
    worker.submit(event("b"))
    assert saved.wait(LONG)
    assert store.event("b").status == "pending"
    held.released.set()
    assert wait_all(worker, "a", "b")


def test_the_quarantine_is_written_before_anyone_is_woken(store, worker_of):
    def quarantine(flagged, attribution):
        assert store.event(flagged.id).status == "running"
        assert attribution == attribute(flagged)
        assert not waiting.is_set()
        store.add_quarantine([QuarantineEntry(flagged.id, "p", "t", "r", flagged.id)])

    def wait():
        worker.wait("e", LONG)
        waiting.set()
        seen.append((store.event("e").status, store.attribution("e"), store.quarantine_keys()))

    waiting, seen = threading.Event(), []
    held = Held()
    worker = worker_of(store, held, quarantine)
    worker.submit(event("e"))
    waiters = [threading.Thread(target=wait) for _ in range(3)]
    for thread in waiters:
        thread.start()
    held.released.set()
    for thread in waiters:
        thread.join(LONG)
    assert seen == [("done", attribute(event("e")), {"e"})] * 3


def test_a_failing_attribution_is_tried_again(store, worker_of, caplog):
    failing = Failing(2)
    worker = worker_of(store, failing)
    worker.submit(event("e"))
    assert worker.wait("e", LONG)
    done = store.event("e")
    assert (done.status, done.attempts, done.failures, done.error) == ("done", 3, 2, None)
    told = (
        "attempt 1 to attribute event e failed, with 1 of 3 failures: ValueError: broken; the next"
    )
    assert told in caplog.text


def test_an_event_waits_longer_after_each_failure(store, caplog):
    waits = []

    class Watched(type(store)):
        def fail_event(self, event_id, error, *, wait_s, **how):
            waits.append(wait_s)
            return super().fail_event(event_id, error, wait_s=0.0, **how)

    store.__class__ = Watched
    worker = Worker(store, Steps(Failing(99)), max_attempts=5)
    store.add_event(event("e"))
    while worker.run_once():
        pass
    assert waits[:4] == [10.0, 60.0, 60.0, 60.0]
    assert store.event("e").status == "failed"
    assert "attempt 2 to attribute event e failed, with 2 of 5" in caplog.text
    assert "broken; the next begins in 60 s" in caplog.text


def test_others_go_on_while_an_event_waits(store, worker_of):
    def pick(flagged):
        if flagged.id == "bad":
            raise ConnectionError("no database answers")
        return attribute(flagged)

    worker = worker_of(store, pick, retry_s=(3600.0,))
    for name in ("bad", "good"):
        store.add_event(event(name))
    assert worker.wait("good", LONG)
    waiting = store.event("bad")
    assert (waiting.status, waiting.attempts, waiting.failures) == ("pending", 1, 1)
    assert worker.close(LONG)
    other = worker_of(store, attribute)  # the wait is the event's, whoever claims it
    assert not other.run_once()
    assert store.retry_events(["bad"]) == ["bad"]
    assert other.wait("bad", LONG)


@pytest.mark.slow
def test_a_failure_that_lasts_is_final(store, worker_of):
    failing = Failing(99)
    worker = worker_of(store, failing, max_attempts=2)
    worker.submit(event("e"))
    assert worker.wait("e", LONG)
    failed = store.event("e")
    assert (failed.status, failed.attempts) == ("failed", 2)
    assert failed.error == "ValueError: broken"
    assert failing.calls == 2


def test_what_cannot_be_attributed_as_it_is_fails_at_once(store, worker_of, caplog):
    failing = Failing(99, InvalidInputError("query must be a str that is not blank"))
    worker = worker_of(store, failing)
    worker.submit(event("e"))
    assert worker.wait("e", LONG)
    failed = store.event("e")
    assert (failed.status, failed.attempts, failing.calls) == ("failed", 1, 1)
    assert failed.error == "InvalidInputError: query must be a str that is not blank"
    assert "event e has failed for good, at attempt 1: InvalidInputError: query must" in caplog.text
    assert "`ragguard events retry`" in caplog.text
    assert "of 3 failures" not in caplog.text


def test_one_failing_event_does_not_stop_the_others(store, worker_of):
    def pick(flagged):
        if flagged.id == "bad":
            raise ValueError("broken")
        return attribute(flagged)

    worker = worker_of(store, pick)
    for name in ("bad", "good"):
        worker.submit(event(name))
    assert wait_all(worker, "bad", "good")
    assert store.event("bad").status == "failed"
    assert store.event("good").status == "done"


def test_a_quarantine_that_fails_is_a_failed_attempt(store, worker_of):
    calls = []

    def quarantine(flagged, attribution):
        calls.append(flagged.id)
        if len(calls) == 1:
            raise KeyError("quarantine")

    worker = worker_of(store, attribute, quarantine)
    worker.submit(event("e"))
    assert worker.wait("e", LONG)
    assert store.event("e").attempts == 2
    assert calls == ["e", "e"]


@pytest.mark.parametrize("queries_come", [True, False])
def test_the_worker_rests_after_an_event_only_while_queries_come(
    store, worker_of, monkeypatch, queries_come
):
    rested = threading.Event()

    def rest_s(used_s):
        assert used_s >= 0.0
        rested.set()
        return 0.0

    monkeypatch.setattr("ragguard.background.worker.rest_s", rest_s)
    worker = worker_of(store, queries_come=lambda: queries_come)
    first, second = event("first"), event("second")
    for one in (first, second):
        worker.submit(one)
        assert worker.wait(one.id, LONG)
    assert rested.is_set() == queries_come


def test_an_event_that_kills_its_workers_is_given_up(store, worker_of):
    store.add_event(event("e"))
    for _ in range(4):
        assert store.claim_event(lease_s=0) is not None
    counted = Failing(0)
    worker = worker_of(store, counted, max_starts=4)
    assert worker.wait("e", LONG)
    failed = store.event("e")
    assert failed.status == "failed"
    assert (
        failed.error == "given up after 4 starts: the process died, hung or was stopped each time"
    )
    assert counted.calls == 0


def test_being_killed_is_not_failing(store, worker_of):
    store.add_event(event("e"))
    for _ in range(8):
        assert store.claim_event(lease_s=0) is not None
    worker = worker_of(store, Failing(1))
    assert worker.wait("e", LONG)
    done = store.event("e")
    assert (done.status, done.attempts, done.failures) == ("done", 10, 1)


def test_what_is_given_back_is_no_start(store, worker_of):
    store.add_event(event("e"))
    for _ in range(12):
        attempt = store.claim_event(lease_s=3600).attempts
        store.fail_event("e", "closed", final=False, attempt=attempt, counts=False)
    worker = worker_of(store)
    assert worker.wait("e", LONG)
    assert (store.event("e").status, store.event("e").attempts) == ("done", 13)


def test_what_an_earlier_process_left_is_taken_up(store, worker_of):
    store.add_event(event("pending"))
    store.add_event(event("expired"))
    store.claim_event(lease_s=0)
    worker = worker_of(store)
    worker.start()
    assert worker.wait("pending", LONG)
    assert worker.wait("expired", LONG)


def test_what_another_worker_holds_is_left_alone(store, worker_of):
    store.add_event(event("held"))
    store.claim_event(lease_s=3600)
    worker = worker_of(store)
    worker.submit(event("mine"))
    assert worker.wait("mine", LONG)
    assert not worker.wait("held", 0)
    assert store.event("held").status == "running"
    store.finish_event("held", attribute(event("held")))
    assert worker.wait("held", LONG)


@pytest.mark.slow
def test_a_lease_is_kept_while_the_attribution_runs(store, worker_of):
    renewed = threading.Semaphore(0)
    renew_lease = store.renew_lease

    def renew(event_id, **options):
        held = renew_lease(event_id, **options)
        renewed.release()
        return held

    store.renew_lease = renew
    held = Held()
    worker = worker_of(store, held, lease_s=2.0)
    worker.submit(event("e"))
    for _ in range(4):  # more than a lease's length
        assert renewed.acquire(timeout=LONG)
        assert store.claim_event(lease_s=1.0) is None
    held.released.set()
    assert worker.wait("e", LONG)
    assert store.event("e").attempts == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_that_comes_too_late_writes_nothing(store, worker_of, caplog, fails):
    told = []

    def overtaken(flagged):
        # This process stood still, and another worker claimed the event.
        assert store.renew_lease("e", lease_s=0)
        assert store.claim_event(lease_s=3600).attempts == 2
        if fails:
            raise ValueError("broken")
        return attribute(flagged)

    worker = worker_of(store, overtaken, lambda *done: told.append(done), max_attempts=1)
    store.add_event(event("e"))
    assert worker.run_once()
    assert "attempt 1 to attribute event e came too late" in caplog.text
    assert told == []
    assert store.attribution("e") is None
    held = store.event("e")
    assert (held.status, held.attempts, held.error) == ("running", 2, None)
    assert store.finish_event("e", attribute(held), attempt=2)
    assert store.event("e").status == "done"


def test_a_worker_that_is_overtaken_at_the_last_step_leaves_the_other_result(store, worker_of):
    def quarantine(flagged, attribution):
        assert store.renew_lease("e", lease_s=0)
        later = store.claim_event(lease_s=3600)
        assert store.finish_event("e", attribute(event("other")), attempt=later.attempts)

    worker = worker_of(store, attribute, quarantine)
    store.add_event(event("e"))
    assert worker.run_once()
    assert store.attribution("e") == attribute(event("other"))


def test_a_lease_that_cannot_be_renewed_stops_nothing(worker_of, caplog):
    class Unrenewable(MemoryStore):
        def renew_lease(self, event_id, **options):
            failures.append(event_id)
            if len(failures) == 6:  # so those before have been logged
                tried_again.set()
            if len(failures) != 3:
                raise StoreError("down")
            return True

    failures: list[str] = []
    tried_again = threading.Event()
    store = Unrenewable()

    def slow(flagged):
        assert tried_again.wait(LONG)
        return attribute(flagged)

    worker = worker_of(store, slow, lease_s=0.03)
    worker.submit(event("e"))
    assert worker.wait("e", LONG)
    # Once in each outage, of which there are two.
    assert caplog.text.count("the lease of event e is not renewed: down") == 2


def test_waiting_for_nothing_known(store, worker_of):
    with pytest.raises(EventNotFoundError, match="'x'"):
        worker_of(store).wait("x", LONG)


def test_waiting_ends_with_the_time(store, worker_of):
    held = Held()
    worker = worker_of(store, held)
    worker.submit(event("e"))
    assert held.begun.wait(LONG)
    assert not worker.wait("e", 0)
    assert not worker.wait("e", 0.02)
    held.released.set()
    assert worker.wait("e")
    assert worker.wait("e", None)


def test_waiting_ends_with_the_worker(worker_of):
    store = MemoryStore()
    store.add_event(event("e"))
    store.claim_event(lease_s=3600)
    worker = worker_of(store)
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(worker.wait("e")))
    waiter.start()
    assert worker.close(LONG)
    waiter.join(LONG)
    assert answers == [False]


def test_a_store_that_is_down_keeps_events_in_memory(worker_of, caplog):
    store = BrokenStore("add_event", "claim_event")
    worker = worker_of(store)
    for i in range(3):
        worker.submit(event(f"{i}"))
    for _ in range(20):
        assert store.tried.acquire(timeout=LONG)
    assert not worker.wait("0", 0)
    store.down.clear()
    assert wait_all(worker, "0", "1", "2")
    assert sorted(e.id for e in store.events(status="done")) == ["0", "1", "2"]
    assert worker.outbox.lost == 0
    # Once a streak, not once a try.
    assert caplog.text.count("events wait in memory, the store fails: down") == 1
    assert caplog.text.count("no events can be claimed, the store fails: down") == 1


def test_a_full_queue_drops_and_counts(worker_of, caplog):
    store = BrokenStore("add_event")
    worker = worker_of(store, max_unsaved=2)
    with caplog.at_level(logging.ERROR):
        for i in range(7):  # none is on its way to the store, which makes room for others
            worker.outbox.put(event(f"{i}"))
    assert worker.outbox.lost == 5
    assert [r.args[2] for r in caplog.records if "is lost" in r.message] == [1, 2, 4]
    store.down.clear()
    worker.start()
    worker.outbox.work.set()
    assert wait_all(worker, "0", "1")
    assert sorted(e.id for e in store.events()) == ["0", "1"]


def test_an_event_that_the_store_refuses_blocks_no_other(worker_of, caplog):
    class Picky(MemoryStore):
        def add_event(self, event):
            if event.id == "bad":
                raise InvalidInputError("cannot hold this")
            if event.id == "stuck" and "good" not in self._events:
                raise StoreError("not now")
            super().add_event(event)

    store = Picky()
    worker = worker_of(store)
    for name in ("bad", "stuck", "good"):
        worker.submit(event(name))
    assert wait_all(worker, "stuck", "good")
    assert sorted(e.id for e in store.events(status="done")) == ["good", "stuck"]
    assert worker.outbox.lost == 1
    assert "event bad is lost: the store refused it: cannot hold this" in caplog.text
    with pytest.raises(EventLostError, match=r"refused it: cannot hold this; .* without that$"):
        worker.wait("bad", LONG)


def test_a_result_waits_for_a_store_that_is_down(worker_of):
    store = BrokenStore("finish_event")
    counted = Failing(0)
    worker = worker_of(store, counted)
    worker.submit(event("e"))
    for _ in range(5):
        assert store.tried.acquire(timeout=LONG)
    store.down.clear()
    assert worker.wait("e", LONG)
    assert counted.calls == 1
    assert store.event("e").attempts == 1


def test_a_failure_waits_for_a_store_that_is_down(worker_of):
    store = BrokenStore("fail_event")
    worker = worker_of(store, Failing(1))
    worker.submit(event("e"))
    for _ in range(5):
        assert store.tried.acquire(timeout=LONG)
    store.down.clear()
    assert worker.wait("e", LONG)
    assert store.event("e").attempts == 2


def test_a_result_that_cannot_be_stored_for_long_is_left_to_the_lease(worker_of, caplog):
    store = BrokenStore("finish_event", "fail_event")
    worker = worker_of(store, lease_s=0.01)
    store.add_event(event("e"))
    assert worker.run_once()
    assert store.event("e").status == "running"
    assert "event e stays claimed until its lease ends: down" in caplog.text


def test_close_persists_what_was_submitted(store):
    # No thread ever ran: as when the interpreter could not start one.
    worker = Worker(store, Steps(attribute))
    worker.start = lambda: None
    worker.submit(event("e"))
    assert store.events() == []
    assert worker.close(LONG)
    assert [e.id for e in store.events()] == ["e"]
    assert not worker.submit(event("late"))
    assert worker.outbox.lost == 1
    assert worker.close(LONG)


def test_close_lets_the_running_attribution_end(store):
    held = Held()
    worker = Worker(store, Steps(held))
    worker.submit(event("a"))
    assert held.begun.wait(LONG)
    worker.submit(event("b"))
    closed = []
    closer = threading.Thread(target=lambda: closed.append(worker.close(LONG)))
    closer.start()
    assert worker.outbox.stop.wait(LONG)
    held.released.set()
    closer.join(LONG)
    assert closed == [True]
    assert store.event("a").status == "done"
    assert store.event("b").status == "pending"


def test_close_gives_back_what_does_not_end(store, caplog):
    held, told = Held(), []
    worker = Worker(store, Steps(held, lambda *done: told.append(done)))
    worker.submit(event("e"))
    assert held.begun.wait(LONG)
    assert not worker.close(0.01)
    assert not worker.close(0.01)
    (warning,) = [one for one in caplog.messages if "event e" in one]
    assert re.fullmatch(
        r"event e is given back: its worker was closed 0\.\d s after it had begun, and its "
        "attribution has not ended; give the model a time-out",
        warning,
    )
    assert [one.name for one in worker.threads] == ["ragguard-attribute"]
    assert worker.attributing_s == 0.0
    given_back = store.event("e")
    assert (given_back.status, given_back.attempts, given_back.failures) == ("pending", 1, 0)
    assert given_back.error.startswith("its worker was closed")
    anew = store.claim_event(lease_s=3600)
    held.released.set()
    assert worker.close(LONG)
    assert store.event("e") == anew  # what runs on writes nothing
    assert told == []


def test_close_does_not_wait_for_a_store_that_does_not_take_back(monkeypatch, caplog):
    monkeypatch.setattr("ragguard.background.worker._GIVE_BACK_S", 0.01)
    held, store = Held(), BrokenStore("fail_event")
    worker = Worker(store, Steps(held))
    worker.submit(event("e"))
    assert held.begun.wait(LONG)
    assert not worker.close(0.01)
    held.released.set()
    assert worker.close(LONG)
    assert "event e stays claimed until its lease ends: down" in caplog.text
    assert store.event("e").status == "running"


def test_close_does_not_wait_for_the_next_look(store):
    worker = Worker(store, Steps(attribute), poll_s=3600)
    worker.submit(event("e"))
    assert worker.wait("e", LONG)
    assert worker.close(LONG)


def test_close_tells_what_could_not_be_persisted(caplog):
    store = BrokenStore("add_event")
    worker = Worker(store, Steps(attribute))
    worker.submit(event("e"))
    assert not worker.close(LONG)
    assert "1 events are lost, the store fails: down" in caplog.text
    worker.outbox.finish(LONG)  # as at exit
    assert caplog.text.count("are lost") == 1
    store.down.clear()
    assert worker.close(LONG)
    assert store.event("e").status == "pending"


def test_submit_survives_a_system_without_threads(store, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    worker = Worker(store, Steps(attribute))
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", refuse)
        worker.submit(event("e"))
    assert worker.wait("e", LONG)
    assert worker.close(LONG)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced(store, worker_of):
    calls = []

    def leave(flagged):
        calls.append(flagged.id)
        if len(calls) == 1:
            raise SystemExit
        return attribute(flagged)

    worker = worker_of(store, leave)
    worker.submit(event("a"))
    worker._thread.join(LONG)
    assert store.event("a").error == "the worker was interrupted"
    worker.submit(event("b"))
    assert wait_all(worker, "a", "b")
    assert calls == ["a", "a", "b"]


def test_run_once_takes_one_event(store):
    worker = Worker(store, Steps(Failing(1)), retry_s=(1e-9,))
    assert not worker.run_once()
    for name in ("a", "b"):
        store.add_event(event(name))
    assert worker.run_once()
    assert store.event("a").error == "ValueError: broken"
    assert worker.run_once()
    assert store.event("a").status == "done"
    assert store.event("b").status == "pending"
    worker.close()


def test_run_once_says_when_the_store_fails():
    worker = Worker(BrokenStore("claim_event"), Steps(attribute))
    with pytest.raises(StoreError, match="down"):
        worker.run_once()


def test_ctrl_c_gives_the_event_back(store, caplog):
    store.add_event(event("e"))
    worker = Worker(store, Steps(Failing(1, KeyboardInterrupt())))
    with pytest.raises(KeyboardInterrupt):
        worker.run_once()
    given_back = store.event("e")
    assert (given_back.status, given_back.failures) == ("pending", 0)
    assert "event e is given back: the worker was interrupted" in caplog.text
    assert store.claim_event(lease_s=1.0) is not None
    worker.close()


def test_run_forever_runs_until_it_is_stopped(store):
    stop, seen = threading.Event(), []

    def last_stops(flagged):
        seen.append(flagged.id)
        if flagged.id == "2":
            stop.set()
        return attribute(flagged)

    for i in range(4):
        store.add_event(event(f"{i}"))
    Worker(store, Steps(last_stops)).run_forever(stop)
    assert seen == ["0", "1", "2"]
    assert store.event("2").status == "done"
    assert store.event("3").status == "pending"


def test_another_worker_takes_what_runs_too_long(store, worker_of, caplog):
    held = Held()
    stuck = worker_of(store, held, lease_s=0.6, max_run_s=0.01)
    stuck.submit(event("e"))
    assert held.begun.wait(LONG)
    assert stuck.attributing_s > 0.0
    other = worker_of(store, attribute)
    assert other.wait("e", LONG)
    assert store.event("e").attempts == 2
    assert "event e has been attributed for 0.01 s" in caplog.text
    held.released.set()
    stuck.close(LONG)
    assert stuck.attributing_s == 0.0
    assert (store.event("e").status, store.event("e").attempts) == ("done", 2)


def test_close_gives_back_what_has_run_too_long(store, caplog):
    held = Held()
    worker = Worker(store, Steps(held), poll_s=0.01, lease_s=0.3, max_run_s=0.01)
    worker.submit(event("e"))
    deadline = time.monotonic() + LONG
    while "event e has been attributed for 0.01 s" not in caplog.text:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert store.event("e").status == "running"
    assert worker.attributing_s > 0.0
    assert not worker.close(0.01)
    assert store.event("e").status == "pending"
    held.released.set()
    assert worker.close(LONG)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_in_the_child_of_a_fork_nothing_is_attributed(store):
    held = Held()
    worker = Worker(store, Steps(held), poll_s=0.01)
    worker.submit(event("e"))
    assert held.begun.wait(LONG)
    child = os.fork()
    if child == 0:
        os._exit(0 if worker.attributing_s == 0.0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert worker.attributing_s > 0.0
    held.released.set()
    assert worker.close(LONG)


def test_events_that_others_finished_are_forgotten(store, worker_of):
    worker = worker_of(store, poll_s=3600)
    worker.start = lambda: None
    worker.submit(event("e"))
    worker.submit(event("f"))
    worker.outbox.finish(LONG)
    assert worker.outbox.passageless() == ["e", "f"]
    store.finish_event("e", attribute(event("e")))
    worker.outbox.forget_settled()
    assert worker.outbox.passageless() == ["f"]


def test_a_worker_that_does_not_attribute_remembers_no_events_without_passages(store, worker_of):
    worker = worker_of(store, attributes=False)
    worker.submit(event("e"))
    assert worker.outbox.passageless() == []
    worker.outbox.finish(LONG)
    assert store.event("e").status == "pending"


@pytest.mark.parametrize(
    "option",
    ["max_attempts", "max_starts", "lease_s", "max_run_s", "poll_s", "max_unsaved"],
)
def test_options_that_make_no_sense(option):
    with pytest.raises(InvalidInputError, match=option):
        Worker(MemoryStore(), Steps(attribute), **{option: 0})


@pytest.mark.parametrize("waits", [(), (1.0, 0.0)])
def test_waits_that_make_no_sense(waits):
    with pytest.raises(InvalidInputError, match="retry_s"):
        Worker(MemoryStore(), Steps(attribute), retry_s=waits)


@pytest.mark.slow
def test_threads_of_one_store_attribute_each_event_once(store, worker_of):
    def count(flagged):
        store.add_counts({flagged.id: 1})
        return attribute(flagged)

    workers = [worker_of(store, count) for _ in range(4)]
    for i in range(40):
        workers[i % 4].submit(event(f"{i}"))
    for i, worker in enumerate(workers):
        assert wait_all(worker, *map(str, range(i, 40, 4)))
    assert store.counts() == {f"{i}": 1 for i in range(40)}


# What follows needs real processes.

PRELUDE = """
import os, sys, threading, warnings
from ragguard.attribution.result import Attribution
from ragguard.audit import Event, open_store
from ragguard.background import Worker
warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of threads before a fork

def attribute(flagged):
    return Attribution(flagged.query, flagged.response, "test", [], [], 0, "model", "why")

class Steps:
    def __init__(self, attribute):
        self.attribute = attribute

    def quarantine(self, event, attribution):
        pass

store = open_store(sys.argv[1])
"""


def spawn(code, *args):
    return processes.spawn(PRELUDE + textwrap.dedent(code), *args)


@pytest.mark.slow
def test_processes_attribute_each_event_once(sql_url, open_sql):
    store = open_sql()
    code = """
        def count(flagged):
            store.add_counts({flagged.id: 1})
            return attribute(flagged)
        name = sys.argv[2]
        workers = [Worker(store, Steps(count), poll_s=0.01) for _ in range(2)]
        print("ready", flush=True)
        sys.stdin.readline()
        for i in range(20):
            workers[i % 2].submit(Event(f"{name}-{i}", "q", "r"))
        for i in range(20):
            assert workers[i % 2].wait(f"{name}-{i}", 90)
        for worker in workers:
            assert worker.close(60)
        store.close()
        """
    children = [spawn(code, sql_url, name) for name in "abc"]
    begin(*children)
    for child in children:
        output(child)
    assert store.counts() == {f"{name}-{i}": 1 for name in "abc" for i in range(20)}
    assert len(store.events(status="done")) == 60


@pytest.mark.slow
def test_a_killed_process_loses_nothing(sql_url, open_sql, worker_of):
    store = open_sql()
    child = spawn(
        """
        def hang(flagged):
            print("begun", flagged.id, flush=True)
            threading.Event().wait()
        worker = Worker(store, Steps(hang), lease_s=0.5)
        worker.submit(Event("running", "q", "r"))
        sys.stdin.readline()
        worker.submit(Event("pending", "q", "r"))
        while worker.outbox.unsaved:
            threading.Event().wait(0.01)
        print("saved", flush=True)
        threading.Event().wait()
        """,
        sql_url,
    )
    assert child.stdout.readline() == "begun running\n"
    child.stdin.write("go\n")
    child.stdin.flush()
    assert child.stdout.readline() == "saved\n"
    child.kill()
    child.communicate(timeout=60)
    assert store.event("running").status == "running"
    assert store.event("pending").status == "pending"
    worker = worker_of(store)
    assert worker.wait("running", LONG)
    assert worker.wait("pending", LONG)
    assert store.event("running").attempts == 2
    assert {e.status for e in store.events()} == {"done"}


@pytest.mark.slow
def test_exit_persists_what_the_thread_did_not(sql_url, open_sql):
    child = spawn(
        """
        import atexit
        from ragguard.errors import StoreError
        add_events, leaving = store.add_events, threading.Event()

        def add_at_exit_only(flagged):
            if not leaving.is_set():
                raise StoreError("down")
            add_events(flagged)

        store.add_events = add_at_exit_only
        worker = Worker(store, Steps(attribute))
        atexit.register(leaving.set)
        import logging
        logging.disable()
        for i in range(10):
            worker.submit(Event(f"{i}", "q", "r"))
        """,
        sql_url,
    )
    output(child)
    assert {e.id for e in open_sql().events()} == {f"{i}" for i in range(10)}


@pytest.mark.slow
def test_a_fork_has_its_own_queue_and_threads(sql_url, open_sql):
    child = spawn(
        """
        worker = Worker(store, Steps(attribute), poll_s=0.01)
        worker.submit(Event("parent", "q", "r"))
        assert worker.wait("parent", 60)
        pid = os.fork()
        if pid == 0:
            try:
                assert not worker.threads
                worker.submit(Event("child", "q", "r"))
                assert worker.wait("child", 60)
                assert worker.wait("parent", 60)
                assert worker.close(60)
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(1)
            os._exit(0)
        print(os.waitpid(pid, 0)[1])
        worker.submit(Event("after", "q", "r"))
        assert worker.wait("after", 60)
        assert worker.close(60)
        store.close()
        """,
        sql_url,
    )
    assert output(child) == "0\n"
    assert {e.id: e.status for e in open_sql().events()} == {
        "parent": "done",
        "child": "done",
        "after": "done",
    }


@pytest.mark.slow
def test_a_fork_in_the_midst_of_submits_does_not_hang(tmp_path):
    child = spawn(
        """
        worker = Worker(store, Steps(attribute), poll_s=0.01)
        stop = threading.Event()

        def submit():
            while not stop.is_set():
                worker.submit(Event("again and again", "q", "r"))

        thread = threading.Thread(target=submit)
        thread.start()
        statuses = []
        for n in range(10):
            pid = os.fork()
            if pid == 0:
                worker.submit(Event(f"c{n}", "q", "r"))
                os._exit(0 if worker.wait(f"c{n}", 60) else 1)
            statuses.append(os.waitpid(pid, 0)[1])
        stop.set()
        thread.join()
        print(statuses == [0] * 10)
        assert worker.close(60)
        store.close()
        """,
        str(tmp_path / "audit.db"),
    )
    assert output(child) == "True\n"
