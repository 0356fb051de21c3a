"""Fewer than k documents are returned only where nobody can help it, and then it is said."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import (
    FACTS,
    POISON,
    QUERY,
    Ask,
    CallTimeRetriever,
    ListRetriever,
    documents,
    quarantine,
    texts,
)
from ragguard import Guard
from ragguard.errors import InvalidInputError

from langchain_ragguard import RAGGuardRetriever


class First(BaseRetriever):
    """Has `top_k` as a field."""

    top_k: int = 3

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return documents()[: self.top_k]


FIXED = ListRetriever(found=documents()[:4])


class Wrapping(BaseRetriever):
    """Another retriever's documents, as contextual compression returns them."""

    base_retriever: RetrieverLike

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.base_retriever.invoke(query)


class Merging(BaseRetriever):
    """Several retrievers' documents, each once, as an ensemble returns them."""

    retrievers: list[RetrieverLike]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = [document for inner in self.retrievers for document in inner.invoke(query)]
        return list({document.page_content: document for document in found}.values())


@pytest.mark.parametrize(
    "base",
    [
        First(),
        Wrapping(base_retriever=First()),
        Wrapping(base_retriever=CallTimeRetriever()),
        Merging(retrievers=[First(), CallTimeRetriever()]),
        Wrapping(base_retriever=Merging(retrievers=[Wrapping(base_retriever=First())])),
    ],
    ids=["field", "wrapped", "call", "merged", "nested"],
)
async def test_the_retrievers_inside_are_asked_for_more(
    base: BaseRetriever, guard: Guard, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    before = base.model_dump()
    retriever = RAGGuardRetriever(base=base, guard=guard, k=5)
    assert texts(await ask(retriever, "invoke", QUERY)) == FACTS[:5]
    assert base.model_dump() == before
    assert caplog.records == []


def test_langchains_own_ensemble_is_asked_for_more(
    guard: Guard, store: InMemoryVectorStore
) -> None:
    ensembles = pytest.importorskip("langchain_classic.retrievers")
    inner = [store.as_retriever(search_kwargs={"k": 2}) for _ in range(2)]
    ensemble = ensembles.EnsembleRetriever(retrievers=inner)
    found = texts(RAGGuardRetriever(base=ensemble, guard=guard, k=5).invoke(QUERY))
    assert len(found) == 5
    assert not set(found) & set(POISON)
    assert [one.search_kwargs for one in inner] == [{"k": 2}] * 2


@pytest.mark.parametrize(
    "base",
    [FIXED, Merging(retrievers=[FIXED]), RunnableLambda(lambda query: documents()[:4])],
    ids=["fixed", "merged", "function"],
)
async def test_fewer_than_k_are_said_once(
    base: Any, guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = RAGGuardRetriever(base=base, guard=guard, k=3)
    for _ in range(2):
        assert texts(retriever.invoke(QUERY)) == FACTS[:2]
        assert texts(await retriever.ainvoke(QUERY)) == FACTS[:2]
    (record,) = caplog.records
    assert "2 were left where k is 3" in record.getMessage()
    assert type(base).__name__ in record.getMessage()


def test_nothing_is_said_where_k_are_left_or_nothing_was_dropped(
    guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    nothing: Any = RunnableLambda(lambda query: [])
    assert RAGGuardRetriever(base=nothing, guard=guard, k=2).invoke(QUERY) == []
    assert len(RAGGuardRetriever(base=FIXED, guard=guard, k=2).invoke(QUERY)) == 2
    assert len(RAGGuardRetriever(base=FIXED, guard=guard).invoke(QUERY)) == 2
    assert caplog.records == []


def test_k_in_the_search_options_counts(store: InMemoryVectorStore) -> None:
    def made(**options: Any) -> RAGGuardRetriever:
        return RAGGuardRetriever.from_vectorstore(store, store=quarantine(), **options)

    assert len(made(search_kwargs={"k": 7}).invoke(QUERY)) == 7
    assert len(made(search_kwargs={"k": 7}, k=3).invoke(QUERY)) == 3
    assert len(made(search_kwargs={}, k=6).invoke(QUERY)) == 6
    assert len(made().invoke(QUERY)) == 4


def test_a_retriever_is_no_vector_store(store: InMemoryVectorStore) -> None:
    with pytest.raises(InvalidInputError, match=r"not a VectorStoreRetriever; .*base=retriever"):
        RAGGuardRetriever.from_vectorstore(store.as_retriever())


class Both(CallTimeRetriever):
    """Takes k with every call, in both ways."""

    async def _aget_relevant_documents(self, query: str, **options: Any) -> list[Document]:
        return documents()[: options["k"]]


@pytest.mark.parametrize(
    "base",
    [CallTimeRetriever(), Both(), Merging(retrievers=[First(), CallTimeRetriever()])],
    ids=["sync", "both", "merged"],
)
async def test_what_takes_k_in_one_way_only_is_asked_in_that_way(
    guard: Guard, base: BaseRetriever
) -> None:
    guarded = RAGGuardRetriever(base=base, guard=guard, k=3)
    assert texts(await guarded.ainvoke(QUERY)) == texts(guarded.invoke(QUERY))
