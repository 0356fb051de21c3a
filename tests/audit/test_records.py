"""What an event tells of itself."""

import pickle
from dataclasses import replace

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
