import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Passage
from ragguard.demo.corpus import load_corpus
from ragguard.demo.retriever import VectorRetriever
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError

CORPUS = load_corpus()


class CountingEmbedder:
    name = "counting"

    def __init__(self):
        self.texts = []
        self._inner = HashedEmbedder()

    def embed(self, texts):
        self.texts += texts
        return self._inner.embed(texts)


def brute_force(query, passages, limit):
    """Rank by the cosine of one passage at a time, in plain floats."""
    embedder = HashedEmbedder()
    left = embedder.embed([query])[0].astype(float)
    scored = []
    for position, passage in enumerate(passages):
        right = embedder.embed([passage.text])[0].astype(float)
        scored.append((-round(float(left @ right), 5), position, passage.id))
    return [passage_id for _, _, passage_id in sorted(scored)[:limit]]


@pytest.mark.parametrize("question", CORPUS.questions[:4], ids=lambda q: q.id)
def test_matches_brute_force(question):
    found = VectorRetriever(CORPUS.passages).retrieve(question.text, 10)
    assert [p.id for p in found] == brute_force(question.text, CORPUS.passages, 10)


def test_golden_passages_are_found():
    retriever = VectorRetriever(CORPUS.passages)
    found = [any(p.id in q.golden for p in retriever.retrieve(q.text, 5)) for q in CORPUS.questions]
    assert sum(found) == 64


def test_score_and_embedding_are_the_cosine():
    embedder = HashedEmbedder()
    (hit,) = VectorRetriever([Passage("a beehive", id="b", metadata={"n": 1})]).retrieve("hive", 3)
    assert hit.id == "b"
    assert hit.metadata == {"n": 1}
    np.testing.assert_array_equal(hit.embedding, embedder.embed(["a beehive"])[0])
    assert hit.score == pytest.approx(float(hit.embedding @ embedder.embed(["hive"])[0]))


def test_embeds_each_passage_once():
    embedder = CountingEmbedder()
    retriever = VectorRetriever([Passage("one"), Passage("two")], embedder=embedder)
    retriever.add([Passage("three")])
    retriever.remove([Passage("one").id])
    retriever.retrieve("two", 2)
    assert embedder.texts == ["one", "two", "three", "two"]


def test_add_and_remove():
    retriever = VectorRetriever(CORPUS.passages[:20])
    before = retriever.retrieve("lighthouse", 20)
    retriever.add([Passage("lighthouse lighthouse", id="new")])
    assert retriever.retrieve("lighthouse", 1)[0].id == "new"
    assert len(retriever) == 21
    assert [p.id for p in retriever.remove(["new", "never there"])] == ["new"]
    assert [p.id for p in retriever.retrieve("lighthouse", 20)] == [p.id for p in before]


def test_empty_and_emptied():
    retriever = VectorRetriever()
    assert retriever.retrieve("anything", 5) == []
    retriever.add([Passage("a", id="a")])
    assert retriever.retrieve("a", 0) == []
    assert [p.id for p in retriever.remove(["a"])] == ["a"]
    assert retriever.retrieve("a", 5) == []
    retriever.add([Passage("a", id="a")])
    assert [p.id for p in retriever.retrieve("a", 5)] == ["a"]


def test_equal_scores_keep_their_order():
    retriever = VectorRetriever([Passage("same", id=str(n)) for n in range(5)])
    assert [p.id for p in retriever.retrieve("same", 5)] == ["0", "1", "2", "3", "4"]


def test_duplicate_ids():
    with pytest.raises(InvalidInputError, match="'x' is in the knowledge base already"):
        VectorRetriever([Passage("a", id="x"), Passage("b", id="x")])


@given(st.lists(st.text(max_size=30), max_size=8, unique=True), st.integers(0, 10))
def test_best_first_and_at_most_limit(texts, limit):
    found = VectorRetriever([Passage(t) for t in texts]).retrieve("the sea", limit)
    assert len(found) == min(limit, len(texts))
    scores = [p.score for p in found]
    assert scores == sorted(scores, reverse=True)
