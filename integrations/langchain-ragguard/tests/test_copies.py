"""A guarded retriever that is pickled or copied, as joblib, Dask and LangChain itself do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import FACTS, POISON, QUERY, WordEmbeddings, documents, quarantine, texts
from ragguard import Guard
from ragguard.audit import open_store
from ragguard.errors import InvalidInputError

from langchain_ragguard import RAGGuardCompressor, RAGGuardRetriever

COPIES: dict[str, Callable[..., RAGGuardRetriever]] = {
    "pickle": lambda retriever: pickle.loads(pickle.dumps(retriever)),
    "deepcopy": copy.deepcopy,
    "deep model copy": lambda retriever: retriever.model_copy(deep=True),
}
every_way = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)


@every_way
def test_a_copy_filters_alike_and_the_live_retriever_goes_on(
    copied: Callable[..., RAGGuardRetriever], store: InMemoryVectorStore
) -> None:
    retriever = RAGGuardRetriever.from_vectorstore(store, k=4, store=quarantine())
    before = texts(retriever.invoke(QUERY))
    other = copied(retriever)
    assert texts(other.invoke(QUERY)) == before
    assert not set(before) & set(POISON)
    assert texts(retriever.invoke(QUERY)) == before


@every_way
def test_a_copy_still_reads_the_vectors_that_the_store_keeps(
    copied: Callable[..., RAGGuardRetriever], store: InMemoryVectorStore
) -> None:
    other = copied(RAGGuardRetriever.from_vectorstore(store, k=4))
    assert other.embedder is other.guard._parts.settings["embedder"]
    model = other.embedder._made_of[1]
    model.documents.clear()
    with other._knowing(documents()):
        other.embedder.embed(POISON + FACTS)
    assert model.documents == []


@every_way
def test_reports_to_a_copy_search_its_store(
    copied: Callable[..., RAGGuardRetriever], store: InMemoryVectorStore
) -> None:
    retriever = RAGGuardRetriever.from_vectorstore(store, k=4)
    guard = copied(retriever).guard
    event = guard.report(QUERY, "1790", passages=FACTS[:1])
    assert guard.attribution(event, timeout=30).scope_size == len(POISON + FACTS)


def test_a_compressor_is_copied_as_well() -> None:
    compressor = RAGGuardCompressor(guard=Guard(store=quarantine()), k=3)
    for other in (pickle.loads(pickle.dumps(compressor)), copy.deepcopy(compressor), compressor):
        kept = other.compress_documents(documents(), QUERY)
        assert texts(list(kept)) == FACTS[:3]


def test_a_store_object_that_cannot_be_pickled_is_named_and_nothing_is_lost(
    store: InMemoryVectorStore, tmp_path
) -> None:
    audit = open_store(tmp_path / "audit.db")
    retriever = RAGGuardRetriever.from_vectorstore(store, k=4, store=audit)
    with pytest.raises(InvalidInputError, match=r"Guard\(store=URL\)"):
        pickle.dumps(retriever)
    assert len(retriever.invoke(QUERY)) == 4
    retriever.guard.close()
    audit.close()


def test_faiss_travels_too(embeddings: WordEmbeddings) -> None:
    pytest.importorskip("faiss")
    community = pytest.importorskip("langchain_community.vectorstores")
    index = community.FAISS.from_documents(documents(), embeddings)
    retriever = RAGGuardRetriever.from_vectorstore(index, k=4, store=quarantine())
    other = pickle.loads(pickle.dumps(retriever))
    assert texts(other.invoke(QUERY)) == texts(retriever.invoke(QUERY))
