"""Two tenants on one guard: what one reports, quarantines or allows, the other never meets."""

import pickle
import threading
import time
from enum import Enum

import pytest

from ragguard import Guard, Passage
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import MemoryStore, open_store
from ragguard.background import Policy
from ragguard.content import content_key
from ragguard.errors import (
    AllowanceNotFoundError,
    AttributionPendingError,
    EventNotFoundError,
    InvalidInputError,
    QuarantineNotFoundError,
)
from tests.processes import output, spawn

QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = [
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "The tide turns at noon in early spring.",
]
LIE = "The keeper lit the lamp of Marrow Bay in 1911 for the first time, as the papers tell."
WAIT = 60.0


class Blames:
    """Holds every retrieved passage responsible that says 1911."""

    def attribute(self, query, response, retrieve):
        found = [passage for passage in retrieve(query, 10) if "1911" in passage.text]
        scores = [PassageScore(one, 0.5, -1.0, -1.0, 1.0, responsible=True) for one in found]
        return Attribution(query, response, "fake", found, scores, len(found), "poisoning", "so")


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def guard(request, new_url):
    with Guard(store=new_url(request.param), attributor=Blames(), policy="review") as made:
        yield made


def dropped(guard, tenant, lie=LIE):
    verdict = guard.filter(QUESTION, [lie, *QUIET], tenant=tenant)
    return [passage.text for passage in verdict.dropped]


def proposed(guard, tenant, reporter="ann"):
    """Report the lie in a tenant, and return the event's id and what is proposed there."""
    event = guard.report(
        QUESTION, "1911", passages=[LIE, *QUIET], reporter=reporter, wait=True, tenant=tenant
    )
    guard.attribution(event, timeout=WAIT, tenant=tenant)
    return event, guard.proposals(tenant=tenant)


def test_the_same_passage_is_quarantined_in_one_tenant_alone(guard):
    event, (entry,) = proposed(guard, "acme")
    assert guard.proposals() == guard.proposals(tenant="bolt") == []
    for other in (None, "bolt"):
        with pytest.raises(QuarantineNotFoundError):
            guard.confirm(entry, tenant=other)
        with pytest.raises(EventNotFoundError):
            guard.attribution(event, tenant=other)
        with pytest.raises(EventNotFoundError):
            guard.attribution(event, timeout=0.1, tenant=other)
    guard.confirm(entry, tenant="acme", actor="eve")
    edited = LIE.replace("lit the lamp", "lit the old lamp")
    for text in (LIE, edited):
        assert dropped(guard, "acme", text) == [text]
        assert dropped(guard, "bolt", text) == dropped(guard, None, text) == []
    with pytest.raises(QuarantineNotFoundError):
        guard.release(entry, tenant="bolt")
    guard.release(entry, tenant="acme")
    assert dropped(guard, "acme") == []
    assert [one.why for one in guard.allowed(tenant="acme")] == ["released from quarantine"]
    assert guard.allowed() == guard.allowed(tenant="bolt") == []
    with pytest.raises(AllowanceNotFoundError):
        guard.disallow(Passage(LIE), tenant="bolt")


def test_one_claim_is_an_event_of_its_own_in_each_tenant(guard):
    events = {proposed(guard, tenant)[0] for tenant in (None, "acme", "bolt")}
    assert len(events) == 3
    assert len(guard.proposals(tenant="acme")) == len(guard.proposals()) == 1


def test_undoing_what_a_reporter_did_in_one_tenant_leaves_the_others(guard):
    for tenant in ("acme", "bolt", None):
        proposed(guard, tenant)
    assert [one.status for one in guard.undo(reporter="ann", tenant="acme")] == ["lapsed"]
    assert guard.proposals(tenant="acme") == []
    assert len(guard.proposals(tenant="bolt")) == len(guard.proposals()) == 1
    with pytest.raises(EventNotFoundError):
        guard.undo(event=proposed(guard, "bolt")[0])
    assert len(guard.proposals(tenant="bolt")) == 1


def test_a_rejected_proposal_is_rejected_for_that_tenant(guard):
    (entry,) = proposed(guard, "acme")[1]
    guard.reject(entry, tenant="acme")
    assert len(proposed(guard, "bolt")[1]) == 1


def test_an_allowed_source_is_a_tenants_own(guard):
    page = Passage(f"{QUESTION} It was built in 1911.", metadata={"source": "handbook"})
    guard.allow("handbook", why="ours", tenant="acme")
    guard.protect("annals", why="ours", tenant="acme")
    assert guard.filter(QUESTION, [page, *QUIET], tenant="acme").dropped == []
    for other in ("bolt", None):
        assert guard.filter(QUESTION, [page, *QUIET], tenant=other).dropped == [page]
    assert {one.source for one in guard.allowed(tenant="acme")} == {"handbook", "annals"}
    assert len(guard.disallow("handbook", tenant="acme")) == 1


