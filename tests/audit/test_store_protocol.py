"""What every store must do, on every database."""

import pickle
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragguard import Passage
from ragguard.attribution.result import Attribution
from ragguard.audit import Event, MemoryStore, QuarantineEntry
from ragguard.audit.fair_queueing import MAX_REPORTERS
from ragguard.errors import EventNotFoundError, InvalidInputError, QuarantineNotFoundError
from tests.audit.conftest import attribution, in_threads

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NASTY = "nul \x00, escape \x100000, lone \ud800, pair \ud83d\ude00, back\\slash, \U0001f600"


def event(event_id, minute=0, **fields):
    return Event(event_id, "who?", "me", created_at=NOON + timedelta(minutes=minute), **fields)


def entry(key, minute=0, **fields):
    moment = NOON + timedelta(minutes=minute)
    return QuarantineEntry(
        key, f"id of {key}", "text", "because", created_at=moment, updated_at=moment, **fields
    )


def test_an_event_comes_back_as_it_was_added(store):
    passages = (
        Passage("first", id="a", score=0.25, metadata={"page": 3, "tags": ["x", None]}),
        Passage("second"),
    )
    added = event("e", passages=passages, reporter="ann")
    store.add_event(added)
    assert store.event("e") == added
    assert store.events() == [added]
    assert store.events(passages=False) == [replace(added, passages=())]


def test_an_event_of_no_calendar_is_not_handed_out(store):
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    with pytest.raises(InvalidInputError):
        store.add_events([event("before"), replace(event("e"), created_at=late)])
    assert store.events() == []
    assert store.claim_event(lease_s=60) is None


def test_any_text_survives(store):
    added = Event(
        NASTY,
        NASTY,
        NASTY,
        (Passage(NASTY, id=NASTY, metadata={NASTY: NASTY}),),
        reporter=NASTY,
        created_at=NOON,
    )
    store.add_event(added)
    assert store.event(NASTY) == added
    store.fail_event(NASTY, NASTY, final=False)
    assert store.event(NASTY).error == NASTY
    store.finish_event(NASTY, attribution(NASTY))
    assert store.attribution(NASTY) == attribution(NASTY)
    quarantined = QuarantineEntry(NASTY, NASTY, NASTY, NASTY, NASTY, actor=NASTY)
    store.add_quarantine([quarantined])
    assert store.quarantine() == [quarantined]
    assert store.quarantine_keys() == {NASTY}
    assert store.set_quarantine_status(NASTY, "confirmed", actor=NASTY).actor == NASTY
    store.add_counts({NASTY: 2})
    assert store.counts() == {NASTY: 2}


@pytest.mark.slow
def test_a_megabyte_survives(store):
    added = event("e", passages=(Passage("\ud800x" * 500_000),))
    store.add_event(added)
    assert store.event("e") == added


def test_times_come_back_in_utc(store):
    elsewhere = datetime(2024, 5, 1, 14, 0, 0, 123456, timezone(timedelta(hours=2)))
    store.add_event(Event("e", "q", "r", created_at=elsewhere))
    store.add_event(Event("naive", "q", "r", created_at=datetime(2024, 5, 1, 12)))
    assert store.event("e").created_at == elsewhere
    assert store.event("e").created_at.utcoffset() == timedelta(0)
    assert store.event("naive").created_at == NOON


def test_an_event_is_added_once_and_counted_when_it_is_reported_again(store):
    store.add_event(event("e"))
    store.add_event(event("e", minute=5, reporter="bob"))
    store.add_events([event("e", reporter="bob"), event("e", reporter="ann", reports=7)])
    assert store.events() == [event("e", reports=10, reporters=3)]
    store.claim_event(lease_s=3600)
    store.finish_event("e", attribution())
    store.add_event(event("e", reporter="dan"))
    assert store.events() == [event("e", status="done", attempts=1, reports=11, reporters=4)]
    assert store.claim_event(lease_s=3600) is None


def test_a_flood_of_names_is_counted_up_to_a_bound(store):
    store.add_events([event("e", reporter=f"{i}") for i in range(2 * MAX_REPORTERS)])
    (kept,) = store.events()
    assert (kept.reporter, kept.reports, kept.reporters) == ("0", 2 * MAX_REPORTERS, MAX_REPORTERS)


