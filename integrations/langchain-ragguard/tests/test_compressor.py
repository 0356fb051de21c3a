from __future__ import annotations

from typing import Any

import pytest
from lighthouse import (
    FACTS,
    QUERY,
    Ask,
    ListRetriever,
    WordEmbeddings,
    documents,
    quarantine,
    texts,
)
from pydantic import Field, ValidationError
from ragguard import Guard
from ragguard.errors import InvalidInputError

from langchain_ragguard import RAGGuardCompressor


async def test_the_same_objects_are_returned(guard: Guard, ask: Ask) -> None:
    found = documents()
    kept = await ask(RAGGuardCompressor(guard=guard), "compress_documents", found, QUERY)
    assert [id(document) for document in kept] == [id(document) for document in found[2:]]


async def test_k_takes_the_best_survivors(guard: Guard, ask: Ask) -> None:
    compressor = RAGGuardCompressor(guard=guard, k=2)
    assert texts(await ask(compressor, "compress_documents", documents(), QUERY)) == FACTS[:2]


async def test_what_is_unusual_comes_back_as_a_marked_copy(ask: Ask) -> None:
    found = documents()
    found[2].page_content = f"The parish book may know. {QUERY} Nobody else does."
    before = [document.model_copy(deep=True) for document in found]
    guard = Guard(embedder=WordEmbeddings(), store=quarantine(), mark_alpha=0.5)
    compressor = RAGGuardCompressor(guard=guard, k=3)
    kept = await ask(compressor, "compress_documents", found, QUERY)
    assert texts(kept) == texts(before[2:5])
    assert [one.metadata.get("ragguard_marked", False) for one in kept] == [True, False, False]
    assert found == before


async def test_no_documents(guard: Guard, ask: Ask) -> None:
    assert await ask(RAGGuardCompressor(guard=guard), "compress_documents", [], QUERY) == []


def test_bad_construction_is_refused(guard: Guard) -> None:
    with pytest.raises(ValidationError):
        RAGGuardCompressor(guard=guard, k=0)
    with pytest.raises(ValidationError, match=r"must be a Guard; pass guard=Guard\(\)"):
        RAGGuardCompressor()


def test_a_subclass_may_bring_its_guard() -> None:
    class Mine(RAGGuardCompressor):
        guard: Guard = Field(default_factory=Guard, exclude=True)

    assert isinstance(Mine().guard, Guard)
    with pytest.raises(ValidationError, match=r"must be a Guard; pass guard=Guard\(\)"):
        Mine(guard="a guard")


async def test_in_a_contextual_compression_retriever(guard: Guard, ask: Ask) -> None:
    langchain = pytest.importorskip("langchain_classic.retrievers")
    found = documents()
    retriever = langchain.ContextualCompressionRetriever(
        base_compressor=RAGGuardCompressor(guard=guard), base_retriever=ListRetriever(found=found)
    )
    assert await ask(retriever, "invoke", QUERY) == found[2:]


@pytest.mark.parametrize("found", [["a text"], "a text", [None], None])
async def test_what_is_no_document_is_refused(guard: Guard, ask: Ask, found: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"must be .*Document objects"):
        await ask(RAGGuardCompressor(guard=guard), "compress_documents", found, QUERY)


async def test_documents_may_come_from_a_generator(guard: Guard, ask: Ask) -> None:
    found = (one for one in documents())
    kept = await ask(RAGGuardCompressor(guard=guard), "compress_documents", found, QUERY)
    assert texts(kept) == FACTS
