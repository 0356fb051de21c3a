"""Several texts under one id: whatever fails, the honest ones stay where they are."""

import json
import logging

import numpy as np
import pytest

from ragguard.audit import QuarantineEntry
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.errors import StoreError
from ragguard.knowledge.json_lines import JsonLinesFile
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage
from ragguard.repair import as_removable, look_up, remove_quarantined, restore

LIE = "The Halden bridge was designed by Orla Venn."
CHUNKS = ["Chunk one of page 7.", "Chunk two of page 7.", LIE, "Chunk three of page 7."]
EMBEDDER = HashedEmbedder(8)
PASSAGES = [*(Passage(text, id="page-7") for text in CHUNKS), Passage(LIE, id="alone")]


class Own:
    """A knowledge base of somebody's own that holds several texts under one id, without `find`."""

    def __init__(self, passages):
        self.held, self.fails = list(passages), 0

    def remove(self, ids):
        taken = [one for one in self.held if one.id in ids]
        self.held = [one for one in self.held if one.id not in ids]
        return taken

    def add(self, passages):
        if self.fails:
            self.fails -= 1
            raise ConnectionError("the knowledge base is down")
        self.remove([one.id for one in passages])
        self.held += passages


def in_memory(request, passages):
    return KnowledgeBase(passages)


def in_a_file(request, passages):
    path = request.getfixturevalue("tmp_path") / "passages.jsonl"
    path.write_text("".join(json.dumps({"id": p.id, "text": p.text}) + "\n" for p in passages))
    return JsonLinesFile(path)


def of_their_own(request, passages):
    return Own(passages)


def in_faiss(request, passages):
    library = pytest.importorskip("faiss")
    index = library.IndexFlatIP(8)
    if passages:
        index.add(np.asarray(EMBEDDER.embed([one.text for one in passages]), dtype=np.float32))
    return as_removable(index, texts=list(passages), embedder=EMBEDDER)


# A table in PostgreSQL: tests/knowledge/test_pgvector.py.
@pytest.fixture(
    params=[in_memory, in_a_file, of_their_own, in_faiss], ids=lambda kind: kind.__name__
)
def base(request):
    return request.param(request, PASSAGES)


def entry(name, text=LIE):
    return QuarantineEntry(content_key(text), name, text, "test", None, "confirmed")


def texts(base, name="page-7"):
    if isinstance(base, Own):
        return [one.text for one in base.held if one.id == name]
    return [one.text for one in base.find([name])]


def test_what_shares_its_id_stays_with_the_others_and_is_told(base, store):
    store.add_quarantine([entry("page-7"), entry("none", "elsewhere")])
    done = remove_quarantined(store, base, actor="ann")
    assert (done.removed, done.allowed) == ([], [])
    assert [one.passage_id for one in done.shared] == ["page-7"]
    assert [one.passage_id for one in done.missing] == ["none"]
    assert sorted(texts(base)) == sorted(CHUNKS)
    assert not [row for row in store.trail() if row.action.startswith("knowledge-base.")]


def test_with_an_id_of_its_own_it_goes_and_the_others_stay(base, store):
    store.add_quarantine([entry("alone")])
    assert [one.id for one in remove_quarantined(store, base).removed] == ["alone"]
    assert sorted(texts(base)) == sorted(CHUNKS)


def test_the_same_words_twice_under_one_id_go_and_come_back(store):
    base = KnowledgeBase([Passage(LIE, id="a"), Passage(LIE.replace(" ", "  "), id="a")])
    store.add_quarantine([entry("a")])
    done = remove_quarantined(store, base)
    assert (len(done.removed), done.shared) == (2, [])
    assert base.find(["a"]) == []
    assert len(restore(store, base, [content_key(LIE)])) == 1


