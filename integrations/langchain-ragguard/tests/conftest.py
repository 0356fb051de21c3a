from __future__ import annotations

from typing import Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import Ask, WordEmbeddings, documents, quarantine
from ragguard import Guard


@pytest.fixture
def embeddings() -> WordEmbeddings:
    return WordEmbeddings()


@pytest.fixture
def store(embeddings: WordEmbeddings) -> InMemoryVectorStore:
    """The knowledge base, indexed; what indexing embedded is forgotten."""
    made = InMemoryVectorStore(embeddings)
    made.add_documents(documents())
    embeddings.documents.clear()
    return made


@pytest.fixture
def guard() -> Guard:
    """A guard that surely drops the poison."""
    return Guard(embedder=WordEmbeddings(), store=quarantine())


@pytest.fixture(params=["", "a"], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Call a method, or its asynchronous twin; a test that takes this runs with each."""

    async def call(asked: Any, method: str, *given: Any, **options: Any) -> Any:
        answer = getattr(asked, f"{request.param}{method}")(*given, **options)
        return await answer if request.param else answer

    return call