@pytest.mark.slow
def test_many_events_are_added_in_one_go_or_not_at_all(store):
    passages = (Passage("wool"), Passage("tide"))
    batch = [event(f"{i}", i, passages=passages[: i % 3]) for i in range(300)]
    store.add_event(batch[7])
    store.add_events(batch)
    expected = [replace(one, reports=2 if one.id == "7" else 1) for one in batch]
    assert store.events(limit=300) == expected[::-1]
    claimed = [store.claim_event(lease_s=3600).id for _ in range(300)]
    assert claimed == ["7", *(f"{i}" for i in range(300) if i != 7)]
    store.add_events([])


def claims(store, n):
    return [(found := store.claim_event(lease_s=3600)) and found.id for _ in range(n)]


def test_reporters_take_turns(store):
    store.add_events([event(f"a{i}", reporter="ann") for i in range(5)])
    assert claims(store, 2) == ["a0", "a1"]
    store.add_events([event(f"b{i}", reporter="bob") for i in range(2)])
    store.add_events([event(f"n{i}") for i in range(2)])
    assert claims(store, 8) == ["a2", "b0", "n0", "a3", "b1", "n1", "a4", None]


def test_an_event_that_another_one_reports_as_well_waits_in_the_shorter_lane(store):
    store.add_events([event(f"a{i}", reporter="ann") for i in range(9)])
    store.add_event(event("a7", reporter="bob"))
    store.add_event(event("b", reporter="bob"))
    assert claims(store, 5) == ["a0", "a7", "a1", "b", "a2"]


def test_a_failed_attempt_costs_nobody_a_turn(store):
    store.add_events([event(f"a{i}", reporter="ann") for i in range(3)])
    store.claim_event(lease_s=3600)
    store.fail_event("a0", "busy", final=False)
    assert claims(store, 4) == ["a0", "a1", "a2", None]


def settle(store, n):
    for name in claims(store, n):
        store.fail_event(name, "lies", final=True)


def end_waits(store, *names):
    for name in names:
        store.fail_event(name, "down", final=False)


def test_those_that_come_back_go_before_nobody_with_more_than_one(store):
    store.add_events([event(f"x{i}", reporter="eve") for i in range(3)])
    for name in claims(store, 3):
        store.fail_event(name, "down", final=False, wait_s=3600)
    store.add_events([event(f"a{i}", reporter="ann") for i in range(9)])
    settle(store, 6)
    store.add_event(event("b", reporter="bob"))
    end_waits(store, "x0", "x1", "x2")
    assert store.claim_event(lease_s=3600).id == "x0"
    store.add_events([event(f"c{i}", reporter="cleo") for i in range(9)])
    assert store.claim_event(lease_s=3600).id == "b"


def test_whoever_waits_after_a_failure_is_not_overtaken(store):
    store.add_events([event(f"a{i}", reporter="ann") for i in range(9)])
    settle(store, 8)
    store.add_event(event("b", reporter="bob"))
    settle(store, 1)
    assert store.claim_event(lease_s=3600).id == "b"
    store.add_events([event(f"x{i}", reporter="eve") for i in range(2)])  # while nobody waits
    store.fail_event("b", "down", final=False, wait_s=3600)
    store.add_events([event(f"c{i}", reporter="cleo") for i in range(9)])
    end_waits(store, "b")
    assert store.claim_event(lease_s=3600).id == "b"


@pytest.mark.parametrize("how", ["given back", "withdrawn"])
def test_an_event_that_its_worker_gives_up_takes_its_turn_anew(store, how):
    store.add_event(event("x", reporter="eve"))
    store.add_event(event("x", reporter="dan"))
    assert store.claim_event(lease_s=3600).id == "x"
    store.add_events([event(f"a{i}", reporter="ann") for i in range(9)])
    settle(store, 6)
    store.add_event(event("b", reporter="bob"))
    if how == "given back":
        store.fail_event("x", "closed", final=False, attempt=1, counts=False)
    else:
        store.withdraw_reporter("x", "eve", "undone")
    store.add_events([event(f"c{i}", reporter="cleo") for i in range(9)])
    assert claims(store, 3) == ["x", "a6", "b"]


