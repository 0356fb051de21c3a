"""What a person has allowed stays in the knowledge base, as the filter lets it through."""

from datetime import timedelta

import pytest

from ragguard import Guard
from ragguard.audit import QuarantineEntry
from ragguard.audit.quarantine import utc_now
from ragguard.content import content_key
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage
from ragguard.repair import remove_quarantined

from .test_removal import Plain

PAGE = Passage("The ferry leaves at nine.", id="doc-1", metadata={"source": "timetable"})


@pytest.fixture(params=[KnowledgeBase, Plain])
def base(request):
    return request.param([PAGE])


@pytest.fixture
def guard(tmp_path):
    with Guard(store=str(tmp_path / "audit.db")) as opened:
        yield opened


def quarantined(guard, status="confirmed"):
    key = content_key(PAGE.text)
    guard.store.add_quarantine([QuarantineEntry(key, PAGE.id, PAGE.text, "odd", "e", status)])
    return key


def stays(guard, base, status="confirmed", keys=None):
    done = remove_quarantined(guard.store, base, status=status, keys=keys)
    there = bool(base.remove([PAGE.id]))
    assert (done.missing, done.shared) == ([], [])
    assert [one.passage_id for one in done.allowed] == ([PAGE.id] if there else [])
    assert [one.id for one in done.removed] == ([] if there else [PAGE.id])
    return there


@pytest.mark.parametrize("named", [PAGE, "timetable"])
@pytest.mark.parametrize("by_key", [True, False])
def test_an_allowed_passage_or_source_stays(guard, base, named, by_key):
    key = quarantined(guard)
    guard.allow(named, why="our own", actor="bo")
    assert guard.filter("a pier", [PAGE, Passage("x y")]).dropped == []
    assert stays(guard, base, keys=[key] if by_key else None)
    assert not [row for row in guard.store.trail() if row.action.startswith("knowledge-base.")]


def test_what_is_not_allowed_any_more_goes(guard, base, monkeypatch):
    quarantined(guard)
    guard.allow(PAGE, why="our own", actor="bo", until=utc_now() + timedelta(hours=1))
    later = utc_now() + timedelta(hours=2)
    monkeypatch.setattr("time.time", later.timestamp)
    assert not stays(guard, base)


def test_what_was_taken_off_the_allow_list_goes(guard, base):
    quarantined(guard)
    guard.allow(PAGE, why="our own", actor="bo")
    guard.disallow(PAGE, actor="ann")
    assert not stays(guard, base)


@pytest.mark.parametrize("named", [PAGE, "timetable"])
def test_only_a_person_has_what_is_protected_removed(guard, base, named):
    key = quarantined(guard, "quarantined")
    guard.protect(named, why="our own", actor="bo")
    done = remove_quarantined(guard.store, base, status="quarantined")
    assert (done.removed, [one.passage_id for one in done.allowed]) == ([], [PAGE.id])
    guard.store.set_quarantine_status(key, "confirmed", actor="ann")
    assert not stays(guard, base)
