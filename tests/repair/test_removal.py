"""Quarantined passages out of a knowledge base of every kind, and back."""

import numpy as np
import pytest

from ragguard import Guard
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import Event, QuarantineEntry
from ragguard.audit.trail import Keys
from ragguard.audit.trail_check import check
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError, QuarantineNotFoundError, StoreError
from ragguard.knowledge.faiss import FaissIndex
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage
from ragguard.repair import Removable, as_removable, look_up, remove_quarantined, restore
from tests.frameworks import chroma_client, langchain_embeddings, llama_index_embedding

TEXTS = {
    "10": "The Halden bridge was closed in winter.",
    "11": "Salt was carried upstream in flat boats.",
    "12": "Eels are caught at the weir in autumn.",
    "13": "The mill grinds oats.",
}
EMBEDDER = HashedEmbedder()


class Plain:
    """A knowledge base of our own that keeps the protocol, and cannot be looked up."""

    def __init__(self, passages=None):
        held = [Passage(text, id=name) for name, text in TEXTS.items()]
        self.passages = {one.id: one for one in passages or held}

    def remove(self, ids):
        return [self.passages.pop(name) for name in ids if name in self.passages]

    def add(self, passages):
        self.passages |= {passage.id: passage for passage in passages}

    def texts(self):
        return {name: passage.text for name, passage in self.passages.items()}


def plain():
    base = Plain()
    assert as_removable(base) is base
    return base, base.texts


def in_memory():
    base = KnowledgeBase(Passage(text, id=name) for name, text in TEXTS.items())
    return base, lambda: {p.id: p.text for p in base.retrieve("mill", 50)}


def langchain_that_refuses_known_ids():
    store, texts = langchain()
    add = store.add_texts

    def add_texts(new, *, ids, **options):
        if store.get_by_ids(ids):
            raise ValueError("ids are taken")
        return add(new, ids=ids, **options)

    store.add_texts = add_texts
    return store, texts


def langchain():
    vectorstores = pytest.importorskip("langchain_core.vectorstores")
    store = vectorstores.InMemoryVectorStore(langchain_embeddings(EMBEDDER))
    store.add_texts(list(TEXTS.values()), ids=list(TEXTS))
    return store, lambda: {d.id: d.page_content for d in store.similarity_search("mill", k=50)}


def llama_index():
    core = pytest.importorskip("llama_index.core")
    from llama_index.core.schema import TextNode

    nodes = [TextNode(text=text, id_=name) for name, text in TEXTS.items()]
    index = core.VectorStoreIndex(nodes, embed_model=llama_index_embedding(EMBEDDER))

    def texts():
        found = index.as_retriever(similarity_top_k=50).retrieve("mill")
        return {node.node.node_id: node.node.get_content() for node in found}

    return index, texts


def chroma():
    client = chroma_client()
    collection = client.create_collection("passages", embedding_function=None)
    collection.add(
        ids=list(TEXTS),
        documents=list(TEXTS.values()),
        embeddings=EMBEDDER.embed(list(TEXTS.values())),
    )

    def texts():
        found = collection.get()
        return dict(zip(found["ids"], found["documents"], strict=True))

    return collection, texts


def faiss():
    library = pytest.importorskip("faiss")
    rows = EMBEDDER.embed(list(TEXTS.values()))
    index = library.IndexIDMap2(library.IndexFlatIP(rows.shape[1]))
    index.add_with_ids(np.ascontiguousarray(rows), np.array([int(name) for name in TEXTS]))
    held = {int(name): text for name, text in TEXTS.items()}

    def texts():
        _, places = index.search(EMBEDDER.embed(["mill"]), max(1, index.ntotal))
        assert index.ntotal == len(held)
        found = {str(place): held[int(place)] for place in places[0]}
        return {name: text if isinstance(text, str) else text.text for name, text in found.items()}

    return (index, held), texts