def test_an_interruption_is_no_failure(store):
    store.add_event(event("e"))
    store.claim_event(lease_s=3600)
    assert store.fail_event("e", "stopped", final=False, attempt=1, counts=False)
    assert store.event("e") == event("e", attempts=1, attempts_before=1, error="stopped")
    store.claim_event(lease_s=3600)
    assert store.fail_event("e", "broken", final=False, attempt=2)
    expected = event("e", attempts=2, attempts_before=1, failures=1, error="broken")
    assert store.event("e") == expected


def test_after_a_failed_attempt_an_event_waits_and_others_go_on(store):
    store.add_events([event("a"), event("b")])
    assert store.claim_event(lease_s=3600).id == "a"
    assert store.fail_event("a", "down", final=False, attempt=1, wait_s=3600)
    assert store.event("a") == event("a", attempts=1, failures=1, error="down")
    assert claims(store, 2) == ["b", None]
    store.renew_lease("a", lease_s=0)  # it is nobody's
    assert store.claim_event(lease_s=3600) is None


def test_a_wait_ends(store):
    store.add_event(event("e"))
    store.claim_event(lease_s=3600)
    store.fail_event("e", "down", final=False, wait_s=0.02)
    assert store.claim_event(lease_s=3600) is None
    time.sleep(0.03)
    assert store.claim_event(lease_s=3600).attempts == 2


def test_what_was_cut_is_kept(store):
    store.add_event(event("e", cut="response from 900 to 16 characters"))
    assert store.event("e").cut == "response from 900 to 16 characters"


def test_threads_that_report_the_same_claims_store_each_once(store):
    def report(i):
        ids = range(20) if i % 2 else range(19, -1, -1)
        for _ in range(3):
            store.add_events([event(f"{n}", reporter=f"{i}") for n in ids])

    in_threads(report)
    assert sorted((one.id, one.reports, one.reporters) for one in store.events()) == sorted(
        (f"{n}", 12, 4) for n in range(20)
    )


def test_unknown_events(store):
    for call in (
        lambda: store.event("e"),
        lambda: store.finish_event("e", attribution()),
        lambda: store.fail_event("e", "x", final=True),
    ):
        with pytest.raises(EventNotFoundError, match="'e'"):
            call()
    store.renew_lease("e", lease_s=1.0)
    assert store.attribution("e") is None


def test_events_are_listed_newest_first(store):
    for event_id, minute in (("b", 2), ("a", 1), ("c", 3), ("d", 3)):
        store.add_event(event(event_id, minute))
    store.fail_event("a", "x", final=True)
    assert [e.id for e in store.events()] == ["d", "c", "b", "a"]
    assert [e.id for e in store.events(limit=2)] == ["d", "c"]
    assert [e.id for e in store.events(status="failed")] == ["a"]
    assert store.events(limit=0) == []
    assert store.events(limit=-1) == []


def test_the_event_that_was_stored_first_is_claimed_first(store):
    for event_id, minute in (("a", 1), ("b", 0), ("c", 2)):
        store.add_event(event(event_id, minute))
    claimed = [store.claim_event(lease_s=3600) for _ in range(4)]
    assert [c and c.id for c in claimed] == ["a", "b", "c", None]
    assert claimed[0] == event("a", 1, status="running", attempts=1)
    assert store.event("a") == claimed[0]


def test_what_a_caller_does_with_an_attribution_does_not_change_the_record(store):
    store.add_event(event("e"))
    given = attribution()
    expected = given.to_dict()
    store.finish_event("e", given)
    given.scores.clear()
    store.attribution("e").responsible.clear()
    store.attribution("e").scores.clear()
    assert store.attribution("e").to_dict() == expected


