"""Many reports: one claim again and again, one reporter's thousands, and what is lost of them."""

import threading
import time

import pytest

from ragguard import Guard
from ragguard.attribution.result import Attribution
from ragguard.audit import Event, MemoryStore
from ragguard.background import Worker
from ragguard.background.attribute_event import EventAttributor
from ragguard.errors import EventLostError, EventNotFoundError, InvalidInputError, StoreError

WAIT = 60.0
QUERY = "Who built the pier?"


class Fast:
    """Blames nobody, at once."""

    def attribute(self, query, response, retrieve):
        return Attribution(query, response, "fast", [], [], 0, "unclear", "nobody")


class Blaming(Fast):
    def attribute(self, query, response, retrieve):
        found = list(retrieve(query, 1))
        return Attribution(query, response, "fast", found, [], 1, "poisoning", "the first")


class Hanging(MemoryStore):
    """A store that takes nothing until it is let."""

    def __init__(self):
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def add_events(self, events):
        self.asked.set()
        assert self.go.wait(WAIT)
        super().add_events(events)


class Down(MemoryStore):
    def add_events(self, events):
        raise StoreError("down")


@pytest.fixture(params=["memory", "sqlite"])
def url(request, tmp_path):
    return None if request.param == "memory" else str(tmp_path / "audit.db")


@pytest.mark.slow
def test_a_flood_of_one_claim_is_one_event(url):
    with Guard(attributor=Fast(), store=url) as guard:
        first = guard.report(QUERY, "Bob Crane", passages=["wool"], reporter="ann")
        guard.attribution(first, timeout=WAIT)
        for i in range(100_000):
            again = guard.report(QUERY.upper(), " bob crane", passages=["wool"], reporter="ann")
            if i % 1000 == 0:  # the hour may end meanwhile
                assert again == first or guard.store.event(again)
        last = guard.report(QUERY, "Bob Crane", passages=["wool"], reporter="bob", wait=WAIT)
        guard.report(QUERY, "Bob Crane", passages=["wool"], reporter="ann", wait=WAIT)
        events = guard.store.events()
    (of_bob,) = [event for event in events if event.reporter == "bob"]
    assert (of_bob.id, of_bob.reports) == (last, 1)
    assert len(events) <= 3
    assert sum(event.reports for event in events) == 100_003


def test_what_is_reported_again_after_a_quarantine_is_attributed_anew(url):
    with Guard(attributor=Blaming(), store=url) as guard:
        first = guard.report(QUERY, "Bob Crane", passages=["wool"])
        guard.attribution(first, timeout=WAIT)
        guard.confirm(*guard.proposals())
        again = guard.report(QUERY, "Bob Crane", passages=["wool"])
        assert again != first
        assert guard.attribution(again, timeout=WAIT).cause == "poisoning"


@pytest.mark.slow
def test_a_flood_of_one_reporter_holds_up_nobody_else(url):
    # Kept until it is asked for, however many of the flood are done by then.
    store = url or MemoryStore(max_finished=30_000)
    with Guard(attributor=Fast(), store=store) as guard:
        stop, done = threading.Event(), []

        def flood():
            for i in range(20_000):
                if stop.is_set():
                    return
                guard.report(f"{QUERY} {i}", "Bob Crane", reporter="mallory")
            done.append(True)

        thread = threading.Thread(target=flood)
        thread.start()
        honest = []
        while thread.is_alive() and len(honest) < 20:
            honest.append(guard.report(f"{QUERY} {len(honest)}", "Ann Dale", reporter="ann"))
            time.sleep(0.05)
        thread.join(WAIT)
        while len(honest) < 20:
            honest.append(guard.report(f"{QUERY} {len(honest)}", "Ann Dale", reporter="ann"))
        ended = time.monotonic() + 60
        for event in honest:
            guard.attribution(event, timeout=max(0.0, ended - time.monotonic()))
        stop.set()
        assert done
        assert {guard.store.event(event).status for event in honest} == {"done"}


@pytest.mark.slow
def test_twenty_reports_behind_a_backlog_of_thousands_are_attributed_within_a_minute(store):
    store.add_events([Event(f"m{i}", QUERY, "r", reporter="mallory") for i in range(20_000)])
    honest = [Event(f"a{i}", QUERY, "r", reporter=f"user {i % 5}") for i in range(20)]
    worker = Worker(store, EventAttributor(store, attributor=Fast()))
    for event in honest:
        assert worker.submit(event)
    deadline = time.monotonic() + 60
    assert all(worker.wait(event.id, deadline - time.monotonic()) for event in honest)
    assert len(store.events(status="pending", limit=20_000)) > 5_000
    worker.close(WAIT)


