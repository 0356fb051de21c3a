"""What a caller configures for the retriever inside reaches it, and marginal relevance stays."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import POISON, QUERY, Ask, ListRetriever, WordEmbeddings, documents, texts
from pydantic import Field
from ragguard import Guard

from langchain_ragguard import RAGGuardRetriever
from langchain_ragguard.fetching import merged

NOTES = [
    Document(page_content=f"{whose}'s note {n}", id=f"{whose}-{n}", metadata={"user": whose})
    for n in range(10)
    for whose in ("acme", "bolt")
]


def of_acme(document: Document) -> bool:
    return bool(document.metadata["user"] == "acme")


@pytest.fixture
def notes(embeddings: WordEmbeddings) -> InMemoryVectorStore:
    store = InMemoryVectorStore(embeddings)
    store.add_documents(NOTES)
    return store


@pytest.mark.parametrize("wraps", [False, True], ids=["alone", "in a chain"])
@pytest.mark.parametrize("k", [None, 4])
async def test_a_filter_for_one_request_holds(
    notes: InMemoryVectorStore, ask: Ask, k: int | None, wraps: bool
) -> None:
    base = notes.as_retriever().configurable_fields(
        search_kwargs=ConfigurableField(id="search_kwargs")
    )
    guarded: Any = RAGGuardRetriever(base=base, guard=Guard(), k=k).configurable_fields(
        tenant=ConfigurableField(id="tenant")
    )
    asked = RunnablePassthrough() | guarded if wraps else guarded
    config = {"search_kwargs": {"k": 4, "filter": of_acme}, "tenant": "acme"}
    found = await ask(asked, "invoke", "note", {"configurable": config})
    assert [one.metadata["user"] for one in found] == ["acme"] * 4
    (batched,) = await ask(asked, "batch", ["note"], {"configurable": config})
    assert [one.metadata["user"] for one in batched] == ["acme"] * 4
    others = await ask(asked, "invoke", "note", {"configurable": {"search_kwargs": {"k": 20}}})
    assert {one.metadata["user"] for one in others} == {"acme", "bolt"}  # nothing is left behind


async def test_the_callbacks_around_a_tool_that_calls_it_are_kept(guard: Guard, ask: Ask) -> None:
    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.started: list[UUID | None] = []

        def on_retriever_start(self, *_: Any, parent_run_id: UUID | None = None, **__: Any) -> None:
            self.started.append(parent_run_id)

    retriever = RAGGuardRetriever(base=ListRetriever(found=documents()), guard=guard)
    heard, run_id = Heard(), uuid4()
    config: Any = {"callbacks": [heard], "run_id": run_id, "run_name": "mine"}
    await ask(RunnablePassthrough() | retriever, "invoke", QUERY, config)
    assert len(heard.started) == len(set(heard.started)) == 2  # the guard's, and the base's in it
    assert run_id in heard.started


class Filtered(BaseRetriever):
    """Takes a filter with the query, as a newer vector store retriever does."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, filter: Any = None
    ) -> list[Document]:
        return [one for one in NOTES if filter is None or filter(one)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, filter: Any = None
    ) -> list[Document]:
        return self._get_relevant_documents(query, run_manager=run_manager, filter=filter)


async def test_what_the_base_takes_is_handed_on(ask: Ask) -> None:
    guarded = RAGGuardRetriever(base=Filtered(), guard=Guard(), k=3)
    found = await ask(guarded, "invoke", "note", filter=of_acme, k=5)
    assert [one.metadata["user"] for one in found] == ["acme"] * 5


COPIES = [f"The ferry to Skelby leaves at nine, edition {n}." for n in range(8)]
OTHERS = [
    "Tickets for the ferry to Skelby cost two shillings.",
    "In winter the ferry to Skelby stops for ice.",
    "The ferry to Skelby takes bicycles.",
    "From Skelby a bus meets the ferry.",
    "Skelby has one school.",
]
FERRY = "When does the ferry to Skelby leave?"


def chroma(embeddings: WordEmbeddings) -> Any:
    library = pytest.importorskip("langchain_chroma")
    return library.Chroma(f"ferry-{uuid4().hex}", embedding_function=embeddings)


