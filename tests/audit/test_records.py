"""What an event tells of itself."""

import os
import pickle
import signal
import threading
from dataclasses import replace

import pytest

from ragguard import Passage
from ragguard.audit import Event
from ragguard.audit.fair_queueing import lane_of


def test_what_is_worked_out_once_is_of_this_event_alone():
    event = Event("e", "who?", "me", (Passage("the pier"),), "ann", tenant="acme")
    plain = replace(event)
    assert event.lane is event.lane == lane_of("ann", "acme")
    before = event.nbytes
    assert event == plain
    assert repr(event) == repr(plain)
    assert pickle.loads(pickle.dumps(event)) == event
    other = replace(event, reporter="bo", query="who" * 1_000)
    assert other.lane == lane_of("bo", "acme")
    assert other.nbytes > before + 2_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_while_a_lane_is_worked_out_holds_up_no_other(monkeypatch):
    begun, goes_on = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        assert goes_on.wait(60)
        return "lane"

    monkeypatch.setattr("ragguard.audit.records.lane_of", slow)
    thread = threading.Thread(target=lambda: Event("a", "who?", "me").lane)
    thread.start()
    assert begun.wait(60)
    monkeypatch.undo()
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # a deadlock ends the child, and the test fails
        os._exit(0 if Event("b", "who?", "me").lane else 1)
    goes_on.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
