from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from lighthouse import (
    FACTS,
    POISON,
    QUERY,
    WordEmbeddings,
    ask_for_vectors,
    documents,
    quarantine,
    texts,
)
from ragguard.attribution.result import Attribution
from ragguard.embedding import as_embedder
from ragguard.errors import InvalidInputError

import langchain_ragguard
from langchain_ragguard import RAGGuardRetriever
from langchain_ragguard.passages import as_passages
from langchain_ragguard.stores import KnowledgeBase, StoreEmbedder, stored_vectors


def in_memory(embeddings: WordEmbeddings) -> VectorStore:
    return InMemoryVectorStore(embeddings)


def faiss(embeddings: WordEmbeddings) -> VectorStore:
    index = pytest.importorskip("faiss")
    community = pytest.importorskip("langchain_community.vectorstores.faiss")
    docstore = pytest.importorskip("langchain_community.docstore.in_memory")
    return community.FAISS(embeddings, index.IndexFlatL2(64), docstore.InMemoryDocstore(), {})


def chroma(embeddings: WordEmbeddings) -> VectorStore:
    pytest.importorskip("chromadb")
    langchain_chroma = pytest.importorskip("langchain_chroma")
    return langchain_chroma.Chroma(
        collection_name=f"lighthouse-{uuid4().hex}", embedding_function=embeddings
    )


STORES = [in_memory, faiss, chroma]


@pytest.fixture(params=STORES, ids=lambda make: make.__name__)
def filled(request: pytest.FixtureRequest, embeddings: WordEmbeddings) -> Iterator[VectorStore]:
    store = request.param(embeddings)
    store.add_documents(documents())
    embeddings.documents.clear()
    yield store
    if request.param is chroma:
        store.delete_collection()


@pytest.fixture
def named(filled: VectorStore) -> VectorStore:
    """A filled store whose documents say which rows they are."""
    if filled.similarity_search(QUERY, k=1)[0].id is None:
        pytest.skip("documents of this release of the store have no ids")
    embeddings = filled.embeddings
    assert isinstance(embeddings, WordEmbeddings)
    embeddings.queries.clear()
    return filled


def three_facts(retriever: RAGGuardRetriever) -> list[str]:
    """Return what the retriever finds, three texts without the poison."""
    found = texts(retriever.invoke(QUERY))
    assert len(found) == 3
    assert not set(POISON) & set(found)
    return found


def test_the_store_says_how_is_embedded(embeddings: WordEmbeddings) -> None:
    with pytest.raises(InvalidInputError, match=r"store's own.* leave embedder= out, or pass RAGG"):
        RAGGuardRetriever.from_vectorstore(in_memory(embeddings), embedder=WordEmbeddings())


def test_a_suspicious_set_is_compared_without_embedding_it_again(
    named: VectorStore, embeddings: WordEmbeddings
) -> None:
    retriever = RAGGuardRetriever.from_vectorstore(named, k=3, on_error="raise")
    three_facts(retriever)
    assert embeddings.queries == [QUERY]
    assert embeddings.documents == []


async def test_async_gives_the_same_and_embeds_nothing_more(
    named: VectorStore, embeddings: WordEmbeddings
) -> None:
    retriever = RAGGuardRetriever.from_vectorstore(named, k=3, fetch_k=10, on_error="raise")
    found = await retriever.ainvoke(QUERY)
    assert not set(POISON) & set(texts(found))
    assert embeddings.queries == [QUERY]
    assert embeddings.documents == []
    again = retriever.invoke(QUERY)
    assert texts(found) == texts(again)
    assert [document.metadata for document in found] == [document.metadata for document in again]


def test_poison_is_dropped_whatever_the_store_tells(filled: VectorStore) -> None:
    retriever = RAGGuardRetriever.from_vectorstore(filled, k=3, on_error="raise")
    three_facts(retriever)


def test_the_same_documents_as_a_search_by_text(filled: VectorStore) -> None:
    retriever = RAGGuardRetriever.from_vectorstore(filled, k=6, fetch_k=6, mode="monitor")
    assert texts(retriever.invoke(QUERY)) == texts(filled.similarity_search(QUERY, k=6))


def test_marginal_relevance_is_guarded_too(filled: VectorStore) -> None:
    retriever = RAGGuardRetriever.from_vectorstore(
        filled, k=3, search_type="mmr", store=quarantine()
    )
    three_facts(retriever)