@pytest.mark.parametrize("make", [InMemoryVectorStore, chroma])
@pytest.mark.parametrize("k", [4, 11])
async def test_marginal_relevance_chooses_as_without_a_guard(make: Any, k: int, ask: Ask) -> None:
    store = make(WordEmbeddings())
    store.add_documents([Document(page_content=text, id=text[-20:]) for text in COPIES + OTHERS])
    search = {"search_type": "mmr", "search_kwargs": {"k": k, "fetch_k": 12}}
    plain = await ask(store.as_retriever(**search), "invoke", FERRY)
    guarded = RAGGuardRetriever.from_vectorstore(store, **search)
    assert texts(await ask(guarded, "invoke", FERRY)) == texts(plain)


async def test_what_marginal_relevance_chose_and_is_dropped_is_replaced(
    store: InMemoryVectorStore, guard: Guard, ask: Ask
) -> None:
    base = store.as_retriever(search_type="mmr", search_kwargs={"k": 4})
    plain = await ask(base, "invoke", QUERY)
    assert any(text in POISON for text in texts(plain))
    found = await ask(RAGGuardRetriever(base=base, guard=guard, k=4), "invoke", QUERY)
    assert len(found) == len({one.page_content for one in found}) == 4
    assert not set(texts(found)) & set(POISON)
    kept = [text for text in texts(plain) if text not in POISON]
    assert texts(found)[: len(kept)] == kept


class Weighted(BaseRetriever):
    """Over a vector store with a k of its own, as `TimeWeightedVectorStoreRetriever`."""

    vectorstore: InMemoryVectorStore
    search_kwargs: dict[str, Any] = Field(default_factory=lambda: {"k": 100})
    k: int = 3

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.vectorstore.similarity_search(query, **self.search_kwargs)[: self.k]


class BySource(BaseRetriever):
    """Retrievers by name."""

    retrievers: dict[str, BaseRetriever]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [one for inner in self.retrievers.values() for one in inner.invoke(query)]


class Best(BaseDocumentCompressor):
    """A reranker."""

    top_n: int = 3

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents[: self.top_n]


class FirstThree(BaseDocumentCompressor):
    """A reranker whose number cannot be told."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents[:3]


class Compressing(BaseRetriever):
    """As LangChain's contextual compression."""

    base_retriever: RetrieverLike
    base_compressor: BaseDocumentCompressor

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.base_compressor.compress_documents(self.base_retriever.invoke(query), query)


async def test_a_k_beside_the_search_a_reranker_and_named_retrievers_are_widened(
    store: InMemoryVectorStore, guard: Guard, ask: Ask
) -> None:
    inner = store.as_retriever(search_kwargs={"k": 3})
    for base in (
        Weighted(vectorstore=store),
        BySource(retrievers={"wiki": inner}),
        Compressing(base_retriever=inner, base_compressor=Best()),
    ):
        before = base.model_dump(exclude={"vectorstore", "retrievers", "base_retriever"})
        found = await ask(RAGGuardRetriever(base=base, guard=guard, k=3), "invoke", QUERY)
        assert len(found) == 3
        assert not set(texts(found)) & set(POISON)
        assert base.model_dump(exclude={"vectorstore", "retrievers", "base_retriever"}) == before
    assert inner.search_kwargs == {"k": 3}


def test_a_reranker_that_cuts_is_told_of_once_for_all_requests(
    store: InMemoryVectorStore, guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    base = Compressing(
        base_retriever=store.as_retriever(search_kwargs={"k": 3}), base_compressor=FirstThree()
    )
    shared: Any = RAGGuardRetriever(base=base, guard=guard, k=3).configurable_fields(
        tenant=ConfigurableField(id="tenant")
    )
    with caplog.at_level(logging.WARNING, "langchain_ragguard"):
        for whose in ("acme", "bolt", "acme"):
            assert len(shared.invoke(QUERY, {"configurable": {"tenant": whose}})) < 3
    (line,) = caplog.messages
    assert line.startswith("Compressing cannot be asked for more documents")


async def test_a_base_that_takes_k_when_called_at_once_alone_takes_it_in_a_thread(
    guard: Guard, ask: Ask
) -> None:
    class HalfWay(BaseRetriever):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int = 2
        ) -> list[Document]:
            return documents()[:k]

        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return documents()[:2]

    found = await ask(RAGGuardRetriever(base=HalfWay(), guard=guard, k=3), "invoke", QUERY)
    assert len(found) == 3


def test_documents_without_ids_that_differ_are_all_kept() -> None:
    one, other = (Document(page_content="same", metadata={"_id": n}) for n in "ab")
    third = Document(page_content="third")
    assert list(merged([[third], [one, other, third]])) == [third, one, other]