def test_what_differs_by_signs_alone_is_another_text(store):
    page, planted = "Take 5 mg: never more!", "take 5 mg, never more?"
    base = KnowledgeBase([Passage(planted, id="a"), Passage(page, id="a")])
    store.add_quarantine([entry("a", planted)])
    (one,) = look_up(base, store.quarantine())
    assert (one.passage.text, one.other.text) == (planted, page)
    assert len(remove_quarantined(store, base).shared) == 1
    assert len(base.find(["a"])) == 2


def test_what_the_trail_does_not_tell_goes_back_to_the_others(base, store, monkeypatch):
    def down(self, change):
        raise StoreError("the store does not answer")

    store.add_quarantine([entry("alone")])
    monkeypatch.setattr(type(store), "note", down)
    with pytest.raises(StoreError):
        remove_quarantined(store, base)
    assert sorted(texts(base)) == sorted(CHUNKS)
    assert texts(base, "alone") == [LIE]


def test_restoring_replaces_no_text_of_the_same_id(base, store):
    store.add_quarantine([entry("page-7")])
    assert [one.text for one in restore(store, base, [content_key(LIE)])] == [LIE]  # as it stands
    assert sorted(texts(base)) == sorted(CHUNKS)
    absent = "It is not there any more."
    store.add_quarantine([entry("page-7", absent)])
    assert restore(store, base, [content_key(absent)]) == []
    assert sorted(texts(base)) == sorted(CHUNKS)


@pytest.mark.parametrize("kind", [in_memory, in_a_file])
def test_what_is_put_beside_it_since_the_look_stays(kind, request, store):
    base = kind(request, [PASSAGES[-1]])
    remove = base.remove

    def late(ids):
        there = base.find(ids)
        base.add([*there, *(Passage(text, id="alone") for text in ("One.", "Two."))])
        return remove(ids)

    base.remove = late
    store.add_quarantine([entry("alone")])
    done = remove_quarantined(store, base)
    assert (done.removed, [one.passage_id for one in done.shared]) == ([], ["alone"])
    assert sorted(texts(base, "alone")) == sorted([LIE, "One.", "Two."])


def test_what_cannot_be_put_back_at_once_goes_back_one_by_one(store):
    base = Own(PASSAGES)
    base.fails = 2
    store.add_quarantine([entry("page-7"), entry("alone", "Another text.")])
    with pytest.raises(ConnectionError):
        remove_quarantined(store, base)
    assert sorted([*texts(base), *texts(base, "alone")]) == sorted([*CHUNKS, LIE])


def test_of_what_a_knowledge_base_does_not_take_back_the_log_has_a_copy(store, caplog):
    base = Own([Passage("An honest page.", id="a", metadata={"acl": "staff"})])
    base.fails = 3
    store.add_quarantine([entry("a", "What stood there before.")])
    with caplog.at_level(logging.ERROR), pytest.raises(ConnectionError):
        remove_quarantined(store, base)
    (told,) = caplog.messages
    copy = json.loads(told.partition("put this passage in again: ")[2])
    assert copy == {"id": "a", "text": "An honest page.", "metadata": {"acl": "staff"}}


def test_what_stands_there_goes_back_where_restoring_fails(store):
    base = Own([Passage("A new page.", id="a")])
    base.fails = 1
    store.add_quarantine([entry("a"), entry("b", "Another lie.")])
    with pytest.raises(ConnectionError):
        restore(store, base, [content_key("Another lie."), content_key(LIE)])
    assert texts(base, "a") == ["A new page."]
    assert texts(base, "b") == []
    assert {one.status for one in store.quarantine()} == {"confirmed"}


def test_what_is_put_in_while_a_release_fails_is_not_taken_out(store, monkeypatch):
    base = KnowledgeBase()
    store.add_quarantine([entry("a")])

    def fails(self, *_, **__):
        base.add([*base.find(["a"]), Passage("A new page.", id="a")])
        raise StoreError("the disk is full")

    monkeypatch.setattr(type(store), "set_quarantine_status", fails)
    with pytest.raises(StoreError):
        restore(store, base, [content_key(LIE)])
    assert texts(base, "a") == ["A new page."]
