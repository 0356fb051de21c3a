"""Whatever a user holds becomes an embedder."""

import numpy as np
import pytest

from ragguard.embedding import (
    CachedEmbedder,
    Embedder,
    HashedEmbedder,
    QueryEmbedder,
    as_embedder,
)
from ragguard.embedding.adapt import unit_rows
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.knowledge.sources import Vectors


def lengths(texts):
    return [[float(len(text)), 1.0] for text in texts]


class WithEncode:
    def encode(self, texts):
        assert isinstance(texts, list)
        return np.array(lengths(texts))


class LikeLangChain:
    model_name = "tiny"

    def embed_documents(self, texts):
        return lengths(texts)

    def embed_query(self, text):
        raise AssertionError("passages are documents")

    def __call__(self, texts):
        raise AssertionError("the method goes first")


class LikeLlamaIndex:
    model_name = "small"

    def get_text_embedding_batch(self, texts, show_progress=False):
        return lengths(texts)

    def get_text_embedding(self, text):
        raise AssertionError("one batch, not one by one")

    def __call__(self, nodes):
        raise AssertionError("the method goes first")


class Callable:
    def __call__(self, texts):
        return lengths(texts)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (lengths, "lengths"),
        (WithEncode(), "WithEncode"),
        (WithEncode().encode, "WithEncode.encode"),
        (LikeLangChain(), "LikeLangChain:tiny"),
        (LikeLlamaIndex(), "LikeLlamaIndex:small"),
        (Callable(), "Callable"),
    ],
)
def test_what_embeds_a_list_of_texts_is_taken(given, name):
    embedder = as_embedder(given)
    assert isinstance(embedder, Embedder)
    assert embedder.name == name
    rows = embedder.embed(("four", "seventy"))
    assert rows == pytest.approx(np.array([[4, 1], [7, 1]]) / np.sqrt([[17], [50]]))
    assert rows.dtype == np.float32


def test_nothing_means_the_built_in_embedder_and_an_embedder_stays_itself():
    assert isinstance(as_embedder(None), HashedEmbedder)
    for own in (HashedEmbedder(8), CachedEmbedder(HashedEmbedder(8))):
        assert as_embedder(own) is own


@pytest.mark.parametrize("given", [HashedEmbedder, WithEncode, int])
def test_a_class_is_no_embedder(given):
    with pytest.raises(InvalidInputError, match=f"pass an instance: {given.__name__}"):
        as_embedder(given)


def test_a_name_is_no_embedder_though_strings_can_encode():
    with pytest.raises(
        InvalidInputError, match=r"SentenceTransformerEmbedder\('all-MiniLM-L6-v2'\)"
    ):
        as_embedder("all-MiniLM-L6-v2")


@pytest.mark.parametrize("given", [5, [1.0], b"bytes", object()])
def test_what_embeds_nothing_is_refused(given):
    with pytest.raises(InvalidInputError, match="callable from texts to vectors"):
        as_embedder(given)


async def _awaited(*_):
    """Awaited by nobody."""


@pytest.mark.parametrize(
    "given",
    [
        _awaited,
        type("Called", (), {"__call__": _awaited})(),
        type("Own", (), {"name": "own", "embed": _awaited})(),
        type("Query", (), {"name": "own", "embed": len, "embed_query": _awaited})(),
        type("LangChain", (), {"embed_documents": _awaited, "embed_query": _awaited})(),
        type("Question", (), {"embed_documents": len, "embed_query": _awaited})(),
    ],
    ids=lambda given: getattr(given, "__name__", type(given).__name__),
)
def test_what_must_be_awaited_is_refused(given):
    with pytest.raises(InvalidInputError, match=r"embedder.* must be no coroutine function"):
        as_embedder(given)


@pytest.mark.parametrize("answer", ["text", {"data": []}, [[1.0], [1.0, 2.0]], object()])
def test_an_answer_that_is_no_array_is_an_embedding_error(answer):
    with pytest.raises(EmbeddingError, match="2 texts"):
        as_embedder(lambda texts: answer).embed(["a", "b"])


def test_lone_surrogates_never_reach_the_library_of_another():
    seen = []

    def record(texts):
        seen.extend(texts)
        return lengths(texts)

    as_embedder(record).embed(["a\ud800b", "caf\u00e9"])
    assert seen == ["a?b", "caf\u00e9"]