@pytest.mark.slow
def test_one_reporter_cannot_fill_the_store(url, monkeypatch):
    monkeypatch.setattr("ragguard.background.outbox._HOURLY_BYTES", 1_000_000)
    with Guard(attributor=Fast(), store=url) as guard:
        for i in range(30):
            guard.report(QUERY, f"x{i}", passages=["wool " * 9_000], reporter="ann")
        with pytest.raises(EventLostError, match=r"too much within the hour; .* in the next$"):
            guard.report(QUERY, "more", passages=["wool " * 9_000], reporter="ann", wait=WAIT)
        of_bob = guard.report(QUERY, "x", passages=["wool"], reporter="bob", wait=WAIT)
        assert guard.attribution(of_bob, WAIT).cause == "unclear"
        stored = guard.store.events(limit=100)
    assert sum(event.nbytes for event in stored) <= 1_010_000
    assert guard.health().reports_lost == 32 - len(stored)


@pytest.mark.slow
def test_what_was_lost_is_counted_and_said():
    store = Hanging()
    with Guard(attributor=Fast(), store=store) as guard:
        ids = [guard.report(QUERY, f"{i}", reporter="mallory") for i in range(2_000)]
        lost = guard._parts.worker.outbox.lost
        assert lost >= 2_000 - 1_000 - 200
        with pytest.raises(EventLostError, match=f"{ids[-1]} was lost: too many reports wait"):
            guard.attribution(ids[-1])
        with pytest.raises(EventLostError, match=r"again, with wait=True to be told at once$"):
            guard.attribution(ids[-1])
        with pytest.raises(EventNotFoundError):  # which it is, too
            guard.attribution(ids[-1], timeout=WAIT)
        kept = guard.report(QUERY, "Ann Dale", reporter="ann")
        assert guard._parts.worker.outbox.lost == lost + 1  # for her one of the flood's is dropped
        store.go.set()
        assert guard.attribution(kept, timeout=WAIT).response == "Ann Dale"
        assert guard.attribution(ids[0], timeout=WAIT).response == "0"
        again = guard.report(QUERY, f"{1_999}", reporter="mallory", wait=WAIT)
        assert guard.attribution(again, timeout=WAIT).response == "1999"
    assert store.counts()["reports_lost"] == lost + 1


@pytest.mark.slow
def test_report_waits_until_the_event_is_durable(sql_url, open_sql):
    with Guard(attributor=Fast(), store=open_sql()) as guard:
        for i in range(20):
            event = guard.report(QUERY, f"{i}", wait=True)
            assert open_sql().event(event).response == f"{i}"


def test_waiting_ends_when_the_store_does_not_answer():
    store = Hanging()
    with Guard(attributor=Fast(), store=store) as guard:
        with pytest.raises(StoreError, match=r"not in the audit store after 0\.05 s; it waits in"):
            guard.report(QUERY, "Bob Crane", wait=0.05)
        store.go.set()
        event = guard.report(QUERY, "Bob Crane", wait=True)
        assert guard.store.event(event).reports == 2


def test_waiting_for_a_report_that_is_lost_says_so():
    guard = Guard(attributor=Fast())
    guard.close()
    with pytest.raises(EventLostError, match="was lost: the guard is closed; report it to another"):
        guard.report(QUERY, "Bob Crane", wait=True)
    assert guard.report(QUERY, "Ann Dale")


@pytest.mark.parametrize("wait", ["soon", -1, None])
def test_how_long_to_wait_is_a_number(wait):
    with Guard(attributor=Fast()) as guard, pytest.raises(InvalidInputError, match="wait"):
        guard.report(QUERY, "Bob Crane", wait=wait)


def test_reporting_does_not_wait_for_a_store_that_is_down():
    with Guard(attributor=Fast(), store=Down()) as guard:
        started = time.monotonic()
        for i in range(100):
            guard.report(QUERY, f"{i}")
        assert time.monotonic() - started < 5
        assert guard._parts.worker.outbox.unsaved == 100