KINDS = [
    plain,
    in_memory,
    langchain,
    langchain_that_refuses_known_ids,
    llama_index,
    chroma,
    faiss,
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def base_and_texts(request):
    base, texts = request.param()
    if request.param is faiss:
        index, held = base
        return as_removable(index, texts=held, embedder=EMBEDDER), texts
    return as_removable(base, embedder=EMBEDDER), texts


def entry(name, text=None, event_id=None, status="confirmed"):
    text = TEXTS[name] if text is None else text
    return QuarantineEntry(content_key(text), name, text, "test", event_id, status)


def test_passages_go_out_by_id_and_come_back(base_and_texts):
    base, texts = base_and_texts
    assert texts() == TEXTS
    assert base.remove([]) == []
    removed = base.remove(["11", "never there"])
    assert [(passage.id, passage.text) for passage in removed] == [("11", TEXTS["11"])]
    assert texts() == {name: text for name, text in TEXTS.items() if name != "11"}
    assert base.remove(["11"]) == []
    base.add([])
    base.add(removed)
    assert texts() == TEXTS


def test_a_passage_with_a_known_id_is_replaced(base_and_texts):
    base, texts = base_and_texts
    base.add([Passage("something else", id="11", metadata={"title": "new"})])
    assert texts() == {**TEXTS, "11": "something else"}
    (passage,) = base.remove(["11"])
    assert passage.text == "something else"
    assert passage.metadata["title"] == "new"


def test_of_passages_with_one_id_the_last_is_put_in(base_and_texts):
    base, texts = base_and_texts
    # One that keeps the protocol by itself, and those that hold several texts under one id.
    if not isinstance(base, Plain | KnowledgeBase | FaissIndex):
        base.add([Passage("the first", id="20"), Passage("the last", id="20")])
        assert texts() == {**TEXTS, "20": "the last"}


def test_confirmed_passages_are_removed_and_restored(base_and_texts, store):
    base, texts = base_and_texts
    store.add_quarantine([entry("10"), entry("12", status="quarantined"), entry("99", "elsewhere")])
    removal = remove_quarantined(store, base)
    assert [(passage.id, passage.text) for passage in removal.removed] == [("10", TEXTS["10"])]
    assert [missing.passage_id for missing in removal.missing] == ["99"]
    assert texts() == {name: text for name, text in TEXTS.items() if name != "10"}
    again = remove_quarantined(store, base)
    assert again.removed == []
    assert {missing.passage_id for missing in again.missing} == {"10", "99"}
    assert content_key(TEXTS["10"]) in store.quarantine_keys()
    restored = restore(store, base, [content_key(TEXTS["10"])], actor="ann")
    assert [passage.id for passage in restored] == ["10"]
    assert texts() == TEXTS
    assert content_key(TEXTS["10"]) not in store.quarantine_keys()
    assert [(e.passage_id, e.actor) for e in store.quarantine(status="released")] == [("10", "ann")]


def test_another_text_under_the_same_id_stays(base_and_texts, store):
    base, texts = base_and_texts
    store.add_quarantine([entry("10", "what stood there before"), entry("11")])
    removal = remove_quarantined(store, base)
    assert [passage.id for passage in removal.removed] == ["11"]
    assert [missing.passage_id for missing in removal.missing] == ["10"]
    assert texts() == {name: text for name, text in TEXTS.items() if name != "11"}


def test_what_can_be_looked_up_is_not_taken_out_for_it(store):
    class Finding(Plain):
        def find(self, ids):
            return [self.passages[name] for name in ids if name in self.passages]

        def add(self, passages):
            raise AssertionError("nothing was to be taken out")

    base = Finding()
    store.add_quarantine([entry("10", "what stood there before"), entry("11")])
    removal = remove_quarantined(store, base)
    assert [passage.id for passage in removal.removed] == ["11"]
    assert [missing.passage_id for missing in removal.missing] == ["10"]
    assert "10" in base.texts()


def test_what_took_over_an_id_is_not_replaced_by_what_is_restored(base_and_texts, store):
    base, texts = base_and_texts
    store.add_quarantine([entry("10"), entry("11"), entry("11", "an older text")])
    removal = remove_quarantined(store, base)
    base.add([Passage("The Halden bridge has been rebuilt.", id="10")])
    keys = [content_key(TEXTS["10"]), content_key(TEXTS["11"]), content_key("an older text")]
    restored = restore(store, base, keys, removed=removal.removed)
    assert [passage.text for passage in restored] == [TEXTS["11"]]
    assert texts() == {**TEXTS, "10": "The Halden bridge has been rebuilt."}
    assert store.quarantine_keys() == set()
    restore(store, base, keys)
    assert texts() == {**TEXTS, "10": "The Halden bridge has been rebuilt."}


@pytest.fixture
def base():
    return Plain()


def test_two_texts_quarantined_under_one_id(base, store):
    store.add_quarantine([entry("10", "an older text"), entry("10")])
    removal = remove_quarantined(store, base)
    assert [passage.id for passage in removal.removed] == ["10"]
    assert [missing.text for missing in removal.missing] == ["an older text"]


def test_what_nobody_has_confirmed_is_removed_when_asked_for(base, store):
    store.add_quarantine([entry("10", status="quarantined")])
    assert remove_quarantined(store, base).removed == []
    assert [p.id for p in remove_quarantined(store, base, status="quarantined").removed] == ["10"]


@pytest.mark.parametrize("cause", ["poisoning", "unclear"])  # found by it, or by a person in it
def test_metadata_come_back_from_the_attribution(base, store, cause):
    passage = Passage(TEXTS["10"], id="10", metadata={"title": "Bridges"})
    score = PassageScore(passage, 0.5, -1.0, -1.0, 2.0, responsible=cause == "poisoning")
    blamed = [passage] if score.responsible else []
    store.add_event(Event("e", "q", "r"))
    store.finish_event("e", Attribution("q", "r", "test", blamed, [score], 1, cause, "test"))
    store.add_quarantine([entry("10", event_id="e")])
    remove_quarantined(store, base)
    (restored,) = restore(store, base, [content_key(TEXTS["10"])])
    assert restored.metadata == {"title": "Bridges"}


def test_some_are_removed_and_the_trail_tells_by_whom_and_why(base, store):
    store.add_quarantine([entry("10"), entry("11")])
    for _ in range(2):  # the same twice is told twice
        key = content_key(TEXTS["10"])
        assert [one.id for one in remove_quarantined(store, base, keys=key, actor="ann").removed]
        store.set_quarantine_status(key, "confirmed", actor="ann")
        restore(store, base, [key], why="an error", actor="bo")
        store.set_quarantine_status(key, "confirmed", actor="ann")
    assert set(base.texts()) == set(TEXTS)
    told = [row for row in store.trail() if row.action.startswith("knowledge-base.")]
    assert [(row.action.partition(".")[2], row.actor, row.told.get("said")) for row in told] == [
        ("removed", "ann", None),
        ("restored", "bo", "an error"),
    ] * 2
    assert check(store, Keys()).findings == ()


def test_a_key_of_another_status_or_of_nothing_removes_nothing(base, store):
    store.add_quarantine([entry("10"), entry("11", status="proposed")])
    first, second = (content_key(TEXTS[name]) for name in ("10", "11"))
    with pytest.raises(InvalidInputError, match="is proposed, and only what is confirmed"):
        remove_quarantined(store, base, keys=[first, second])
    with pytest.raises(QuarantineNotFoundError):
        remove_quarantined(store, base, keys=[first, "unknown"])
    assert remove_quarantined(store, base, keys=[]).removed == []
    assert set(base.texts()) == set(TEXTS)


def test_what_the_trail_does_not_tell_stays_in_the_knowledge_base(base, store, monkeypatch):
    note, told = type(store).note, []

    def once(self, change):
        if told:
            raise StoreError("the disk is full")
        told.append(change.subject)
        return note(self, change)

    store.add_quarantine([entry("10"), entry("11")])
    monkeypatch.setattr(type(store), "note", once)
    with pytest.raises(StoreError):
        remove_quarantined(store, base)
    gone = set(TEXTS) - set(base.texts())
    assert {content_key(TEXTS[name]) for name in gone} == set(told)


def test_what_would_be_removed_is_looked_up_and_stays(store):
    base = KnowledgeBase(Passage(text, id=name) for name, text in TEXTS.items())
    entries = [entry("10"), entry("11", "an older text"), entry("99", "elsewhere")]
    store.add_quarantine(entries)
    found = [(one.entry.passage_id, one.passage, one.other) for one in look_up(base, entries)]
    assert found == [
        ("10", Passage(TEXTS["10"], id="10"), None),
        ("11", None, Passage(TEXTS["11"], id="11")),
        ("99", None, None),
    ]
    assert [one.id for one in remove_quarantined(store, base).removed] == ["10"]


def test_an_unknown_key_changes_nothing(base, store):
    store.add_quarantine([entry("10")])
    remove_quarantined(store, base)
    with pytest.raises(QuarantineNotFoundError):
        restore(store, base, [content_key(TEXTS["10"]), "unknown"])
    assert "10" not in base.texts()
    assert content_key(TEXTS["10"]) in store.quarantine_keys()


def test_chroma_through_langchain():
    library = pytest.importorskip("langchain_chroma")
    store = library.Chroma("passages", langchain_embeddings(EMBEDDER), client=chroma_client())
    store.add_texts(list(TEXTS.values()), [{"n": n} for n in range(4)], ids=list(TEXTS))
    base = as_removable(store)
    removed = base.remove(["11", "never there"])
    assert removed == [Passage(TEXTS["11"], id="11", metadata={"n": 1})]
    assert {d.id for d in store.similarity_search("mill", k=3)} == {"10", "12", "13"}
    base.add(removed)
    assert base.remove(["11"]) == removed


def test_langchain_store_that_cannot_look_up():
    class Blind:
        def get_by_ids(self, ids):
            raise NotImplementedError

        def delete(self, ids):
            raise AssertionError("nothing may be deleted unseen")

    with pytest.raises(InvalidInputError, match="cannot look documents up"):
        as_removable(Blind()).remove(["1"])


@pytest.mark.parametrize("name", ["9" * 5000, str(2**63), str(2**64 - 1), "\u00b2", "-1"])
def test_faiss_takes_a_passage_whose_id_is_no_number_of_its_own(name):
    (index, held), texts = faiss()
    base = as_removable(index, texts=held, embedder=EMBEDDER)
    base.add([Passage("A barge.", id=name)])
    assert texts() == {**TEXTS, "14": "A barge."}
    assert [passage.text for passage in base.remove([name])] == ["A barge."]
    assert texts() == TEXTS


def test_faiss_gives_ids_to_passages_without_a_number():
    index, held = faiss()[0]
    base: Removable = as_removable(index, texts=held, embedder=EMBEDDER)
    base.add([Passage("a new text", id="doc-x"), Passage("one more", id="20")])
    assert {**held, 14: held[14].text} == {
        **{int(name): text for name, text in TEXTS.items()},
        14: "a new text",
        20: "one more",
    }
    assert [passage.text for passage in base.remove(["doc-x", "20"])] == ["a new text", "one more"]
    assert index.ntotal == len(held) == len(TEXTS)
    with pytest.raises(InvalidInputError, match="pass texts="):
        as_removable(index)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not faiss])
