"""What the store in memory lets go of when there is no room."""

import time

import pytest

from ragguard.audit.memory import MemoryStore
from ragguard.audit.quarantine import utc_now
from ragguard.audit.records import Answer
from ragguard.audit.verdicts import JudgedPassage, VerdictRecord


def test_of_those_who_hold_as_much_the_first_one_pays(monkeypatch):
    monkeypatch.setattr("ragguard.audit.memory_records._MAX_ANSWERS", 3)
    store, since = MemoryStore(), utc_now()
    for tenant in ("dune", "cone", "bolt", "acme"):
        store.of_tenant(tenant).add_answer(Answer("a" * 32))
    assert not store.of_tenant("dune").answers("a" * 32, since=since)
    for tenant in ("cone", "bolt", "acme"):
        assert store.of_tenant(tenant).answers("a" * 32, since=since)


def record(number, tenant):
    passage = JudgedPassage("p", "k", "dropped", "s", 1.0, 1.0, "r" * 700, None)
    return VerdictRecord(
        id=f"{number:016x}",
        question="q",
        attacked=True,
        p_value=0.01,
        mode="filter",
        error=None,
        size=3,
        kept=2,
        passages=(passage,),
        calibration="c",
        scorer="s",
        version="v",
        recorded_at=utc_now(),
        tenant=tenant,
    )


def add_verdicts(store, numbers, tenant):
    records = [record(number, tenant.format(number)) for number in numbers]
    store.add_verdicts(records, keep=10_000, days=90)


def test_whoever_holds_more_verdicts_than_a_fair_share_pays_for_lack_of_room(monkeypatch):
    monkeypatch.setattr("ragguard.audit.memory_records._MAX_CHARS", 20_000)
    store = MemoryStore()
    for number, tenant in [(2, "cone"), (20, "acme"), (20, "bolt")]:
        add_verdicts(store, range(number), tenant)
    kept = [[one.id for one in store.of_tenant(name).verdicts()] for name in ("acme", "bolt")]
    assert kept == [[f"{number:016x}" for number in range(19, 14, -1)]] * 2
    assert len(store.of_tenant("cone").verdicts()) == 2


def add_answers(store, numbers, tenant):
    for number in numbers:
        store.of_tenant(tenant.format(number)).add_answer(Answer("a" * 32))


@pytest.mark.slow
@pytest.mark.parametrize("add", [add_verdicts, add_answers])
def test_what_is_added_costs_little_more_if_it_is_of_many_tenants(add):
    def seconds(tenant):
        store = MemoryStore()
        add(store, range(21_000), tenant)  # more than there is room for
        begin = time.thread_time()
        add(store, range(21_000, 21_500), tenant)
        return time.thread_time() - begin

    assert seconds("t{}") < 10 * seconds("acme") + 0.1
