"""What is kept of one tenant, no other one sees; on every database."""

import pickle
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.arguments import require_tenant
from ragguard.attribution.result import Attribution
from ragguard.audit import Event, MemoryStore, QuarantineEntry, QuarantineWatch
from ragguard.audit.allow_list import allowance
from ragguard.audit.decisions import Decisions
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.memory_records import MAX_TENANTS
from ragguard.audit.quarantine import Limits
from ragguard.audit.verdicts import VerdictRecord
from ragguard.content import content_key
from ragguard.errors import (
    AllowanceNotFoundError,
    EventNotFoundError,
    InvalidInputError,
    QuarantineNotFoundError,
    VerdictNotFoundError,
)
from tests.audit.conftest import in_threads

LIE = "The lamp of Marrow Bay was lit by Bob, whatever else you may have read about that night."
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NOTHING_FOUND = Attribution("q", "r", "none", [], [], 0, cause="unclear", reason="so")


def entry(lie=LIE, status="quarantined", **fields):
    return QuarantineEntry(content_key(lie), "p", lie, "because", status=status, **fields)


def event(event_id, tenant="", **fields):
    return Event(event_id, "who?", "me", tenant=tenant, **fields)


def record(verdict_id, tenant="", **fields):
    fields = {"recorded_at": datetime.now(UTC), **fields}
    return VerdictRecord(
        *(verdict_id, "hash", True, 0.01, "filter", None, 1, 0, (), "shipped", "s", "v"),
        tenant=tenant,
        **fields,
    )


@pytest.mark.parametrize("name", ["acme", "Zürich 7", "a" * 200, "日本", "'; DROP TABLE x; --"])
def test_names_of_tenants(name):
    assert require_tenant(name) == name
    assert require_tenant(None) == ""


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "a\n", "a\x00b", "\ud800", "a" * 201, 7, b"a", "a\u202eb"]
)
def test_names_that_no_tenant_has(store, name):
    with pytest.raises(InvalidInputError, match="tenant"):
        store.of_tenant(name)


def test_the_same_passage_is_held_in_one_tenant_and_released_in_another(store, watch_of):
    acme, bolt = store.of_tenant("acme"), store.of_tenant("bolt")
    watch = watch_of(store)
    key = content_key(LIE)
    assert acme.add_quarantine([entry()]) == 1
    assert [watch.held(name).keys for name in ("acme", "bolt", "")] == [{key}, set(), set()]
    assert bolt.add_quarantine([entry()]) == 1
    assert store.add_quarantine([entry()]) == 1
    assert acme.add_quarantine([entry()]) == 0
    bolt.set_quarantine_status(key, "released", actor="ann")
    assert [watch.held(name).keys for name in ("acme", "bolt", "")] == [{key}, set(), {key}]
    assert [watch.held(name).allowed.keys.keys() for name in ("acme", "bolt")] == [set(), {key}]
    assert [one.status for one in acme.quarantine()] == ["quarantined"]
    assert [one.actor for one in bolt.quarantine()] == ["ann"]
    assert watch.size == 2
    edited = LIE.replace("lit", "lighted")
    assert watch.held("acme").copies.find([edited])[0].key == key
    assert watch.held("bolt").copies.find([edited]) == [None]


def test_a_watch_that_comes_later_is_told_of_all_tenants(store, watch_of):
    store.of_tenant("acme").add_quarantine([entry()])
    store.of_tenant("bolt").allow(allowance("handbook", why="ours"))
    store.of_tenant("cone").add_quarantine([entry(status="proposed")])
    watch = watch_of(store)
    assert watch.held("acme").keys == {content_key(LIE)}
    assert watch.held("bolt").allowed.sources.keys() == {"handbook"}
    assert not watch.held("cone").keys
    store.of_tenant("bolt").disallow(content_key("handbook"), "handbook")
    store.of_tenant("acme").set_quarantine_status(content_key(LIE), "lapsed")
    assert not watch.held("bolt").allowed
    assert not watch.held("acme").keys