@pytest.mark.parametrize("given", [{10: TEXTS["10"]}, []])
def test_texts_are_for_a_faiss_index_alone(kind, given):
    base, texts = kind()
    with pytest.raises(InvalidInputError, match=f"not with a {type(base).__name__}; leave it"):
        as_removable(base, texts=given, embedder=EMBEDDER)
    assert texts() == TEXTS


@pytest.mark.parametrize("bad", [None, 3, [], "store"])
def test_what_is_no_knowledge_base(bad):
    with pytest.raises(InvalidInputError, match="cannot remove passages"):
        as_removable(bad)


def test_a_passage_that_is_released_while_the_base_is_asked_stays(store):
    class Slow(KnowledgeBase):
        def find(self, ids):
            store.set_quarantine_status(content_key(TEXTS["10"]), "released")
            return super().find(ids)

    base = Slow(Passage(text, id=name) for name, text in TEXTS.items())
    store.add_quarantine([entry("10", status="confirmed"), entry("11", status="confirmed")])
    assert [one.id for one in remove_quarantined(store, base).removed] == ["11"]
    assert [one.id for one in base.find(TEXTS)] == ["10", "12", "13"]


def test_a_page_that_differs_by_signs_alone_is_not_replaced_by_what_is_restored(store):
    base = KnowledgeBase([Passage("Take 5 mg: never more!", id="a")])
    planted = Passage("take 5 mg, never more?", id="a")
    store.add_quarantine([QuarantineEntry(content_key(planted.text), "a", planted.text, "", None)])
    assert restore(store, base, [content_key(planted.text)]) == []
    assert [one.text for one in base.find(["a"])] == ["Take 5 mg: never more!"]


