"""With what metadata passages come back, and what is told where they have none."""

import pytest

from ragguard.attribution.result import BRIEF, Attribution, PassageScore
from ragguard.audit import Event, QuarantineEntry
from ragguard.content import content_key
from ragguard.errors import StoreError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage
from ragguard.repair import known_metadata, remove_quarantined, restore

SHORT = "Marek Dove built it."
LONG = f"{SHORT} " + " ".join(f"Note {n} tells of geese." for n in range(200))
METADATA = {"source": "wiki", "acl": "staff"}


def stored(store, text, *, seen=(), scope=(), event_id="e"):
    """Keep an entry of the quarantine, and its event, which was attributed to nobody."""
    if event_id is not None:
        scores = [PassageScore(one, 0.5, -1.0, -1.0, 2.0, responsible=False) for one in scope]
        store.add_event(Event(event_id, "q", "r", tuple(seen)))
        store.claim_event(lease_s=60)
        found = Attribution("q", "r", "test", [], scores, len(scores), "unclear", "test")
        store.finish_event(event_id, found)
    key = content_key(text)
    store.add_quarantine([QuarantineEntry(key, "doc-7", text, "t", event_id, "confirmed")])
    return key


def removed_and_restored(store, key, text):
    base = KnowledgeBase([Passage(text, id="doc-7", metadata=METADATA)])
    assert remove_quarantined(store, base).removed
    (back,) = restore(store, base, [key])
    assert base.find(["doc-7"]) == [back]
    return back.metadata


@pytest.mark.parametrize("text", [SHORT, LONG])
def test_metadata_come_from_what_was_reported(store, caplog, text):
    page = Passage(text, id="doc-7", metadata=METADATA)
    copy = Passage(text, id="doc-8", metadata={"source": "elsewhere"})
    key = stored(store, text, seen=[copy, page], scope=[copy])
    assert removed_and_restored(store, key, text) == METADATA
    assert caplog.messages == []


def test_metadata_come_from_the_attribution_that_has_the_ends_of_a_long_text(store):
    assert len(LONG) > BRIEF
    key = stored(store, LONG, scope=[Passage(LONG, id="doc-7", metadata=METADATA)])
    assert removed_and_restored(store, key, LONG) == METADATA


def test_metadata_of_another_text_or_of_another_id_are_not_taken(store, caplog):
    others = [
        Passage("Another text.", id="doc-7", metadata={"acl": "all"}),
        Passage(SHORT, id="doc-8", metadata={"acl": "all"}),
    ]
    key = stored(store, SHORT, seen=others, scope=others)
    assert known_metadata(store, store.quarantine()) == {}
    assert removed_and_restored(store, key, SHORT) == {}
    assert "'doc-7' went back without metadata" in caplog.text


@pytest.mark.parametrize("event_id", [None, "lost"])
def test_what_no_event_tells_of_is_named(store, caplog, event_id):
    key = content_key(SHORT)
    entry = QuarantineEntry(key, "doc-7", SHORT, "t", event_id, "confirmed")
    store.add_quarantine([entry])
    assert removed_and_restored(store, key, SHORT) == {}
    assert "put it in again from where it came" in caplog.text


def test_a_passage_that_has_none_is_known_to(store, caplog):
    key = stored(store, SHORT, seen=[Passage(SHORT, id="doc-7")])
    assert known_metadata(store, store.quarantine()) == {key: {}}
    restore(store, KnowledgeBase(), [key])
    assert caplog.messages == []


def test_what_stands_there_already_keeps_its_metadata(store, caplog):
    key = stored(store, SHORT, event_id=None)
    base = KnowledgeBase([Passage(SHORT, id="doc-7", metadata=METADATA)])
    (there,) = restore(store, base, [key])
    assert there.metadata == METADATA
    assert base.find(["doc-7"]) == [there]
    assert caplog.messages == []


def test_of_two_versions_with_one_id_the_removed_one_comes_back(store):
    old, new = "The old words of it.", "The new words of it."
    keys = [stored(store, text, event_id=None) for text in (old, new)]
    base = KnowledgeBase([Passage(new, id="doc-7", metadata=METADATA)])
    removal = remove_quarantined(store, base)
    (back,) = restore(store, base, keys, removed=removal.removed)
    assert (back.text, back.metadata) == (new, METADATA)
    assert base.find(["doc-7"]) == [back]


def test_what_came_back_before_a_failure_is_told(store, monkeypatch):
    first = stored(store, SHORT, event_id=None)
    second = content_key("Another lie.")
    store.add_quarantine([QuarantineEntry(second, "doc-8", "Another lie.", "t", None, "confirmed")])
    change, base = type(store).set_quarantine_status, KnowledgeBase([])

    def changed(self, key, *given, **options):
        if key == second:
            raise StoreError("the disk is full")
        return change(self, key, *given, **options)

    monkeypatch.setattr(type(store), "set_quarantine_status", changed)
    with pytest.raises(StoreError):
        restore(store, base, [first, second])
    assert [one.id for one in base.find(["doc-7", "doc-8"])] == ["doc-7"]
    told = [one.subject for one in store.trail() if one.action == "knowledge-base.restored"]
    assert told == [first]