def test_a_tenants_store_tells_its_own_changes_alone(store):
    store.add_quarantine([entry("default")])
    store.of_tenant("acme").add_quarantine([entry()])
    told = store.of_tenant("acme").quarantine_changes(-1)
    assert (told.held, dict(told.tenants)) == ({content_key(LIE)}, {})
    assert store.of_tenant("acme").quarantine_keys() == {content_key(LIE)}


def test_names_that_were_made_up_cost_a_watch_nothing(store, watch_of):
    watch = watch_of(store)
    held = {id(watch.held(f"tenant {number}")) for number in range(1000)}
    assert len(held) == 1
    assert store.tenants() == []


def test_an_entry_lapses_in_every_tenant(store):
    over = datetime.now(UTC) - timedelta(seconds=1)
    for tenant in (None, "acme"):
        store.of_tenant(tenant).add_quarantine([entry(until=over)])
    assert store.lapse() == 2
    assert [one.status for one in store.of_tenant("acme").quarantine()] == ["lapsed"]


def test_limits_are_a_tenants_own(store):
    limits = Limits(per_hour=1, per_reporter=1, proposals=1)

    def accused(tenant, lie, status="quarantined"):
        new = entry(lie, status, event_id=f"event of {tenant}, {lie}", reporters=("ann",))
        (one,) = store.of_tenant(tenant).accuse([new], limits)
        return one

    assert accused("acme", "one").quarantined
    assert not accused("acme", "two").quarantined
    assert accused("bolt", "one").quarantined
    assert accused(None, "one").quarantined
    assert not accused("acme", "three", "proposed").kept  # "two" waits already
    assert accused("bolt", "three", "proposed").kept


def test_a_person_decides_within_a_tenant(store):
    new = entry(event_id="e", reporters=("ann",))
    for tenant in (None, "acme", "bolt"):
        store.of_tenant(tenant).add_quarantine([new])
    acme = Decisions(store.of_tenant("acme"))
    assert [one.status for one in acme.undo(reporter="ann", actor="eve")] == ["lapsed"]
    assert acme.undo(event="e") == []
    assert [one.status for one in store.of_tenant("bolt").quarantine()] == ["quarantined"]
    assert [one.status for one in store.quarantine()] == ["quarantined"]
    with pytest.raises(QuarantineNotFoundError):
        Decisions(store.of_tenant("cone")).decide(new.key, status="confirmed")
    with pytest.raises(QuarantineNotFoundError):
        store.of_tenant("cone").set_quarantine_status(new.key, "released")


def test_an_allow_list_is_a_tenants_own(store):
    acme, bolt = Decisions(store.of_tenant("acme")), Decisions(store.of_tenant("bolt"))
    acme.allow("handbook", why="ours")
    bolt.allow("handbook", why="ours too", effect="protected")
    with pytest.raises(AllowanceNotFoundError):
        Decisions(store).disallow("handbook")
    assert [one.why for one in bolt.disallow("handbook")] == ["ours too"]
    assert [one.why for one in acme.allowed()] == ["ours"]
    assert store.allowances() == []


def test_events_are_a_tenants_own(store):
    store.add_events([event("a", "acme"), event("b", "bolt"), event("d")])
    acme = store.of_tenant("acme")
    assert [one.id for one in acme.events()] == ["a"]
    assert [one.id for one in store.events()] == ["d"]
    assert acme.event("a").tenant == "acme"
    for other in ("b", "d"):
        with pytest.raises(EventNotFoundError):
            acme.event(other)
    with pytest.raises(EventNotFoundError):
        store.event("a")
    store.finish_event("b", NOTHING_FOUND)
    assert acme.attribution("b") is None
    assert store.attribution("b") is None
    assert store.of_tenant("bolt").attribution("b").reason == "so"


def test_a_store_as_it_was_opened_hands_out_the_events_of_all(store):
    store.add_events([event("a", "acme"), event("b", "bolt"), event("d")])
    assert store.of_tenant("bolt").claim_event(lease_s=60).id == "b"
    assert store.of_tenant("bolt").claim_event(lease_s=60) is None
    assert store.of_tenant("acme").claim_event(lease_s=60, passageless=[]) is None
    found = [store.claim_event(lease_s=60) for _ in range(3)]
    assert [one and (one.id, one.tenant) for one in found] == [("a", "acme"), ("d", ""), None]