def test_of_a_scope_the_ends_of_texts_are_kept_and_of_the_accused_the_whole(store):
    store.add_event(event("e"))
    scope = [
        Passage("begin " + "wool " * 100_000 + "end", id=str(n), metadata={"raw": "x" * 10_000})
        for n in range(3)
    ]
    columns = ([0.5] * 3,) * 4
    given = Attribution.of(
        *("q", "r", "m", scope, columns, [False, True, False], ("poisoning", "so")), details={}
    )
    store.finish_event("e", given)
    kept = store.attribution("e")
    assert [one.text for one in kept.responsible] == [scope[1].text]
    assert [len(one.passage.text) for one in kept.scores] == [2_000, 500_009, 2_000]
    assert all(one.passage.text.startswith("begin ") for one in kept.scores)
    assert all(one.passage.text.endswith(" end") for one in kept.scores)
    assert [one.passage.metadata for one in (kept.scores[0], kept.scores[2])] == [{}, {}]
    assert kept.scope_size == 3


def test_events_without_passages_can_be_left_to_those_who_search(store):
    bringing = replace(event("b", 2), passages=(Passage("wool"),))
    for one in (event("a", 1), bringing, event("c", 3), event("d", 4)):
        store.add_event(one)
    claimed = [store.claim_event(lease_s=3600, passageless=["c", "unknown"]) for _ in range(3)]
    assert [c and c.id for c in claimed] == ["b", "c", None]
    assert store.claim_event(lease_s=3600, passageless=[]) is None
    assert [store.claim_event(lease_s=3600).id for _ in range(2)] == ["a", "d"]


def test_an_expired_lease_is_claimed_anew(store):
    store.add_event(event("e"))
    assert store.claim_event(lease_s=0).attempts == 1
    assert store.claim_event(lease_s=3600).attempts == 2
    assert store.claim_event(lease_s=3600) is None


def test_a_renewed_lease_holds(store):
    store.add_event(event("e"))
    store.claim_event(lease_s=0)
    store.renew_lease("e", lease_s=3600)
    assert store.claim_event(lease_s=3600) is None


def test_a_lease_that_nobody_holds_is_not_renewed(store):
    store.add_event(event("e"))
    store.renew_lease("e", lease_s=3600)
    assert store.claim_event(lease_s=3600).id == "e"
    store.finish_event("e", attribution())
    store.renew_lease("e", lease_s=0)
    assert store.claim_event(lease_s=3600) is None


def test_a_finished_event(store):
    store.add_event(event("e"))
    store.claim_event(lease_s=0)
    store.fail_event("e", "busy", final=False)
    assert store.event("e") == event("e", attempts=1, error="busy", failures=1)
    assert store.attribution("e") is None
    store.claim_event(lease_s=0)
    store.finish_event("e", attribution())
    assert store.event("e") == event("e", status="done", attempts=2, failures=1)
    assert store.attribution("e") == attribution()
    assert store.claim_event(lease_s=0) is None
    store.fail_event("e", "too late", final=False)
    assert store.event("e").status == "done"
    store.finish_event("e", attribution("worse"))
    assert store.attribution("e") == attribution("worse")


def test_what_a_worker_writes_after_another_took_over_changes_nothing(store):
    store.add_event(event("e"))
    assert store.claim_event(lease_s=0).attempts == 1
    assert store.renew_lease("e", lease_s=0, attempt=1)
    assert store.claim_event(lease_s=0).attempts == 2
    assert not store.renew_lease("e", lease_s=3600, attempt=1)
    assert not store.finish_event("e", attribution(), attempt=1)
    assert not store.fail_event("e", "late", final=True, attempt=1)
    assert store.event("e") == event("e", status="running", attempts=2)
    assert store.attribution("e") is None
    # The lease was not renewed either.
    assert store.claim_event(lease_s=3600).attempts == 3
    assert store.fail_event("e", "busy", final=False, attempt=3)
    # It is nobody's now, so not even the last holder's.
    assert not store.renew_lease("e", lease_s=3600, attempt=3)
    assert not store.finish_event("e", attribution(), attempt=3)
    assert store.claim_event(lease_s=3600).attempts == 4
    assert store.finish_event("e", attribution(), attempt=4)
    assert not store.finish_event("e", attribution("worse"), attempt=4)
    assert not store.fail_event("e", "late", final=True)
    assert store.attribution("e") == attribution()
    for call in (
        lambda: store.finish_event("none", attribution(), attempt=1),
        lambda: store.fail_event("none", "x", final=True, attempt=1),
    ):
        with pytest.raises(EventNotFoundError, match="'none'"):
            call()


