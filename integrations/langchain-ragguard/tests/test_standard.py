"""LangChain's own tests of a retriever."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import QUERY, WordEmbeddings, documents, quarantine
from ragguard import Guard

from langchain_ragguard import RAGGuardRetriever

standard = pytest.importorskip("langchain_tests.integration_tests.retrievers")


class TestOverInMemoryVectorStore(standard.RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return RAGGuardRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        store = InMemoryVectorStore(WordEmbeddings())
        store.add_documents(documents())
        return {
            "base": store.as_retriever(),
            "guard": Guard(embedder=store.embeddings, store=quarantine()),
        }

    @property
    def retriever_query_example(self) -> str:
        return QUERY
