"""Answers that the system gave, as every store keeps them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.audit import MemoryStore
from ragguard.audit.records import KEPT_ALIKE, Answer
from ragguard.background.reports import answer_of
from ragguard.lru import FairLRU
from ragguard.passage import Passage

KEY = bytes(range(32))
PAGES = [Passage("Ann lit the lamp."), Passage("Bob did not.")]


def since(**ago):
    return datetime.now(UTC) - timedelta(**ago)


def test_hashes_tell_case_and_white_space_alike_and_nothing_else():
    given_answer = answer_of("Who lit it?", "Ann did.", PAGES, KEY)
    assert answer_of(" who  LIT it?\n", "ann did.", PAGES[::-1], KEY).digest == given_answer.digest
    assert len(given_answer.passages) == 2
    others = [("Who lit it", "?Ann did.", KEY), ("Who lit it?", "Bob did.", KEY)]
    others.append(("Who lit it?", "Ann did.", bytes(32)))
    assert given_answer.digest not in {answer_of(*pair, PAGES, key).digest for *pair, key in others}
    assert answer_of("q", "r", PAGES, bytes(32)).passages.isdisjoint(given_answer.passages)


@given(st.text(), st.text())
@pytest.mark.hypothesis
def test_any_text_can_be_hashed(query, response):
    assert len(answer_of(query, response, [Passage(query)], KEY).digest) == 32


def test_what_is_kept_comes_back(store):
    first = answer_of("q", "r", PAGES, store.answer_key())
    second = answer_of("q", "r", [], store.answer_key())
    store.add_answer(first)
    store.add_answer(second)
    assert store.answers(first.digest, since=since(days=1)) == [second, first]
    assert store.answers(first.digest, since=datetime.now(UTC) + timedelta(hours=1)) == []
    assert store.answers("f" * 32, since=since(days=1)) == []


def test_a_tenant_sees_its_own(store):
    answer = answer_of("q", "r", PAGES, store.answer_key())
    store.of_tenant("acme").add_answer(answer)
    assert store.of_tenant("acme").answer_key() == store.answer_key()
    assert store.of_tenant("acme").answers(answer.digest, since=since(days=1)) == [answer]
    assert store.answers(answer.digest, since=since(days=1)) == []
    assert store.of_tenant("bolt").answers(answer.digest, since=since(days=1)) == []


def test_all_processes_have_one_key(open_sql):
    assert len({open_sql().answer_key() for _ in range(3)}) == 1


def test_two_days_later_an_answer_is_forgotten(store):
    old = Answer("a" * 32, frozenset(), since(days=2, seconds=1))
    kept = Answer("a" * 32, frozenset(), since(days=1, hours=23))
    store.add_answer(old)
    store.add_answer(kept)
    assert store.answers("a" * 32, since=since(days=9)) == [kept]


def test_of_a_flood_the_newest_are_kept(store, monkeypatch):
    monkeypatch.setattr(store, "_answers", FairLRU(6), raising=False)
    monkeypatch.setattr("ragguard.audit.sql_records.KEPT_ANSWERS", 5)
    monkeypatch.setattr("ragguard.audit.sql_records._FORGET_EVERY", 2)
    acme = store.of_tenant("acme")
    acme.add_answer(Answer("a" * 32))
    for _ in range(8):
        store.add_answer(Answer("b" * 32))
    assert len(store.answers("b" * 32, since=since(days=1))) <= 6
    # However many answers one tenant has given, another one's may be reported.
    assert len(acme.answers("a" * 32, since=since(days=1))) == 1


def test_in_memory_made_up_tenants_leave_nothing(monkeypatch):
    monkeypatch.setattr("ragguard.audit.memory_records._MAX_ANSWERS", 6)
    store = MemoryStore()
    for number in range(50):
        store.of_tenant(f"t{number}").add_answer(Answer("b" * 32))
    held = [
        store.of_tenant(f"t{number}").answers("b" * 32, since=since(days=1)) for number in range(50)
    ]
    assert sum(map(len, held)) == 6
    assert len(store._answers._held) == 6


def test_of_answers_that_are_alike_so_many_are_looked_at(store):
    for _ in range(KEPT_ALIKE + 2):
        store.add_answer(Answer("a" * 32))
    assert len(store.answers("a" * 32, since=since(days=1))) == KEPT_ALIKE