def test_reporters_of_one_name_in_two_tenants_take_turns():
    assert len({lane_of(who, whose) for who in ("ann", None) for whose in ("", "acme", "b")}) == 6
    assert lane_of("acme\nann") != lane_of("ann", "acme")


def test_verdicts_are_a_tenants_own_and_so_is_how_many_are_kept(store):
    flood = [record(f"acme {number}", "acme") for number in range(5)]
    store.add_verdicts([record("bolt", "bolt"), record("default"), *flood], keep=2, days=90)
    assert [one.id for one in store.of_tenant("acme").verdicts()] == ["acme 4", "acme 3"]
    assert [one.id for one in store.of_tenant("bolt").verdicts()] == ["bolt"]
    assert [one.id for one in store.verdicts()] == ["default"]
    assert store.of_tenant("bolt").verdict("bolt").tenant == "bolt"
    for whose, verdict_id in ((None, "bolt"), ("acme", "default"), ("cone", "acme 4")):
        with pytest.raises(VerdictNotFoundError):
            store.of_tenant(whose).verdict(verdict_id)


def test_old_verdicts_of_every_tenant_are_forgotten(store):
    store.add_verdicts([record("old", "acme", recorded_at=NOON)], keep=10, days=1e5)
    store.add_verdicts([record("new", "bolt")], keep=10, days=1)
    assert store.of_tenant("acme").verdicts() == []


def test_in_memory_the_tenant_with_most_verdicts_pays_for_lack_of_room(monkeypatch):
    monkeypatch.setattr("ragguard.audit.memory_records._MAX_CHARS", 5_000)
    store = MemoryStore()
    flood = [record(f"acme {number}", "acme") for number in range(20)]
    store.add_verdicts([record("bolt", "bolt"), *flood], keep=100, days=90)
    assert [one.id for one in store.of_tenant("bolt").verdicts()] == ["bolt"]
    assert len(store.of_tenant("acme").verdicts()) == 9


def test_tenants_that_anything_is_kept_of(store):
    store.add_event(event("a", "acme"))
    store.of_tenant("bolt").add_quarantine([entry()])
    store.of_tenant("cone").allow(allowance("handbook", why="ours"))
    store.add_verdicts([record("v", "dune"), record("w")], keep=10, days=90)
    assert store.tenants() == ["acme", "bolt", "cone", "dune"]


def test_a_view_is_the_store_itself_where_the_tenant_is_the_same(store):
    assert store.of_tenant(None) is store
    acme = store.of_tenant("acme")
    assert acme.of_tenant("acme") is acme
    assert acme.of_tenant(None).tenant == ""
    assert "acme" in repr(acme)
    assert acme.place == store.place


def test_counters_and_scores_are_of_all_tenants_together(store):
    store.of_tenant("acme").add_counts({"queries": 2})
    store.add_counts({"queries": 1})
    assert store.counts() == store.of_tenant("acme").counts() == {"queries": 3}


def test_in_memory_only_so_many_tenants_have_anything():
    store = MemoryStore()
    for number in range(MAX_TENANTS):
        store.of_tenant(f"tenant {number}").allow(allowance("handbook", why="ours"))
    with pytest.raises(InvalidInputError, match="use a database"):
        store.of_tenant("one more").add_quarantine([entry()])
    store.add_quarantine([entry()])
    assert store.quarantine_keys()


def test_a_pickled_store_takes_the_quarantines_of_all_tenants_along():
    store = MemoryStore()
    store.of_tenant("acme").add_quarantine([entry()])
    store.of_tenant("bolt").allow(allowance("handbook", why="ours"))
    again = pickle.loads(pickle.dumps(store))
    assert again.of_tenant("acme").quarantine_keys() == {content_key(LIE)}
    assert [one.source for one in again.of_tenant("bolt").allowances()] == ["handbook"]
    assert again.quarantine() == []
    assert pickle.loads(pickle.dumps(store.of_tenant("acme"))).tenant == "acme"