def test_a_single_key_or_id_is_one_and_no_letters(store):
    base = KnowledgeBase(Passage(text, id=name) for name, text in TEXTS.items())
    assert [one.id for one in base.remove("12")] == ["12"]
    store.add_quarantine([entry("10")])
    assert [one.id for one in restore(store, base, content_key(TEXTS["10"]))] == ["10"]


def test_no_such_status_is_an_error(store):
    with pytest.raises(InvalidInputError, match="status cannot be 'done'"):
        remove_quarantined(store, Plain(), status="done")


def test_a_guard_in_place_of_its_store_is_named():
    base = KnowledgeBase([Passage("text")])
    with Guard() as guard:
        with pytest.raises(InvalidInputError, match=r"of a guard it is guard\.store"):
            remove_quarantined(guard, base)
        with pytest.raises(InvalidInputError, match=r"of a guard it is guard\.store"):
            restore(guard, base, [])


@pytest.mark.parametrize("changed", [{"actor": 5}, {"keys": 5}, {"base": object()}])
def test_nothing_is_put_back_where_something_is_not_what_it_should_be(store, changed):
    base = Plain()
    store.add_quarantine([entry("10")])
    (taken,) = remove_quarantined(store, base).removed
    with pytest.raises(InvalidInputError):
        restore(store, **{"base": base, "keys": [content_key(taken.text)], **changed})
    with pytest.raises(InvalidInputError, match="base must be an object with a method remove"):
        remove_quarantined(store, 5)
    assert "10" not in base.passages
    assert store.quarantine()[0].status == "confirmed"