def test_a_filter_goes_to_the_store(filled: VectorStore) -> None:
    where = {"source": "2.txt"}
    if isinstance(filled, InMemoryVectorStore):
        options: dict[str, Any] = {"filter": lambda document: document.metadata == where}
    else:
        options = {"filter": where}
    retriever = RAGGuardRetriever.from_vectorstore(filled, k=3, search_kwargs=options)
    assert texts(retriever.invoke(QUERY)) == [FACTS[0]]
    assert "k" not in options


def test_stored_vectors_are_those_that_were_indexed(
    named: VectorStore, embeddings: WordEmbeddings
) -> None:
    read = stored_vectors(named)
    assert read is not None
    found = named.similarity_search(QUERY, k=4)
    expected = embeddings.embed_documents(texts(found))
    np.testing.assert_allclose(np.asarray(read(found)), expected)
    stranger = Document(page_content="never indexed", id="stranger")
    nameless = Document(page_content="never indexed")
    known, unknown, missing = read([found[0], stranger, nameless])
    np.testing.assert_allclose(np.asarray(known), expected[0])
    assert unknown is None
    assert missing is None
    assert read([]) == []
    assert read([nameless]) == [None]


def test_stored_vectors_follow_the_store(named: VectorStore, embeddings: WordEmbeddings) -> None:
    read = stored_vectors(named)
    assert read is not None
    read(named.similarity_search(QUERY, k=1))

    named.delete(["doc-0"])
    late = Document(page_content="A late addition to the archive.", id="late")
    named.add_documents([late])

    found = named.similarity_search("A late addition to the archive", k=9)
    vectors = read([*found, Document(page_content=POISON[0], id="doc-0")])
    assert vectors[-1] is None
    np.testing.assert_allclose(np.asarray(vectors[:-1]), embeddings.embed_documents(texts(found)))


