from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from lighthouse import FACTS, POISON, QUERY, WordEmbeddings, documents, texts
from lighthouse_guard import quarantine
from pydantic import ValidationError
from ragguard import Guard
from ragguard.errors import InvalidInputError

from langchain_ragguard import RAGGuardCompressor


@pytest.fixture
def guard() -> Guard:
    return Guard(embedder=WordEmbeddings(), store=quarantine())


async def test_sync_and_async_return_the_same_objects(guard: Guard) -> None:
    found = documents()
    compressor = RAGGuardCompressor(guard=guard)
    expected = [id(document) for document in found[2:]]
    kept = compressor.compress_documents(found, QUERY)
    assert [id(document) for document in kept] == expected
    kept = await compressor.acompress_documents(found, QUERY)
    assert [id(document) for document in kept] == expected


async def test_k_takes_the_best_survivors(guard: Guard) -> None:
    compressor = RAGGuardCompressor(guard=guard, k=2)
    assert texts(list(compressor.compress_documents(documents(), QUERY))) == FACTS[:2]
    assert texts(list(await compressor.acompress_documents(documents(), QUERY))) == FACTS[:2]


async def test_what_is_unusual_comes_back_as_a_marked_copy() -> None:
    found = documents()
    before = [document.model_copy(deep=True) for document in found]
    guard = Guard(embedder=WordEmbeddings(), store=quarantine(), mark_alpha=0.99)
    compressor = RAGGuardCompressor(guard=guard, k=3)
    expected = [guard.filter(QUERY, [document.page_content]).marked for document in found[2:5]]
    assert all(expected)  # under so wide a share every passage counts as unusual
    for kept in (
        compressor.compress_documents(found, QUERY),
        await compressor.acompress_documents(found, QUERY),
    ):
        assert texts(list(kept)) == FACTS[:3]
        assert all(document.metadata["ragguard_marked"] is True for document in kept)
    assert found == before


async def test_no_documents(guard: Guard) -> None:
    compressor = RAGGuardCompressor(guard=guard)
    assert list(compressor.compress_documents([], QUERY)) == []
    assert list(await compressor.acompress_documents([], QUERY)) == []


def test_bad_construction_is_refused(guard: Guard) -> None:
    with pytest.raises(ValidationError):
        RAGGuardCompressor(guard=guard, k=0)


async def test_in_a_contextual_compression_retriever(guard: Guard) -> None:
    langchain = pytest.importorskip("langchain_classic.retrievers")
    from test_retriever import ListRetriever

    found: list[Document] = documents()
    retriever = langchain.ContextualCompressionRetriever(
        base_compressor=RAGGuardCompressor(guard=guard), base_retriever=ListRetriever(found=found)
    )
    assert not set(POISON) & set(texts(retriever.invoke(QUERY)))
    assert retriever.invoke(QUERY) == await retriever.ainvoke(QUERY) == found[2:]


@pytest.mark.parametrize("found", [["a text"], "a text", [None], None])
async def test_what_is_no_document_is_refused(guard: Guard, found: list[Document]) -> None:
    compressor = RAGGuardCompressor(guard=guard)
    with pytest.raises(InvalidInputError, match=r"must be .*Document objects"):
        compressor.compress_documents(found, QUERY)
    with pytest.raises(InvalidInputError, match=r"must be .*Document objects"):
        await compressor.acompress_documents(found, QUERY)


async def test_documents_may_come_from_a_generator(guard: Guard) -> None:
    compressor, expected = RAGGuardCompressor(guard=guard), texts(documents()[2:])
    found: Any = (one for one in documents())
    assert texts(list(compressor.compress_documents(found, QUERY))) == expected
    found = (one for one in documents())
    assert texts(list(await compressor.acompress_documents(found, QUERY))) == expected