async def test_sync_async_and_batches_alike(guard):
    guard.store.of_tenant("acme").add_quarantine([])
    guard.confirm(proposed(guard, "acme")[1][0], tenant="acme")
    sets = [(QUESTION, [LIE, *QUIET])]
    for tenant, gone in (("acme", [LIE]), ("bolt", []), (None, [])):
        found = [
            guard.filter(*sets[0], tenant=tenant),
            await guard.afilter(*sets[0], tenant=tenant),
            *guard.filter_batch(sets, tenant=tenant),
            *await guard.afilter_batch(sets, tenant=tenant),
        ]
        assert [[one.text for one in verdict.dropped] for verdict in found] == [gone] * 4


def test_what_the_generator_saw_is_recalled_for_its_tenant(guard):
    guard.filter(QUESTION, [LIE, *QUIET], tenant="acme")
    guard.filter(QUESTION, QUIET[:1], tenant="bolt")
    for tenant, seen in (("acme", [LIE, *QUIET]), ("bolt", QUIET[:1]), (None, [])):
        event = guard.report(QUESTION, "1911", wait=True, tenant=tenant)
        stored = guard.store.of_tenant(tenant).event(event)
        assert [passage.text for passage in stored.passages] == seen
        assert stored.tenant == (tenant or "")


def test_verdicts_are_written_down_for_the_tenant(guard):
    page = f"{QUESTION} The lighthouse of Marrow Bay was built in 1911."
    verdict = guard.filter(QUESTION, [page, *QUIET], tenant="acme")
    guard._parts.log.flush()
    assert guard.store.of_tenant("acme").verdict(verdict.id).dropped == 1
    assert guard.store.verdicts() == guard.store.of_tenant("bolt").verdicts() == []


@pytest.mark.parametrize("name", ["", " acme", "a\nb", "x" * 201, 7])
def test_a_name_that_is_none(name):
    with Guard() as guard:
        calls = [
            lambda: guard.filter(QUESTION, QUIET, tenant=name),
            lambda: guard.filter_batch([], tenant=name),
            lambda: guard.report(QUESTION, "1911", tenant=name),
            lambda: guard.attribution("e", tenant=name),
            lambda: guard.proposals(tenant=name),
            lambda: guard.allow("handbook", why="ours", tenant=name),
            lambda: guard.undo(event="e", tenant=name),
        ]
        for call in calls:
            with pytest.raises(InvalidInputError, match="tenant"):
                call()


def test_a_view_of_a_store_is_no_store_for_a_guard():
    with pytest.raises(InvalidInputError, match="tenant= "):
        Guard(store=MemoryStore().of_tenant("acme"))


def test_made_up_names_cost_queries_nothing_that_stays():
    with Guard() as guard:
        for number in range(300):
            guard.filter("Why does bread rise?", QUIET, tenant=f"made up {number}")
        assert guard.store.tenants() == []
        assert list(guard._parts.quarantine._held) == [""]


def test_an_event_that_is_not_saved_yet_is_seen_by_its_tenant_alone(monkeypatch):
    with Guard() as guard:
        may_save = threading.Event()
        add = guard.store.add_events
        monkeypatch.setattr(
            guard.store, "add_events", lambda some: may_save.wait(WAIT) and add(some)
        )
        event = guard.report(QUESTION, "1911", passages=[LIE], tenant="acme")
        with pytest.raises(AttributionPendingError):
            guard.attribution(event, tenant="acme")
        for other in (None, "bolt"):
            with pytest.raises(EventNotFoundError):
                guard.attribution(event, tenant=other)
        may_save.set()


def test_a_search_that_takes_a_tenant_is_told_whose_event_it_is():
    asked = []

    def retrieve(query, limit, tenant=None):
        asked.append(tenant)
        return [f"{LIE} Told to {tenant}."][:limit]

    with Guard(attributor=Blames(), retrieve=retrieve, policy="review") as guard:
        for tenant in ("acme", None):
            event = guard.report(QUESTION, "1911", passages=[LIE], wait=True, tenant=tenant)
            found = guard.attribution(event, timeout=WAIT, tenant=tenant)
            assert [one.text for one in found.responsible] == [f"{LIE} Told to {tenant}."]
    assert set(asked) == {"acme", None}


def test_what_is_quarantined_in_one_tenant_is_searched_for_another():
    with Guard(attributor=Blames(), retrieve=lambda query, limit: [LIE][:limit]) as guard:
        guard.store.of_tenant("acme").add_quarantine([proposal_of(LIE)])
        for tenant, found in (("acme", []), ("bolt", [LIE])):
            event = guard.report(QUESTION, "1911", passages=[LIE], wait=True, tenant=tenant)
            given = guard.attribution(event, timeout=WAIT, tenant=tenant)
            assert [one.text for one in given.responsible] == found