def test_a_failed_event(store):
    store.add_event(event("e"))
    store.claim_event(lease_s=0)
    store.fail_event("e", "broken", final=True)
    failed = event("e", status="failed", attempts=1, error="broken", failures=1)
    assert store.event("e") == failed
    assert store.claim_event(lease_s=0) is None


@pytest.mark.slow
def test_quarantine_keeps_what_was_there_first(store):
    assert store.add_quarantine([entry("k"), entry("k", 1), entry("l", 2)]) == 2
    assert store.add_quarantine([entry("k", 3), entry("m", 1)]) == 1
    assert store.add_quarantine([]) == 0
    assert store.quarantine() == [entry("l", 2), entry("m", 1), entry("k")]
    assert store.quarantine_keys() == {"k", "l", "m"}


def test_entries_are_found_by_their_keys(store):
    store.add_quarantine([entry("k"), entry("l", 2), entry("m", 1)])
    assert store.quarantine(keys=["m", "l", "none"]) == [entry("l", 2), entry("m", 1)]
    assert store.quarantine(keys=["k", "\ud800"], status="quarantined") == [entry("k")]
    assert store.quarantine(keys={"k"}, status="released") == []
    assert store.quarantine(keys=[]) == []


def test_entries_of_more_keys_than_a_statement_takes_are_the_newest_first(store, monkeypatch):
    monkeypatch.setattr("ragguard.audit.sql._AT_ONCE", 2)
    store.add_quarantine([entry("k"), entry("l", 4), entry("m", 1), entry("n", 2), entry("o", 3)])
    keys = ["m", "k", "none", "o", "l", "k", "n"]
    assert [one.key for one in store.quarantine(keys=keys)] == ["l", "o", "n", "m", "k"]
    assert [one.key for one in store.quarantine(keys=keys, limit=2, offset=1)] == ["o", "n"]
    assert store.quarantine(keys=keys, limit=0) == []
    assert [one.key for one in store.quarantine(keys=keys, offset=4)] == ["k"]


@pytest.mark.slow
def test_any_number_of_keys_is_asked_for(store):
    store.add_quarantine([entry("k")])
    keys = ["k", *(f"{number:032x}" for number in range(251_000))]
    assert store.quarantine(keys=keys) == [entry("k")]


def test_what_was_released_stays_released(store):
    store.add_quarantine([entry("k", event_id="e")])
    before = datetime.now(UTC)
    released = store.set_quarantine_status("k", "released", actor="ann")
    assert before <= released.updated_at <= datetime.now(UTC)
    assert released.updated_at.utcoffset() == timedelta(0)
    assert (released.status, released.actor, released.event_id) == ("released", "ann", "e")
    assert released.created_at == NOON
    assert store.add_quarantine([entry("k")]) == 0
    assert store.quarantine(status="released") == [released]
    assert store.quarantine(status="quarantined") == []
    assert store.quarantine_keys() == frozenset()
    store.set_quarantine_status("k", "quarantined")
    assert store.quarantine_keys() == {"k"}


def test_the_version_grows_with_the_keys(store):
    versions = [store.quarantine_version()]

    def grew():
        versions.append(store.quarantine_version())
        return versions[-1] > versions[-2]

    store.add_quarantine([entry("k"), entry("l")])
    assert grew()
    store.add_quarantine([entry("k")])
    assert not grew()
    store.set_quarantine_status("k", "confirmed")  # what is protected goes as well now
    assert grew()
    store.set_quarantine_status("k", "confirmed")
    assert not grew()
    store.set_quarantine_status("k", "released")
    assert grew()
    store.set_quarantine_status("k", "released")
    assert not grew()
    store.set_quarantine_status("k", "confirmed")
    assert grew()
    store.add_quarantine([entry("m", status="proposed")])
    assert not grew()
    store.set_quarantine_status("m", "rejected")  # no copy of another text any more
    assert grew()
    store.add_quarantine([entry("n", status="released")])
    assert grew()


