"""Vectors at their own length, from whatever a user embeds with."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.embedding import HashedEmbedder
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.knowledge.pgvector import _as_array, _as_literal
from ragguard.knowledge.sources import Retriever, Vectors, ask, resolved, vectors_of
from ragguard.passage import Passage


def of_texts(texts):
    return [[float(len(text)), 4.0] for text in texts]


class LangChain:
    def embed_documents(self, texts):
        return of_texts(texts)

    def embed_query(self, text):
        return [0.0, 7.0]


class LlamaIndex:
    def get_text_embedding_batch(self, texts):
        return of_texts(texts)

    def get_query_embedding(self, query):
        return [0.0, 7.0]


class SentenceTransformers:
    def encode_document(self, texts):
        return np.array(of_texts(texts))

    def encode_query(self, text):
        assert isinstance(text, str)
        return np.array([0.0, 7.0])

    def encode(self, texts):
        raise AssertionError("it tells queries from documents")


@pytest.mark.parametrize("kind", [LangChain, LlamaIndex, SentenceTransformers])
def test_queries_and_texts_are_embedded_each_in_its_way(kind):
    vectors = Vectors(kind())
    np.testing.assert_array_equal(vectors.of_texts(["abc", "d"]), [[3, 4], [1, 4]])
    np.testing.assert_array_equal(vectors.of_query("abc"), [0, 7])


def test_an_embedder_with_a_way_for_questions_is_asked_that_way():
    class Asymmetric(HashedEmbedder):
        def embed_query(self, query):
            return self.embed([query[::-1]])[0]

    row = HashedEmbedder().embed(["cba"])[0]
    np.testing.assert_array_equal(Vectors(Asymmetric()).of_query("abc"), row)


def test_one_function_does_both():
    np.testing.assert_array_equal(Vectors(of_texts).of_query("abc"), [3, 4])
    built_in = HashedEmbedder().embed(["abc"])[0]
    np.testing.assert_array_equal(Vectors(None).of_query("abc"), built_in)
    np.testing.assert_array_equal(Vectors(HashedEmbedder()).of_texts(["abc"])[0], built_in)


@pytest.mark.parametrize("answer", [[[1.0]], [[1.0], [np.inf]], [1.0, 2.0], "words", None])
def test_answers_that_are_no_rows(answer):
    with pytest.raises(EmbeddingError, match="answered"):
        Vectors(lambda texts: answer).of_texts(["a", "b"])


def test_an_embedder_that_fails_is_an_embedding_error():
    def fails(texts):
        raise ConnectionError("no such host")

    with pytest.raises(EmbeddingError, match="no such host"):
        Vectors(fails).of_query("a")


def test_a_retriever_without_a_k_is_named_once(caplog):
    class Fixed:
        def retrieve(self, query):
            return ["one", "two"]

    retriever = Retriever(Fixed(), "retrieve")
    for _ in range(2):
        assert [p.text for p in retriever.retrieve("query", 1)] == ["one"]
    assert caplog.messages == []
    for _ in range(2):
        assert [p.text for p in retriever.retrieve("query", 9)] == ["one", "two"]
    assert [message.split(" and ")[0] for message in caplog.messages] == [
        "Fixed answers 2 passages"
    ]


def test_a_passages_own_vector_counts():
    passages = [Passage("abc"), Passage("d", embedding=np.array([9.0, 9.0])), Passage("ef")]
    rows = vectors_of(passages, Vectors(of_texts), "index")
    np.testing.assert_array_equal(rows, [[3, 4], [9, 9], [2, 4]])
    with pytest.raises(InvalidInputError, match="pass embedder= with the index"):
        vectors_of(passages, None, "index")


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9),
    st.sampled_from(["vector", "halfvec", "real[]", "double precision[]"]),
)
def test_numbers_survive_as_text(numbers, kind):
    literal = _as_literal(np.array(numbers), kind)
    assert literal[0] + literal[-1] == ("{}" if kind.endswith("[]") else "[]")
    assert _as_array(literal).tolist() == numbers


def test_what_is_asynchronous_is_awaited_on_one_loop():
    loops = []

    async def note():
        loops.append(asyncio.get_running_loop())
        return len(loops)

    assert [resolved(note()), resolved(note()), resolved(7)] == [1, 2, 7]
    assert loops[0] is loops[1]

    async def from_another_loop():
        return await asyncio.to_thread(lambda: resolved(note()))

    assert asyncio.run(from_another_loop()) == 3
    assert loops[2] is loops[0]


def test_a_method_or_its_asynchronous_twin():
    class Both:
        def find(self, name):
            raise NotImplementedError

        async def afind(self, name):
            return f"found {name}"

    assert ask(Both(), "find", "it") == "found it"
    with pytest.raises(NotImplementedError, match="Both has no lose and no alose"):
        ask(Both(), "lose")
    with pytest.raises(ZeroDivisionError):
        ask(type("Broken", (), {"find": lambda self: 1 / 0})(), "find")
