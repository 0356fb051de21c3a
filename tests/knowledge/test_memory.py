"""The knowledge base: exact ranking, bad files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.attribution import RAGOrigin
from ragguard.demo.corpus import load_corpus
from ragguard.embedding import HashedEmbedder
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage

CORPUS = load_corpus()


class Axes:
    """Embeds "x y" as the vector (x, y)."""

    name = "axes"

    def __init__(self):
        self.batches = []

    def embed(self, texts):
        self.batches.append(len(texts))
        return np.array([[float(part) for part in text.split()] for text in texts], np.float32)


def test_ranks_by_cosine_best_first():
    base = KnowledgeBase(["0 1", "3 4", "2 0"], embedder=Axes())
    found = base.retrieve("1 0", 3)
    assert [passage.text for passage in found] == ["2 0", "3 4", "0 1"]
    assert [passage.score for passage in found] == pytest.approx([1.0, 0.6, 0.0])


def test_ties_keep_the_input_order_at_every_limit():
    base = KnowledgeBase([Passage("1 1", id=str(n)) for n in range(9)], embedder=Axes())
    for limit in range(1, 10):
        assert [p.id for p in base.retrieve("1 0", limit)] == [str(n) for n in range(limit)]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3)).filter(any), min_size=1, max_size=25
    ),
    st.integers(0, 30),
)
def test_agrees_with_sorting_everything(points, limit):
    base = KnowledgeBase([f"{x} {y}" for x, y in points], embedder=Axes())
    rows = np.array(points, np.float32)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    target = np.array([0.6, 0.8], np.float32)
    slow = sorted(range(len(points)), key=lambda i: (-float(rows[i] @ target), i))[:limit]
    found = base.retrieve("0.6 0.8", limit)
    assert [p.score for p in found] == pytest.approx(
        [float(rows[i] @ target) for i in slow], abs=1e-6
    )
    assert [p.text for p in base.retrieve("0.6 0.8", 99)][:limit] == [p.text for p in found]


def test_hands_out_its_vectors_and_keeps_what_the_caller_said():
    mine = Passage("3 4", id="a", score=7.0, metadata={"page": 2})
    base = KnowledgeBase([mine], embedder=Axes())
    (found,) = base.retrieve("1 0", 1)
    assert (found.id, dict(found.metadata)) == ("a", {"page": 2})
    assert found.embedding.tolist() == pytest.approx([0.6, 0.8])
    assert not found.embedding.flags.writeable
    assert mine.score == 7.0
    assert mine.embedding is None


def test_uses_a_passages_own_embedding():
    embedder = Axes()
    own = Passage("not numbers", embedding=np.array([5.0, 0.0]))
    base = KnowledgeBase([own, "0 1"], embedder=embedder)
    assert embedder.batches == [1]
    assert base.retrieve("1 0", 1)[0].text == "not numbers"


def test_finds_the_passage_on_the_subject_with_the_built_in_embedder():
    base = KnowledgeBase(
        ["Bread rises because yeast makes gas.", "The lighthouse of Orrin was lit in 1874."]
    )
    assert len(base) == 2
    assert "lighthouse" in base.retrieve("When was the Orrin lighthouse lit?", 1)[0].text


def test_an_empty_one_finds_nothing():
    assert KnowledgeBase([]).retrieve("anything", 5) == []
    assert KnowledgeBase(["a"]).retrieve("anything", 0) == []


@pytest.mark.parametrize("limit", [-1, "5", None, 1.5])
def test_refuses_what_is_no_limit(limit):
    with pytest.raises(InvalidInputError, match="limit"):
        KnowledgeBase(["a"]).retrieve("anything", limit)
    assert len(KnowledgeBase(["a"]).retrieve("anything", np.int64(5))) == 1


@pytest.mark.parametrize(
    ("passages", "message"),
    [
        ([Passage("a", embedding=np.ones(2)), Passage("b", embedding=np.ones(3))], "shapes"),
        ([Passage("a", embedding=np.ones((2, 2)))], "shapes"),
        ([Passage("a", embedding=[1.0, np.nan])], "NaN"),
    ],
)
def test_refuses_bad_embeddings(passages, message):
    with pytest.raises(EmbeddingError, match=message):
        KnowledgeBase(passages)


def test_refuses_an_embedder_that_made_other_vectors():
    base = KnowledgeBase([Passage("a", embedding=np.ones(3))], embedder=Axes())
    with pytest.raises(EmbeddingError, match="2 numbers, the passages have 3"):
        base.retrieve("1 0", 1)


def test_refuses_an_embedder_that_answers_the_wrong_number_of_rows():
    with pytest.raises(EmbeddingError, match="one row a text"):
        KnowledgeBase(["a", "b"], embedder=lambda texts: np.ones((1, 4)))


def test_reads_json_lines(tmp_path):
    path = tmp_path / "kb.jsonl"
    rows = [{"id": 7, "text": "one", "metadata": {"a": 1}}, "two"]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\n".join(map(json.dumps, rows)).encode())
    base = KnowledgeBase.from_jsonl(path)
    found = {p.text: p for p in base.retrieve("one", 5)}
    assert found["one"].id == "7"
    assert dict(found["one"].metadata) == {"a": 1}
    assert found["two"].id == Passage("two").id


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_refuses_a_file_without_passages(tmp_path, content):
    path = tmp_path / "kb.jsonl"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match="no passages"):
        KnowledgeBase.from_jsonl(path)


def test_names_the_bad_line(tmp_path):
    path = tmp_path / "kb.jsonl"
    path.write_text('{"text": "a"}\n\n{"txt": "b"}\n')
    with pytest.raises(InvalidInputError) as caught:
        KnowledgeBase.from_jsonl(path)
    told = f"{path}:3: expected a string or an object with "
    assert str(caught.value) == f'{told}"text" (str), got one without "text"'


def test_says_when_a_file_cannot_be_read(tmp_path):
    with pytest.raises(InvalidInputError, match=r"cannot read .*nowhere\.jsonl: No such file"):
        KnowledgeBase.from_jsonl(tmp_path / "nowhere.jsonl")


class OnlyAsAsked:
    """Embeds passages, and the question in its own way only."""

    def embed_documents(self, texts):
        assert "Which bridge?" not in texts
        return [[1.0, 0.0] if "bridge" in text else [0.0, 1.0] for text in texts]

    def embed_query(self, text):
        return [1.0, 0.0]


def test_questions_are_embedded_as_questions():
    base = KnowledgeBase(["A mill.", "A bridge."], embedder=OnlyAsAsked())
    assert [passage.text for passage in base.retrieve("Which bridge?", 1)] == ["A bridge."]
    found = RAGOrigin(embedder=OnlyAsAsked()).attribute("Which bridge?", "A mill.", base)
    assert [score.embedding_similarity for score in found.scores] == [1.0, 0.0]


class Counting:
    name = "counting"

    def __init__(self):
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return HashedEmbedder().embed(texts)


def by_brute_force(query, passages, limit):
    """Rank by the cosine of one passage at a time, in plain floats."""
    left = HashedEmbedder().embed([query])[0].astype(float)
    scored = []
    for position, passage in enumerate(passages):
        right = HashedEmbedder().embed([passage.text])[0].astype(float)
        scored.append((-round(float(left @ right), 5), position, passage.id))
    return [passage_id for _, _, passage_id in sorted(scored)[:limit]]


@pytest.mark.slow
@pytest.mark.parametrize("question", CORPUS.questions[:4], ids=lambda q: q.id)
def test_ranks_a_knowledge_base_as_brute_force_does(question):
    found = KnowledgeBase(CORPUS.passages).retrieve(question.text, 10)
    assert [p.id for p in found] == by_brute_force(question.text, CORPUS.passages, 10)


def test_each_passage_is_embedded_once():
    embedder = Counting()
    base = KnowledgeBase([Passage("one"), Passage("two")], embedder=embedder)
    base.add([Passage("three")])
    base.remove([Passage("one").id])
    base.retrieve("two", 2)
    assert embedder.texts == ["one", "two", "three", "two"]


def test_what_is_added_is_found_and_what_is_removed_is_not():
    base = KnowledgeBase(CORPUS.passages[:20])
    before = base.retrieve("lighthouse", 20)
    base.add([Passage("lighthouse lighthouse", id="new")])
    assert base.retrieve("lighthouse", 1)[0].id == "new"
    assert len(base) == 21
    assert [p.id for p in base.remove(["new", "never there"])] == ["new"]
    after = base.retrieve("lighthouse", 20)
    assert [p.id for p in after] == [p.id for p in before]
    assert not after[0].embedding.flags.writeable


def test_a_passage_with_a_known_id_is_replaced():
    base = KnowledgeBase([Passage("a mill", id="a"), Passage("a weir", id="b")])
    base.add([Passage("a lamp", id="a")])
    assert {p.id: p.text for p in base.retrieve("a lamp", 5)} == {"a": "a lamp", "b": "a weir"}


def test_empty_and_emptied():
    base = KnowledgeBase()
    assert base.retrieve("anything", 5) == []
    assert base.remove(["a"]) == []
    base.add([Passage("a", id="a")])
    assert [p.id for p in base.remove(["a"])] == ["a"]
    assert base.retrieve("a", 5) == []
    base.add([Passage("a", id="a")])
    assert [p.id for p in base.retrieve("a", 5)] == ["a"]


def test_what_is_added_has_vectors_of_the_same_length():
    base = KnowledgeBase([Passage("a", embedding=np.ones(3))])
    with pytest.raises(EmbeddingError, match="vectors of 2 numbers, the passages have 3"):
        base.add([Passage("b", embedding=np.ones(2))])
    assert len(base) == 1
