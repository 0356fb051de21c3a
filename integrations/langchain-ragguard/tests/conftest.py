from __future__ import annotations

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import WordEmbeddings, documents


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
