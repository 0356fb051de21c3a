"""Events that are put back to be attributed again, in memory, SQLite and PostgreSQL."""

from dataclasses import replace

import pytest

from ragguard import Passage
from ragguard.audit import Event, MemoryStore
from ragguard.errors import EventNotFoundError
from tests.audit.conftest import attribution
from tests.processes import begin, output, spawn


def event(event_id, **fields):
    return Event(event_id, "who?", "me", **fields)


def failed(store, *event_ids, **fields):
    for event_id in event_ids:
        store.add_event(event(event_id, **fields))
        store.claim_event(lease_s=3600)
        store.fail_event(event_id, "down", final=True)


def test_a_failed_event_begins_anew_and_keeps_its_attempts(store):
    store.add_event(event("e"))
    for final in (False, False, True):
        attempt = store.claim_event(lease_s=3600).attempts
        store.fail_event("e", "down", final=final, attempt=attempt)
    before = store.event("e")
    assert store.retry_events(["e"]) == ["e"]
    anew = {"status": "pending", "error": None, "failures": 0, "attempts_before": 3}
    assert store.event("e") == replace(before, **anew)
    assert store.claim_event(lease_s=3600).attempts == 4
    # Whoever held an earlier attempt writes nothing.
    assert not store.finish_event("e", attribution(), attempt=3)
    assert store.finish_event("e", attribution(), attempt=4)


def test_a_finished_event_keeps_its_attribution_until_the_next(store):
    store.add_event(event("e"))
    store.claim_event(lease_s=3600)
    store.finish_event("e", attribution(reason="first"), attempt=1)
    assert store.retry_events(["e", "e"]) == ["e"]
    assert store.event("e").status == "pending"
    assert store.attribution("e").reason == "first"
    store.claim_event(lease_s=3600)
    store.finish_event("e", attribution(reason="second"), attempt=2)
    assert store.attribution("e").reason == "second"


def test_what_is_open_is_left_alone(store):
    store.add_events([event("runs"), event("waits")])
    claimed = store.claim_event(lease_s=3600)
    assert claimed.id == "runs"
    assert store.retry_events(["runs", "waits"]) == []
    assert store.events(status="running") == [claimed]
    assert store.finish_event("runs", attribution(), attempt=claimed.attempts)


def test_what_waits_after_a_failed_attempt_begins_at_once(store):
    store.add_event(event("e"))
    store.claim_event(lease_s=3600)
    store.fail_event("e", "down", final=False, attempt=1, wait_s=3600)
    assert store.retry_events() == []  # it has not failed for good
    assert store.claim_event(lease_s=3600) is None
    assert store.retry_events(["e"]) == ["e"]
    anew = store.event("e")
    assert (anew.attempts, anew.attempts_before, anew.failures, anew.error) == (1, 1, 0, None)
    assert store.claim_event(lease_s=3600).attempts == 2
    assert store.claim_event(lease_s=3600) is None


def test_an_unknown_id_changes_nothing(store):
    failed(store, "e")
    failed(store.of_tenant("acme"), "theirs", tenant="acme")
    for unknown in ("x", "theirs"):
        with pytest.raises(EventNotFoundError, match=rf"'{unknown}'.*`ragguard events list`"):
            store.retry_events(["e", unknown])
    assert store.event("e").status == "failed"


def test_all_that_failed_are_those_of_the_tenant(store):
    failed(store, "a", "b")
    store.add_event(event("done"))
    store.claim_event(lease_s=3600)
    store.finish_event("done", attribution())
    acme = store.of_tenant("acme")
    failed(acme, "theirs", tenant="acme")
    assert store.retry_events() == ["a", "b"]
    assert store.retry_events() == []
    assert store.event("done").status == "done"
    assert acme.event("theirs").status == "failed"
    assert acme.retry_events() == ["theirs"]
    assert store.retry_events([]) == []


def test_more_than_one_transaction_puts_back(store, monkeypatch):
    monkeypatch.setattr("ragguard.audit.sql_events._AT_ONCE", 2)
    names = [f"{i}" for i in range(5)]
    failed(store, *names)
    assert store.retry_events() == names
    assert [store.claim_event(lease_s=3600).id for _ in names] == names


def test_they_take_turns_as_new_ones_do(store):
    failed(store, "a1", "a2", "a3", reporter="ann")
    store.add_events([event(name, reporter="bob") for name in ("b1", "b2")])
    assert store.retry_events() == ["a1", "a2", "a3"]
    claimed = [store.claim_event(lease_s=3600).id for _ in range(5)]
    assert [{*claimed[:2]}, {*claimed[2:4]}, claimed[4]] == [{"a1", "b1"}, {"a2", "b2"}, "a3"]
    assert store.claim_event(lease_s=3600) is None


@pytest.mark.slow
def test_two_processes_at_once_put_back_each_once(open_sql, sql_url):
    store = open_sql()
    names = [f"{i}" for i in range(200)]
    store.add_events([event(name, reporter=name[:1]) for name in names])
    for name in names:
        store.fail_event(name, "down", final=True)
    code = (
        "import sys; from ragguard.audit import open_store; store = open_store(sys.argv[1]); "
        "print('ready', flush=True); sys.stdin.readline(); print(len(store.retry_events()))"
    )
    both = [spawn(code, sql_url) for _ in range(2)]
    begin(*both)
    assert sum(int(output(one)) for one in both) == len(names)
    assert {one.attempts for one in store.events(status="pending", limit=300)} == {0}
    assert len({store.claim_event(lease_s=3600).id for _ in names}) == len(names)


def test_in_memory_what_waits_again_is_not_forgotten_as_finished():
    store = MemoryStore(max_finished=2)
    failed(store, "again")
    store.retry_events(["again"])
    failed_before = ["a", "b", "c"]
    store.add_events([event(name) for name in failed_before])
    for name in failed_before:
        store.fail_event(name, "down", final=True)
    assert {one.id for one in store.events()} == {"again", "b", "c"}
    store.fail_event("again", "down", final=True)
    assert {one.id for one in store.events()} == {"again", "c"}


def test_in_memory_bytes_are_counted_once():
    store = MemoryStore()
    store.add_event(event("e", passages=(Passage("x" * 1000),)))
    store.claim_event(lease_s=3600)
    store.finish_event("e", attribution(text="y" * 5000))
    size = store._finished.size
    for _ in range(3):
        store.retry_events(["e"])
        assert (store._turns.size, store._finished.size) == (size, 0)
        # Reported again: the same bytes still.
        store.add_event(event("e", reporter="bob"))
        assert store._turns.size == size
        store.claim_event(lease_s=3600)
        store.finish_event("e", attribution(text="y" * 5000))
        assert (store._turns.size, store._finished.size) == (0, size)


@pytest.mark.parametrize("limit", ["events", "bytes"])
def test_in_memory_what_there_is_no_room_for_stays_as_it_was(monkeypatch, limit):
    store = MemoryStore(max_open=2 if limit == "events" else 100)
    failed(store, "again")
    store.add_events([event("a"), event("b")])
    if limit == "bytes":
        monkeypatch.setattr("ragguard.audit.memory._OPEN_BYTES", store._turns.size)
    assert store.retry_events() == []
    assert store.event("again").error == "down"
    store.fail_event("a", "down", final=True)
    assert store.retry_events(["again"]) == ["again"]
