"""Every store keeps verdicts, and forgets the oldest."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragguard.audit import MemoryStore, memory_records
from ragguard.audit.verdicts import JudgedPassage, VerdictRecord
from ragguard.errors import VerdictNotFoundError

NOW = datetime.now(UTC)
NASTY = 'nul \x00 lone \ud800 quote "passage_id": "x", "key": '


def record(verdict_id, minutes=0, **fields):
    given = {
        "question": "3fa9",
        "attacked": True,
        "p_value": 0.001,
        "mode": "filter",
        "error": None,
        "size": 5,
        "kept": 4,
        "passages": (
            JudgedPassage("p1", "k1", "dropped", "quarantine", 1.0, 0.0, "it is in quarantine"),
            JudgedPassage("p2", "k2", "undecided", "none", 0.0, 0.5, "not judged", "the text"),
        ),
        "calibration": "shipped",
        "scorer": "s",
        "version": "0.1",
        "recorded_at": NOW + timedelta(minutes=minutes),
    }
    return VerdictRecord(id=verdict_id, **{**given, **fields})


def ids(found):
    return [one.id for one in found]


def test_verdicts_come_back_as_they_were_given(store):
    plain, nasty = record("a"), record(NASTY, 1, error=NASTY, query=NASTY, calibration=NASTY)
    store.add_verdicts([plain, nasty], keep=10, days=9)
    assert store.verdicts() == [nasty, plain]
    assert store.verdict("a") == plain
    assert store.verdict(NASTY).dropped == 1
    with pytest.raises(VerdictNotFoundError, match="'none'"):
        store.verdict("none")
    store.add_verdicts([record("a", 5), record("b", 2)], keep=10, days=9)
    assert ids(store.verdicts()) == ["b", NASTY, "a"]


def test_they_are_found_by_time_and_passage(store):
    quoting = JudgedPassage(
        f'"{NASTY}', "k", "dropped", "none", 1.0, 0.0, '"passage_id": "p1", "key": '
    )
    store.add_verdicts(
        [record("a"), record("b", 1, passages=(quoting,)), record("c", 2, passages=())],
        keep=10,
        days=9,
    )
    assert ids(store.verdicts(limit=2)) == ["c", "b"]
    assert store.verdicts(limit=0) == []
    assert ids(store.verdicts(before=NOW + timedelta(minutes=2))) == ["b", "a"]
    assert ids(store.verdicts(passage_id="p1")) == ["a"]
    assert ids(store.verdicts(passage_id=f'"{NASTY}')) == ["b"]
    assert ids(store.verdicts(passage_id="p")) == []
    assert ids(store.verdicts(passage_id="%")) == []


def test_the_newest_of_the_last_days_are_kept(store):
    for number in range(6):
        store.add_verdicts([record(f"{number}", number)], keep=3, days=9)
    assert ids(store.verdicts()) == ["5", "4", "3"]
    store.add_verdicts([record("old", -60 * 24 * 10)], keep=10, days=9)
    assert ids(store.verdicts()) == ["5", "4", "3"]
    store.add_verdicts([], keep=1, days=9)
    assert len(store.verdicts()) == 3


def test_two_stores_on_one_database_forget_together(open_sql):
    one, other = open_sql(), open_sql()
    for number in range(5):
        for store, name in ((one, "a"), (other, "b")):
            store.add_verdicts([record(f"{name}{number}", number)], keep=4, days=9)
    assert ids(one.verdicts()) == ids(other.verdicts())
    assert set(ids(one.verdicts())) == {"a3", "b3", "a4", "b4"}


def test_in_memory_they_take_a_bounded_room(monkeypatch):
    store = MemoryStore()
    monkeypatch.setattr(memory_records, "_MAX_CHARS", 20_000)
    long = replace(record("x"), query="q" * 4000)
    for number in range(50):
        store.add_verdicts([replace(long, id=f"{number}")], keep=1000, days=9)
    assert 1 <= len(store.verdicts()) <= 4
    assert store.verdicts()[0].id == "49"
    store.add_verdicts([replace(long, id="y", query="q" * 30_000)], keep=1000, days=9)
    assert store.verdicts() == []