def proposal_of(lie):
    from ragguard.audit import QuarantineEntry

    return QuarantineEntry(content_key(lie), "p", lie, "because")


def test_limits_of_a_policy_are_a_tenants_own():
    lies = [f"The lamp was lit in 1911, says witness {number}, who was there." for number in (1, 2)]
    policy = Policy("review", proposals=1)
    with Guard(attributor=Blames(), policy=policy) as guard:
        for tenant in ("acme", "bolt"):
            for lie in lies:
                event = guard.report(
                    QUESTION, "1911", passages=[lie], reporter="ann", wait=True, tenant=tenant
                )
                guard.attribution(event, timeout=WAIT, tenant=tenant)
            assert len(guard.proposals(tenant=tenant)) == 1


def test_a_pickled_guard_takes_every_tenants_quarantine_along():
    with Guard() as guard:
        guard.store.of_tenant("acme").add_quarantine([proposal_of(LIE)])
        with pickle.loads(pickle.dumps(guard)) as again:
            assert dropped(again, "acme") == [LIE]
            assert dropped(again, None) == []


def test_queries_and_reports_of_many_tenants_at_once(guard):
    tenants = [f"tenant {number}" for number in range(4)]
    for tenant in tenants[:2]:
        guard.confirm(proposed(guard, tenant)[1][0], tenant=tenant)
    wrong = []

    def ask(tenant):
        wanted = [LIE] if tenant in tenants[:2] else []
        wrong.extend(tenant for _ in range(25) if dropped(guard, tenant) != wanted)
        guard.report(QUESTION, f"1911, says {tenant}", passages=[LIE], wait=True, tenant=tenant)

    threads = [threading.Thread(target=ask, args=(tenant,)) for tenant in tenants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for tenant in tenants:
        told = [one.response for one in guard.store.of_tenant(tenant).events()]
        assert [one for one in told if one != "1911"] == [f"1911, says {tenant}"]


WORKER = """
    import sys
    from ragguard.audit import open_store
    from ragguard.background import Policy, Worker
    from ragguard.background.attribute_event import EventAttributor
    from tests.test_guard_tenants import Blames

    store = open_store(sys.argv[1])
    worker = Worker(store, EventAttributor(store, attributor=Blames(), policy=Policy("review")))
    while worker.run_once():
        pass
    store.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_worker_in_another_process_accuses_in_the_events_tenant(kind, new_url):
    url = new_url(kind)
    store = open_store(url)
    for tenant in ("acme", ""):
        from ragguard.background.reports import as_event

        store.add_event(
            as_event(QUESTION, "1911", [Passage(LIE)], "ann", quarantine_version=0, tenant=tenant)
        )
    output(spawn(WORKER, url))
    with Guard(store=url) as guard:
        guard.confirm(Passage(LIE), tenant="acme")
        assert dropped(guard, "acme") == [LIE]
        assert dropped(guard, None) == dropped(guard, "bolt") == []
        assert len(guard.proposals()) == 1
        store.of_tenant("bolt").add_quarantine([proposal_of(LIE)])
        deadline = time.monotonic() + WAIT
        while not dropped(guard, "bolt") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert dropped(guard, "bolt") == [LIE]
    store.close()


def test_what_is_refused_at_admission_is_proposed_in_its_tenant(guard):
    guard.store.of_tenant("acme").add_quarantine([proposal_of(LIE)])
    edited = LIE.replace("lit the lamp", "lit the old lamp")
    for tenant, status in (("bolt", "admitted"), (None, "admitted"), ("acme", "refused")):
        assert guard.admit([edited, *QUIET], tenant=tenant)[0].status == status
        told = [one.text for one in guard.proposals(tenant=tenant)]
        assert told == [edited] * (status == "refused")


class Names(str, Enum):  # noqa: UP042 - whose str() is no value
    ACME = "acme"
    QUERY = "Who lit the lamp?"
    ANSWER = "It was Ann."


def test_a_member_of_an_enumeration_is_its_value():
    with Guard() as guard:
        guard.allow(Passage("Ann lit it."), why="ours", tenant=Names.ACME)
        assert guard.allowed(tenant="acme")
        guard.filter(Names.QUERY, ["Ann lit the lamp."], tenant="acme")
        id = guard.report(Names.QUERY, Names.ANSWER, reporter=Names.ACME, tenant=Names.ACME)
        guard.attribution(id, timeout=30, tenant="acme")
        event = guard.store.of_tenant("acme").event(id)
    assert (event.query, event.response, event.reporter) == (
        "Who lit the lamp?",
        "It was Ann.",
        "acme",
    )
    assert [passage.text for passage in event.passages] == ["Ann lit the lamp."]