def test_an_inverted_file_without_a_direct_map_is_embedded_again(
    embeddings: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_for_vectors(monkeypatch)
    index = pytest.importorskip("faiss")
    store: Any = faiss(embeddings)
    quantizer = index.IndexFlatL2(64)
    store.index = index.IndexIVFFlat(quantizer, 64, 1)
    store.index.train(np.eye(64, dtype=np.float32))
    store.add_documents(documents())
    embeddings.documents.clear()
    retriever = RAGGuardRetriever.from_vectorstore(store, k=3, fetch_k=6, on_error="raise")
    found = three_facts(retriever)
    assert set(found) <= set(embeddings.documents)


class OtherStore(VectorStore):
    """A store that keeps its vectors to itself."""

    def __init__(self, embeddings: WordEmbeddings) -> None:
        self._inner = InMemoryVectorStore(embeddings)
        self._inner.add_documents(documents())
        embeddings.documents.clear()

    @property
    def embeddings(self) -> Any:
        return self._inner.embeddings

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self._inner.similarity_search(query, k, **kwargs)

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def test_an_unknown_store_is_guarded_in_its_own_vector_space(
    embeddings: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_for_vectors(monkeypatch)
    store = OtherStore(embeddings)
    retriever = RAGGuardRetriever.from_vectorstore(store, k=3, fetch_k=6, on_error="raise")
    found = texts(retriever.invoke(QUERY))
    ranked = texts(store.similarity_search(QUERY, k=6))
    assert found == [text for text in ranked if text not in POISON][:3]
    assert sorted(embeddings.documents) == sorted(ranked)
    assert texts(await retriever.ainvoke(QUERY)) == found
    assert len(embeddings.documents) == 6


def test_vectors_are_read_for_the_documents_at_hand_only(embeddings: WordEmbeddings) -> None:
    store = InMemoryVectorStore(embeddings)
    store.add_documents(documents())
    other = StoreEmbedder(InMemoryVectorStore(embeddings), embeddings)
    embedder = StoreEmbedder(store, embeddings)
    embeddings.documents.clear()

    with embedder.knowing(documents()):
        known = embedder.embed([FACTS[0], "a stranger", FACTS[1]])
        assert embeddings.documents == ["a stranger"]
        other.embed([FACTS[0]])
    embedder.embed([FACTS[0]])

    assert embeddings.documents == ["a stranger", FACTS[0], FACTS[0]]
    assert known.dtype == np.float32
    computed = np.asarray(embeddings.embed_documents([FACTS[0], "a stranger", FACTS[1]]))
    np.testing.assert_allclose(
        known, computed / np.linalg.norm(computed, axis=1, keepdims=True), rtol=1e-6
    )
    assert embedder.embed([]).shape[0] == 0


def test_attribution_searches_the_whole_store(
    named: VectorStore, embeddings: WordEmbeddings
) -> None:
    asked: list[tuple[list[str], list[Any]]] = []

    class Recorder:
        def attribute(self, query: str, response: str, retrieve: Any) -> Attribution:
            found = retrieve(query, 10)
            asked.append(([p.text for p in found], [p.embedding for p in found]))
            return Attribution(query, response, "recorder", [], [], 0, "unclear", "only looked")

        async def aattribute(self, query: str, response: str, retrieve: Any) -> Attribution:
            raise NotImplementedError

    narrow = {"k": 2, "fetch_k": 5, "lambda_mult": 0.3}
    retriever = RAGGuardRetriever.from_vectorstore(
        named, k=1, search_type="mmr", search_kwargs=narrow, attributor=Recorder()
    )
    with retriever.guard as guard:
        guard.attribution(guard.report(QUERY, "In 1790."), timeout=60)
    (found, vectors), *_ = asked
    assert sorted(found) == sorted(POISON + FACTS)
    np.testing.assert_allclose(np.asarray(vectors), embeddings.embed_documents(found))


def test_behind_a_filter_faiss_fetches_more_than_its_twenty(embeddings: WordEmbeddings) -> None:
    store = faiss(embeddings)
    texts = [f"The pier was built in {year}." for year in range(1700, 1760)]
    owned = [{"owner": "town" if at % 3 else "crown"} for at in range(len(texts))]
    store.add_texts(texts, metadatas=owned)
    base = KnowledgeBase(store, {"k": 5, "filter": {"owner": "crown"}})
    found = base.retrieve("When was the pier built?", 30)
    assert sorted(passage.text for passage in found) == texts[::3]
    assert all(passage.embedding is not None for passage in found)


def test_the_vector_space_keeps_its_name(embeddings: WordEmbeddings) -> None:
    embedder = StoreEmbedder(InMemoryVectorStore(embeddings), embeddings)
    assert embedder.name == as_embedder(embeddings).name


def test_a_store_without_embeddings_is_refused() -> None:
    class Bare(OtherStore):
        embeddings = None  # type: ignore[assignment]

        def __init__(self) -> None:
            pass

    with pytest.raises(InvalidInputError, match="Guard\\(embedder="):
        RAGGuardRetriever.from_vectorstore(Bare(), k=3)


def test_no_store_is_imported() -> None:
    program = (
        "import sys, langchain_ragguard\n"
        "heavy = {'faiss', 'chromadb', 'langchain_community', 'torch'}\n"
        "print(heavy & set(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(langchain_ragguard.__file__).parents[1],
    )
    assert answer.stdout.strip() == "set()"


def test_a_store_that_is_only_asynchronous_is_searched(embeddings: WordEmbeddings) -> None:
    class Awaited(InMemoryVectorStore):
        def similarity_search_with_score(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError("use the asynchronous methods")

        similarity_search = similarity_search_with_score

        async def asimilarity_search_with_score(self, query: str, k: int = 4, **_: Any) -> Any:
            return super().similarity_search_with_score(query, k)

    store = Awaited(embeddings)
    store.add_documents(documents())
    found = KnowledgeBase(store, {"k": 2}).retrieve(QUERY, 3)
    assert len(found) == 3
    assert all(one.embedding is not None for one in found)


def test_the_ids_of_qdrant_are_those_of_its_points(embeddings: WordEmbeddings) -> None:
    library = pytest.importorskip("langchain_qdrant")
    store = library.QdrantVectorStore.from_documents(
        [Document(page_content=text, id=str(uuid4())) for text in (*POISON, *FACTS)],
        embeddings,
        location=":memory:",
        collection_name="lighthouse",
    )
    found = store.similarity_search(QUERY, 3)
    names = [one.metadata["_id"] for one in found]
    assert [one.id for one in KnowledgeBase(store, {}).retrieve(QUERY, 3)] == names
    assert [one.id for one in as_passages(found)[1]] == names
