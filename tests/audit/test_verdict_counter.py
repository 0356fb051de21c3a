"""Counters: counted in memory, written by a thread, never lost between the two."""

import gc
import logging
import os
import signal
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragguard.audit import MemoryStore
from ragguard.audit.verdict_counter import VerdictCounter
from ragguard.errors import StoreError

NEVER = 3600.0  # seconds between two writes: only `flush` and `close` write
OFTEN = 0.005


class Watched(MemoryStore):
    """Says when counts were written; fails, or waits, while told to."""

    def __init__(self):
        super().__init__()
        self.failing = False
        self.entered, self.written = threading.Event(), threading.Event()
        self.release = threading.Event()
        self.release.set()
        self.writes = 0

    def add_counts(self, counts):
        self.entered.set()
        assert self.release.wait(60)
        if self.failing:
            raise StoreError("down")
        super().add_counts(counts)
        self.writes += 1
        self.written.set()


@pytest.fixture
def store():
    return Watched()


def counter_on(store, interval_s):
    counter = VerdictCounter(store)
    counter._interval_s = interval_s
    return counter


def test_counts_add_up_and_zeros_do_not_count(store):
    counter = counter_on(store, NEVER)
    counter.add(queries=1, dropped=3, errors=0)
    counter.add(queries=1, dropped=2)
    assert store.counts() == {}
    counter.flush()
    assert store.counts() == {"queries": 2, "dropped": 5}
    counter.flush()
    assert store.writes == 1
    counter.close()


def test_the_thread_writes_by_itself(store):
    counter = counter_on(store, OFTEN)
    counter.add(queries=1)
    assert store.written.wait(60)
    assert store.counts() == {"queries": 1}
    store.written.clear()
    counter.add(queries=1)
    assert store.written.wait(60)
    assert store.counts() == {"queries": 2}
    counter.close()


def test_no_thread_runs_before_the_first_count(store):
    before = threading.active_count()
    counter = counter_on(store, NEVER)
    assert threading.active_count() == before
    counter.close()


def test_close_writes_the_last_counts_and_ends_the_thread(store):
    counter = counter_on(store, NEVER)
    counter.add(queries=1)
    thread = counter._thread
    counter.close()
    assert store.counts() == {"queries": 1}
    assert not thread.is_alive()
    counter.add(queries=1)  # a late query: counted, written by nobody but flush
    counter.flush()
    assert store.counts() == {"queries": 2}
    counter.close()


def test_close_waits_for_the_write_that_is_under_way(store):
    counter = counter_on(store, OFTEN)
    store.release.clear()
    counter.add(queries=1)
    assert store.entered.wait(60)
    closing = threading.Thread(target=counter.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    assert store.counts() == {}
    store.release.set()
    closing.join(60)
    assert store.counts() == {"queries": 1}


def test_a_failing_store_loses_nothing(store, caplog):
    counter = counter_on(store, NEVER)
    store.failing = True
    with caplog.at_level(logging.WARNING, "ragguard"):
        counter.add(queries=1)
        counter.flush()
        counter.add(queries=1, errors=1)
        counter.flush()
    (told,) = caplog.messages
    assert told.startswith("counts of verdicts cannot be written and wait in memory; mend the")
    assert told.endswith("trying again later: down")
    store.failing = False
    counter.close()
    assert store.counts() == {"queries": 2, "errors": 1}


def test_a_store_that_is_down_is_told_of_once(store, caplog):
    counter = counter_on(store, NEVER)
    counter.add(queries=1)
    for outages in (1, 2):
        store.failing = True
        for _ in range(5):
            counter.flush()
        assert caplog.text.count("trying again later: down") == outages
        store.failing = False
        counter.flush()
        counter.add(queries=1)
    counter.close()


def test_the_thread_outlives_a_failing_store(store):
    counter = counter_on(store, OFTEN)
    store.failing = True
    counter.add(queries=1)
    assert store.entered.wait(60)
    store.failing = False
    assert store.written.wait(60)
    counter.close()
    assert store.counts() == {"queries": 1}


def test_the_thread_outlives_whatever_a_store_raises(store, monkeypatch):
    counter = counter_on(store, OFTEN)

    def fail(counts):
        store.entered.set()
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(store, "add_counts", fail)
        counter.add(queries=1)
        assert store.entered.wait(60)
    assert store.written.wait(60)
    counter.close()
    assert store.counts() == {"queries": 1}


def test_close_says_what_is_not_written(store, caplog):
    counter = counter_on(store, NEVER)
    counter.add(queries=2, errors=1)
    store.failing = True
    with caplog.at_level(logging.ERROR, "ragguard"):
        counter.close()
    assert counter.unwritten == 2
    assert "the verdicts of 2 queries are not in the counters" in caplog.text


def test_close_does_not_wait_for_ever(store):
    counter = counter_on(store, NEVER)
    store.release.clear()
    counter.add(queries=2)
    counter.close(timeout=0.1)
    assert counter.unwritten == 2
    store.release.set()
    counter.close(timeout=60)
    assert counter.unwritten == 0


def test_close_does_not_wait_for_ever_where_the_last_write_has_failed(store):
    counter = counter_on(store, NEVER)
    counter.add(queries=2)
    store.failing = True
    counter.close()
    store.release.clear()  # a server that holds a lock: each write fails once it has waited
    counter.close(timeout=0.1)
    assert counter.unwritten == 2
    store.release.set()


def test_threads_lose_no_count(store):
    counter = counter_on(store, OFTEN)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(8):
                pool.submit(lambda: [counter.add(queries=1, passages=5) for _ in range(500)])
    finally:
        sys.setswitchinterval(switch)
    counter.close()
    assert store.counts() == {"queries": 4000, "passages": 20000}


def test_counting_goes_on_where_no_thread_can_be_started(store, monkeypatch, caplog):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    counter = counter_on(store, OFTEN)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "ragguard"):
        patched.setattr(threading.Thread, "start", refuse)
        counter.add(queries=1)
    assert "can't start new thread" in caplog.text
    counter.add(queries=1)
    assert store.written.wait(60)
    counter.close()
    assert store.counts() == {"queries": 2}


@pytest.mark.slow
def test_a_counter_that_nobody_holds_goes(store):
    counter = counter_on(store, OFTEN)
    counter.add(queries=1)
    thread, gone = counter._thread, weakref.ref(counter)
    assert store.written.wait(60)
    del counter
    thread.join(60)
    gc.collect()
    assert gone() is None
    assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_counts_nothing_twice_and_the_child_goes_on_counting(store):
    counter = counter_on(store, NEVER)
    counter.add(queries=1)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a deadlock ends the child, and the test fails
        try:
            counter.flush()
            inherited = store.counts()
            counter.add(queries=5)
            counter.close()
            os._exit(0 if (inherited, store.counts()) == ({}, {"queries": 5}) else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    counter.close()
    assert store.counts() == {"queries": 1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_closed_counter_stays_closed_in_the_child(store):
    counter = counter_on(store, OFTEN)
    counter.close()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        counter.add(queries=1)
        os._exit(0 if counter._thread is None else 1)
    assert os.waitpid(child, 0)[1] == 0