def test_unit_rows():
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e30, 0.0], [0.0, 1e-40]]))
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0, 0], [1, 0], [0, 1]]))
    assert rows.dtype == np.float32
    assert unit_rows(np.array([0.0, 5.0])).tolist() == [0.0, 1.0]
    assert unit_rows(np.zeros((0, 3))).shape == (0, 3)
    once = unit_rows(np.random.default_rng(1).normal(size=(500, 7)))
    assert (unit_rows(once) == once).all()


def test_a_row_is_scaled_the_same_alone_and_in_a_batch():
    rows = np.random.default_rng(0).normal(size=(50, 37)).astype(np.float32)
    assert (unit_rows(rows) == np.stack([unit_rows(row) for row in rows])).all()
    assert (unit_rows(rows) == np.concatenate([unit_rows(row[None]) for row in rows])).all()


def test_a_real_langchain_embedder():
    embeddings = pytest.importorskip("langchain_core.embeddings", reason="needs langchain-core")
    embedder = as_embedder(embeddings.DeterministicFakeEmbedding(size=6))
    rows = embedder.embed(["a", "b", "a"])
    assert rows.shape == (3, 6)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
    assert (rows[0] == rows[2]).all()
    assert embedder.name == "DeterministicFakeEmbedding"


def test_a_real_llama_index_embedder():
    mock = pytest.importorskip("llama_index.core.embeddings", reason="needs llama-index-core")
    embedder = as_embedder(mock.MockEmbedding(embed_dim=4))
    rows = embedder.embed(["a", "b"])
    assert rows == pytest.approx(np.full((2, 4), 0.5))
    assert embedder.name.startswith("MockEmbedding")


class Asymmetric:
    """Questions and passages lie on different axes, but for what they share."""

    def embed_documents(self, texts):
        return [[float(len(text)), 3.0] for text in texts]

    def embed_query(self, text):
        return [3.0, float(len(text))]


class AsymmetricIndex:
    def get_text_embedding_batch(self, texts):
        return Asymmetric().embed_documents(texts)

    def get_query_embedding(self, text):
        return Asymmetric().embed_query(text)


class AsymmetricEncoder:
    def encode(self, texts):
        return np.array(Asymmetric().embed_documents(texts))

    def encode_query(self, text):
        return np.array(Asymmetric().embed_query(text))


class DocumentEncoder(AsymmetricEncoder):
    def encode(self, texts):
        raise AssertionError("it has a way for documents")

    def encode_document(self, texts):
        return np.array(Asymmetric().embed_documents(texts))


@pytest.mark.parametrize("kind", [Asymmetric, AsymmetricIndex, AsymmetricEncoder, DocumentEncoder])
@pytest.mark.parametrize("cached", [False, True])
def test_questions_are_embedded_in_their_own_way(kind, cached):
    embedder = as_embedder(kind())
    if cached:
        embedder = CachedEmbedder(embedder)
    assert isinstance(embedder, QueryEmbedder)
    assert Vectors(embedder).of_query("four") == pytest.approx([0.6, 0.8])
    assert embedder.embed(["four"])[0] == pytest.approx([0.8, 0.6])
    assert Vectors(embedder).of_query("four") == pytest.approx(
        [0.6, 0.8]
    )  # not what is cached of it


def test_without_a_way_of_their_own_questions_are_embedded_as_passages():
    embedder = as_embedder(lengths)
    assert not isinstance(embedder, QueryEmbedder)
    assert Vectors(embedder).of_query("abc").tolist() == embedder.embed(["abc"])[0].tolist()
    cached = CachedEmbedder(embedder)
    assert Vectors(cached).of_query("abc").tolist() == embedder.embed(["abc"])[0].tolist()
    assert CachedEmbedder(as_embedder(Asymmetric())).embed_query(" ").tolist() == [0.0, 0.0]


@pytest.mark.parametrize("answer", [5.0, "no vector", [[1.0, 2.0]], [float("nan"), 1.0]])
def test_a_question_that_gets_no_vector_is_an_embedding_error(answer):
    class Broken(Asymmetric):
        def embed_query(self, text):
            return answer

    with pytest.raises(EmbeddingError, match="Broken"):
        CachedEmbedder(as_embedder(Broken())).embed_query("four")
