"""What becomes of an event of which one reporter's word does not count any more."""

import pytest

from ragguard import Passage
from ragguard.attribution.result import Attribution
from ragguard.audit import Event
from ragguard.audit.fair_queueing import MAX_REPORTERS
from ragguard.errors import EventNotFoundError

FOUND = Attribution("q", "r", "listing", [Passage("bad")], [], 0, "unclear", "listed")


def add(store, name, *reporters):
    store.add_events([Event(name, "q", "r", reporter=one) for one in reporters])


def test_the_only_reporter_of_an_event_ends_it(store):
    add(store, "e", "mal", "mal")
    assert store.withdraw_reporter("e", "mal", "undone") == 0
    ended = store.event("e")
    assert (ended.status, ended.error, ended.failures) == ("failed", "undone", 0)
    assert (ended.reporter, ended.reporters, ended.reports) == ("mal", 1, 2)
    assert store.claim_event(lease_s=60) is None
    assert store.retry_events() == ["e"]
    assert store.event("e").reporter == "mal"


def test_one_of_several_leaves_it_to_the_others(store):
    add(store, "e", "mal", "ann", None, "mal")
    assert store.withdraw_reporter("e", "mal", "undone") == 2
    left = store.event("e")
    assert (left.status, left.error, left.reporter) == ("pending", None, None)
    assert (left.reporters, left.reports) == (2, 4)
    assert store.withdraw_reporter("e", "ann", "undone") == 1
    assert store.withdraw_reporter("e", "ann", "undone") is None
    add(store, "e", "mal")  # reports it anew
    assert store.event("e").reporters == 2


def test_a_worker_that_has_begun_in_the_name_of_the_first_begins_anew(store):
    add(store, "e", "mal", "ann")
    first = store.claim_event(lease_s=3600)
    assert store.withdraw_reporter("e", "mal", "undone") == 1
    assert not store.renew_lease("e", lease_s=60, attempt=first.attempts)
    assert not store.finish_event("e", FOUND, attempt=first.attempts)
    again = store.claim_event(lease_s=3600)
    assert (again.id, again.reporter, again.attempts, again.failures) == ("e", None, 2, 0)
    assert store.finish_event("e", FOUND, attempt=2)


def test_a_worker_that_has_begun_in_the_name_of_another_goes_on(store):
    add(store, "e", "ann", "mal")
    claimed = store.claim_event(lease_s=3600)
    assert store.withdraw_reporter("e", "mal", "undone") == 1
    assert store.claim_event(lease_s=60) is None
    assert store.event("e").reporter == "ann"
    assert store.finish_event("e", FOUND, attempt=claimed.attempts)


def test_what_is_settled_or_anothers_is_left_alone(store):
    add(store, "done", "mal", "ann")
    store.finish_event("done", FOUND)
    add(store, "failed", "mal")
    store.fail_event("failed", "down", final=True)
    add(store, "e", "ann", "bo")
    before = store.events()
    for one in before:
        assert store.withdraw_reporter(one.id, "mal", "undone") is None
    assert store.events() == before
    for unknown in (store, store.of_tenant("acme")):
        with pytest.raises(EventNotFoundError):
            unknown.withdraw_reporter("e9" if unknown is store else "e", "ann", "undone")


def test_each_tenants_reporters_are_its_own(store):
    acme = store.of_tenant("acme")
    store.add_events([Event("e", "q", "r", reporter=one, tenant="acme") for one in ("mal", "ann")])
    assert acme.withdraw_reporter("e", "mal", "undone") == 1
    assert acme.event("e").reporter is None


def test_who_is_beyond_the_bound_cannot_be_taken_out(store):
    add(store, "e", *(f"{n}" for n in range(MAX_REPORTERS + 1)))
    assert store.withdraw_reporter("e", f"{MAX_REPORTERS}", "undone") is None
    assert store.withdraw_reporter("e", "0", "undone") == MAX_REPORTERS - 1


def test_a_turn_is_kept(store):
    add(store, "e1", "mal", "ann")
    add(store, "e2", "ann")
    add(store, "e3", "mal")
    store.withdraw_reporter("e1", "mal", "undone")
    claimed = [store.claim_event(lease_s=60).id for _ in range(3)]
    assert claimed[0] == "e1"
