"""The watchdog, on a pair of sockets of which one end says nothing."""

import os
import signal
import socket
import threading
import time

import pytest

from ragguard.audit.postgres import Watchdog

LONG = 60.0


@pytest.fixture
def ends():
    near, far = socket.socketpair()
    yield near, far
    near.close()
    far.close()


def test_a_wait_that_lasts_too_long_is_ended(ends):
    near, _ = ends
    near.settimeout(LONG)
    with Watchdog().limit(near, 0.1) as answer:
        assert near.recv(1) == b""
    assert answer.overdue


def test_an_answer_in_time_is_received(ends):
    near, far = ends
    near.settimeout(LONG)
    watchdog = Watchdog()
    for _ in range(3):
        with watchdog.limit(near, LONG) as answer:
            far.sendall(b"x")
            assert near.recv(1) == b"x"
        assert not answer.overdue


def test_what_is_over_is_not_cut(ends):
    near, far = ends
    near.settimeout(LONG)
    watchdog = Watchdog()
    with watchdog.limit(near, 0.05) as over:
        pass
    other, silent = socket.socketpair()
    other.settimeout(LONG)
    with watchdog.limit(other, 0.3):  # ends once the watchdog has looked
        assert other.recv(1) == b""
    assert not over.overdue
    far.sendall(b"x")
    assert near.recv(1) == b"x"
    other.close()
    silent.close()


def test_only_what_is_overdue_is_cut_of_many(ends):
    near, far = ends
    near.settimeout(LONG)
    watchdog = Watchdog()
    other, silent = socket.socketpair()
    other.settimeout(LONG)
    with watchdog.limit(near, LONG):
        with watchdog.limit(other, 0.1):
            assert other.recv(1) == b""
        far.sendall(b"x")
        assert near.recv(1) == b"x"
    other.close()
    silent.close()


def test_a_connection_that_cannot_be_cut_stops_nothing(ends):
    class Gone:
        def fileno(self):
            raise OSError("closed")

    near, _ = ends
    near.settimeout(LONG)
    watchdog = Watchdog()
    with watchdog.limit(Gone(), 0.0), watchdog.limit(near, 0.1):
        assert near.recv(1) == b""


def test_one_thread_serves_all_and_sleeps_when_nothing_is_waited_for(ends):
    near, _ = ends
    watchdog = Watchdog()
    before = threading.active_count()
    for _ in range(5):
        with watchdog.limit(near, LONG):
            pass
    assert threading.active_count() == before + 1
    deadline = time.monotonic() + LONG
    while not watchdog._asleep:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_waiting_goes_on_where_no_thread_can_be_started(ends, monkeypatch, caplog):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    near, far = ends
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with Watchdog().limit(near, 0.0):
            far.sendall(b"x")
            assert near.recv(1) == b"x"
    assert "can't start new thread" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_has_a_watchdog_of_its_own(ends):
    near, _ = ends
    near.settimeout(LONG)
    watchdog = Watchdog()
    with watchdog.limit(near, LONG):
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # a deadlock ends the child, and the test fails
            pair = socket.socketpair()
            with watchdog.limit(pair[0], 0.1) as answer:
                ended = pair[0].recv(1) == b""
            os._exit(0 if ended and answer.overdue else 1)
        assert os.waitpid(child, 0)[1] == 0