@pytest.mark.slow
def test_tenants_that_write_at_once_do_not_mix(open_sql, watch_of):
    stores = [open_sql() for _ in range(3)]

    def work(number):
        mine = stores[number].of_tenant(f"tenant {number}")
        for turn in range(10):
            mine.add_quarantine([entry(f"lie {turn}")])
            mine.accuse([entry(f"claim {turn}", event_id="e", reporters=("ann",))], Limits())
            mine.set_quarantine_status(content_key(f"lie {turn}"), "confirmed")
            stores[number].add_event(event(f"{number} {turn}", f"tenant {number}"))

    in_threads(work, 3)
    for number, store in enumerate(stores):
        mine = store.of_tenant(f"tenant {number}")
        assert len(mine.quarantine()) == 20
        assert len(mine.quarantine(status="confirmed")) == 10
        assert {one.tenant for one in mine.events()} == {f"tenant {number}"}
    watch = watch_of(stores[0])
    assert [len(watch.held(f"tenant {number}").keys) for number in range(3)] == [20, 20, 20]


def test_in_another_process_a_watch_follows_each_tenant_by_what_changed(open_sql, watch_of):
    here, there = open_sql(), open_sql()
    here.of_tenant("acme").add_quarantine([entry(f"lie {number}") for number in range(3)])
    watch = watch_of(there)
    watch.place = ""  # so that it is not told at once, as in another process
    before = watch.held("acme").copies
    here.of_tenant("bolt").add_quarantine([entry()])
    watch.refresh()
    assert watch.held("bolt").keys == {content_key(LIE)}
    assert watch.held("acme").copies is before
    here.of_tenant("acme").set_quarantine_status(content_key("lie 1"), "released")
    watch.refresh()
    assert watch.held("acme").keys == {content_key("lie 0"), content_key("lie 2")}
    assert watch.held("acme").allowed.keys.keys() == {content_key("lie 1")}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_a_watch_follows_is_what_one_that_comes_later_finds(store, watch_of, seed):
    draw = Random(seed)
    watch = watch_of(store)
    watch.place = ""  # told nothing at once, as in another process
    names, lies = ("", "acme", "bolt"), ("one", "two", "three")
    statuses = ("quarantined", "confirmed", "released", "rejected", "lapsed", "proposed")
    for _ in range(40):
        mine, lie = store.of_tenant(draw.choice(names) or None), draw.choice(lies)
        match draw.randrange(4):
            case 0:
                mine.add_quarantine([entry(lie, draw.choice(statuses))])
            case 1 if mine.quarantine():
                key = draw.choice(mine.quarantine()).key
                mine.set_quarantine_status(key, draw.choice(statuses))
            case 2:
                mine.allow(allowance(lie, why="ours", effect=draw.choice(("allowed", "protected"))))
            case _:
                mine.disallow(content_key(lie), lie)
        if draw.random() < 0.6:
            watch.refresh()
            later = watch_of(store)
            for name in names:
                ours, theirs = watch.held(name), later.held(name)
                assert ours.keys == theirs.keys
                assert ours.spared == theirs.spared
                assert ours.allowed == theirs.allowed
            later.close()


NAMES = st.sampled_from(["", "acme", "bolt"])


@given(st.lists(st.tuples(NAMES, st.sampled_from("abc"), st.booleans()), max_size=12))
@pytest.mark.hypothesis
def test_a_watch_holds_what_each_tenant_holds(steps):
    store = MemoryStore()
    watch = QuarantineWatch(store)
    wanted = {name: set() for name in ("", "acme", "bolt")}
    for name, lie, put in steps:
        mine, key = store.of_tenant(name or None), content_key(lie)
        mine.add_quarantine([entry(lie)])
        mine.set_quarantine_status(key, "confirmed" if put else "lapsed")
        (wanted[name].add if put else wanted[name].discard)(key)
        assert {name: watch.held(name).keys for name in wanted} == wanted
    watch.close()