def test_a_status_that_does_not_exist(store):
    store.add_quarantine([entry("k")])
    with pytest.raises(InvalidInputError, match="confirmed"):
        store.set_quarantine_status("k", "gone")
    with pytest.raises(QuarantineNotFoundError, match="'x'"):
        store.set_quarantine_status("x", "released")


def test_counters_add_up(store):
    store.add_counts({"queries": 2, "dropped": 0})
    store.add_counts({"queries": 3})
    store.add_counts({})
    assert store.counts() == {"queries": 5, "dropped": 0}


@pytest.mark.slow
def test_no_two_threads_claim_one_event(store):
    for i in range(40):
        store.add_event(event(f"e{i}", i))
    claimed = []

    def claim(_):
        while (mine := store.claim_event(lease_s=3600)) is not None:
            claimed.append(mine.id)

    in_threads(claim)
    assert sorted(claimed) == sorted(f"e{i}" for i in range(40))


def test_threads_lose_no_counts_and_no_versions(store):
    names = ["queries", "attacked", "dropped"]

    def write(i):
        for n in range(10):
            store.add_counts(dict.fromkeys(names if i % 2 else reversed(names), 1))
            both = [entry(f"{n}-a"), entry(f"{n}-b"), entry(f"{i}-{n}")]
            store.add_quarantine(both if i % 2 else both[::-1])

    in_threads(write)
    assert store.counts() == dict.fromkeys(names, 40)
    assert len(store.quarantine_keys()) == 60
    assert store.quarantine_version() >= 40


def test_memory_forgets_the_oldest_finished_events_only():
    store = MemoryStore(max_finished=2)
    for i in range(5):
        store.add_event(event(f"e{i}", i))
    for i in (1, 2, 3):
        store.finish_event(f"e{i}", attribution())
    assert [e.id for e in store.events()] == ["e4", "e3", "e2", "e0"]
    assert store.attribution("e1") is None
    assert store.attribution("e3") == attribution()


def test_memory_bounds_the_bytes_of_events(monkeypatch):
    monkeypatch.setattr("ragguard.audit.memory._OPEN_BYTES", 100_000)
    monkeypatch.setattr("ragguard.audit.memory._FINISHED_BYTES", 100_000)
    store = MemoryStore()
    large = [Passage("x" * 20_000)]
    store.add_event(event("b0", reporter="bob", passages=large))
    store.add_events([event(f"a{i}", reporter="ann", passages=large) for i in range(9)])
    assert sorted(e.id for e in store.events(status="pending")) == ["a0", "a1", "a2", "b0"]
    assert store.counts() == {"reports_lost": 6}
    assert not any(e.passages for e in store.events(status="failed"))
    for i in range(20):
        store.add_event(event(f"c{i}", reporter="cy", passages=large))
        claimed = store.claim_event(lease_s=60)
        store.finish_event(claimed.id, attribution(claimed.id))
    assert len(store.events(status="done")) == 4
    assert sum(e.nbytes for e in store.events()) < 200_000


def test_memory_bounds_the_bytes_of_events_that_a_tenants_view_finishes(monkeypatch):
    monkeypatch.setattr("ragguard.audit.memory._FINISHED_BYTES", 100_000)
    store = MemoryStore()
    large = [Passage("x" * 20_000)]
    for i in range(20):
        store.add_event(event(f"a{i}", passages=large, tenant="acme"))
        seen = store.of_tenant("acme")
        seen.finish_event(seen.claim_event(lease_s=60).id, attribution())
    assert len(store.of_tenant("acme").events(status="done")) == 4


@pytest.mark.parametrize("pickled", [False, True])
def test_memory_gives_up_the_last_of_whoever_reports_most(pickled):
    store = MemoryStore(max_open=4)
    if pickled:
        store = pickle.loads(pickle.dumps(store))
    store.add_events([event(f"a{i}", reporter="ann") for i in range(4)])
    store.add_events([event("b0", reporter="bob"), event("n0"), event("b1", reporter="bob")])
    failed = store.events(status="failed")
    assert sorted(one.id for one in failed) == ["a2", "a3", "b1"]
    assert {one.error for one in failed} == {"lost: too many events wait"}
    assert store.counts() == {"reports_lost": 3}
    assert claims(store, 5) == ["a0", "b0", "n0", "a1", None]
