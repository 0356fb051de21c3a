from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import (
    BaseCallbackHandler,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import (
    FACTS,
    POISON,
    QUERY,
    Ask,
    CallTimeRetriever,
    ListRetriever,
    WordEmbeddings,
    documents,
    quarantine,
    texts,
)
from pydantic import Field, ValidationError
from ragguard import Guard
from ragguard.errors import InvalidInputError, RagguardError

from langchain_ragguard import RAGGuardRetriever


class FieldRetriever(BaseRetriever):
    """Has k as a field."""

    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return documents()[: self.k]


class BrokenEmbeddings(WordEmbeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("the embedding service is down")


def listing(found: list[Document], guard: Guard, **options: Any) -> RAGGuardRetriever:
    return RAGGuardRetriever(base=ListRetriever(found=found), guard=guard, **options)


def test_poison_is_dropped_and_its_places_are_filled(
    store: InMemoryVectorStore, guard: Guard
) -> None:
    plain = store.as_retriever(search_kwargs={"k": 4})
    assert set(POISON) <= set(texts(plain.invoke(QUERY)))

    guarded = RAGGuardRetriever(base=plain, guard=guard, k=4, fetch_k=8).invoke(QUERY)

    ranked = texts(store.similarity_search(QUERY, k=8))
    assert texts(guarded) == [text for text in ranked if text not in POISON][:4]


async def test_ainvoke_filters_too(store: InMemoryVectorStore, guard: Guard) -> None:
    retriever = RAGGuardRetriever(base=store.as_retriever(), guard=guard, k=4)
    found = texts(await retriever.ainvoke(QUERY))
    assert len(found) == 4
    assert not set(POISON) & set(found)
    assert found == texts(retriever.invoke(QUERY))


async def test_ainvoke_awaits_the_base_retriever_and_the_guard(guard: Guard) -> None:
    class AsyncOnly(ListRetriever):
        def _get_relevant_documents(self, *args: Any, **kwargs: Any) -> list[Document]:
            raise AssertionError("the synchronous method blocks the event loop")

        async def _aget_relevant_documents(self, *args: Any, **kwargs: Any) -> list[Document]:
            return self.found

    class AsyncGuard(Guard):
        def filter(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("the synchronous method blocks the event loop")

        async def afilter(self, *args: Any, **kwargs: Any) -> Any:
            return await guard.afilter(*args, **kwargs)

    retriever = RAGGuardRetriever(base=AsyncOnly(found=documents()), guard=AsyncGuard())
    assert texts(await retriever.ainvoke(QUERY)) == FACTS


async def test_batches_filter_too(guard: Guard, ask: Ask) -> None:
    batches = await ask(listing(documents(), guard), "batch", [QUERY, "harbour"])
    assert [texts(found) for found in batches] == [FACTS] * 2


async def test_documents_come_back_as_the_same_unmodified_objects(guard: Guard, ask: Ask) -> None:
    found = documents()
    before = [document.model_copy(deep=True) for document in found]
    kept = await ask(listing(found, guard), "invoke", QUERY)
    assert [id(document) for document in kept] == [id(document) for document in found[2:]]
    assert found == before


async def test_duplicates_and_missing_ids_are_kept_apart(guard: Guard, ask: Ask) -> None:
    same = Document(page_content=FACTS[0], id="same", metadata={"page": 1})
    found = [
        same,
        Document(page_content=FACTS[0], id="same", metadata={"page": 2}),
        same,
        Document(page_content=POISON[0]),
        Document(page_content=FACTS[1]),
        Document(page_content=FACTS[2]),
    ]
    kept = await ask(listing(found, guard), "invoke", QUERY)
    assert [id(document) for document in kept] == [id(found[i]) for i in (0, 1, 2, 4, 5)]


async def test_no_documents_stay_no_documents(guard: Guard, ask: Ask) -> None:
    assert await ask(listing([], guard, k=3), "invoke", QUERY) == []


async def test_monitor_mode_drops_nothing(ask: Ask) -> None:
    guard = Guard(embedder=WordEmbeddings(), store=quarantine(), mode="monitor")
    retriever = listing(documents(), guard)
    assert texts(await ask(retriever, "invoke", QUERY)) == POISON + FACTS
    assert texts(await ask(retriever, "invoke", QUERY, k=3)) == [*POISON, FACTS[0]]


async def test_what_is_unusual_comes_back_as_a_marked_copy(ask: Ask) -> None:
    found = documents()
    found[0].metadata["ragguard_marked"] = False  # as whoever plants a text may write
    before = [document.model_copy(deep=True) for document in found]
    guard = Guard(embedder=WordEmbeddings(), store=quarantine(), mode="monitor")
    kept = await ask(listing(found, guard), "invoke", QUERY)
    assert [document.id for document in kept] == [document.id for document in found]
    assert texts(kept) == texts(found)
    for number, document in enumerate(kept[:2]):
        assert document is not found[number]
        assert document.metadata == {"source": f"{number}.txt", "ragguard_marked": True}
    assert [id(document) for document in kept[2:]] == [id(document) for document in found[2:]]
    assert found == before


async def test_on_error_pass_returns_documents_but_for_what_words_alone_flag(
    monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    monkeypatch.setattr("ragguard.inline.selection.companions", lambda p, s, found: ~found)
    retriever = listing(documents(), Guard(embedder=BrokenEmbeddings(), on_error="pass"), k=3)
    assert texts(await ask(retriever, "invoke", QUERY)) == FACTS[:3]


async def test_on_error_raise_raises(monkeypatch: pytest.MonkeyPatch, ask: Ask) -> None:
    monkeypatch.setattr("ragguard.inline.selection.companions", lambda p, s, found: ~found)
    retriever = listing(documents(), Guard(embedder=BrokenEmbeddings(), on_error="raise"))
    with pytest.raises((RagguardError, ConnectionError)):
        await ask(retriever, "invoke", QUERY)


@pytest.mark.parametrize(
    ("options", "asked"), [({}, 8), ({"k": 9}, 18), ({"fetch_k": 9}, 9), ({"fetch_k": 3}, 3)]
)
def test_how_many_are_fetched(guard: Guard, options: dict[str, int], asked: int) -> None:
    base = CallTimeRetriever()
    RAGGuardRetriever(base=base, guard=guard, **{"k": 3, **options}).invoke(QUERY)
    assert base.asked == [asked]


def test_k_at_call_time_wins(guard: Guard) -> None:
    base = CallTimeRetriever()
    retriever = RAGGuardRetriever(base=base, guard=guard, k=1, fetch_k=5)
    assert texts(retriever.invoke(QUERY, k=3)) == FACTS[:3]
    assert len(retriever.invoke(QUERY, k=7)) == 5
    assert base.asked == [5, 7]


def test_without_k_the_base_retriever_decides(guard: Guard, store: InMemoryVectorStore) -> None:
    base = store.as_retriever(search_kwargs={"k": 5})
    assert len(RAGGuardRetriever(base=base, guard=guard).invoke(QUERY)) == 3


def test_over_fetching_leaves_the_base_retriever_as_it_is(
    guard: Guard, store: InMemoryVectorStore
) -> None:
    base = store.as_retriever(search_kwargs={"k": 2})
    assert len(RAGGuardRetriever(base=base, guard=guard, k=4).invoke(QUERY)) == 4
    assert base.search_kwargs == {"k": 2}

    field = FieldRetriever()
    assert texts(RAGGuardRetriever(base=field, guard=guard, k=4).invoke(QUERY)) == FACTS[:4]
    assert field.k == 4


def test_marginal_relevance_gets_enough_candidates(
    guard: Guard, embeddings: WordEmbeddings
) -> None:
    store = InMemoryVectorStore(embeddings)
    store.add_texts([f"The Marrow lighthouse, chapter {number}" for number in range(40)])
    base = store.as_retriever(search_type="mmr")
    retriever = RAGGuardRetriever(base=base, guard=guard, k=20, fetch_k=40)
    assert len(retriever.invoke(QUERY)) == 20


async def test_any_runnable_that_returns_documents_can_be_the_base(guard: Guard, ask: Ask) -> None:
    base = RunnableLambda(lambda query: documents())
    retriever = RAGGuardRetriever(base=base, guard=guard, k=3)
    assert texts(await ask(retriever, "invoke", QUERY)) == FACTS[:3]


async def test_documents_may_come_from_a_generator(guard: Guard, ask: Ask) -> None:
    class Lazy(ListRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
            return iter(self.found)

    retriever = RAGGuardRetriever(base=Lazy(found=documents()), guard=guard, k=3)
    assert texts(await ask(retriever, "invoke", QUERY)) == FACTS[:3]


async def test_a_base_that_returns_nothing_says_so(guard: Guard, ask: Ask) -> None:
    retriever = RAGGuardRetriever(base=RunnableLambda(lambda query: None), guard=guard)
    with pytest.raises(InvalidInputError, match="a list of Document objects, not NoneType"):
        await ask(retriever, "invoke", QUERY)


@pytest.mark.parametrize("query", [None, 1, {"query": QUERY}, [QUERY]])
async def test_a_question_that_is_no_text_is_refused(guard: Guard, ask: Ask, query: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"asked with a str, not a .* hands on a dict"):
        await ask(listing(documents(), guard), "invoke", query)


@pytest.mark.parametrize("options", [{"k": 0}, {"k": 4, "fetch_k": 3}, {"guard": "a guard"}])
def test_bad_construction_is_refused(guard: Guard, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        listing([], **{"guard": guard, **options})


def test_what_is_no_retriever_and_no_guard_is_told_what_to_use(
    store: InMemoryVectorStore, guard: Guard
) -> None:
    with pytest.raises(ValidationError, match=r"for a vector store use .*\.from_vectorstore\("):
        RAGGuardRetriever(base=store, guard=guard)
    for options in ({}, {"guard": RAGGuardRetriever(base=store.as_retriever(), guard=guard)}):
        with pytest.raises(ValidationError, match=r"must be a Guard; pass guard=Guard\(\)"):
            RAGGuardRetriever(base=store.as_retriever(), **options)


def test_a_subclass_may_bring_its_guard_and_retriever(store: InMemoryVectorStore) -> None:
    class Mine(RAGGuardRetriever):
        guard: Guard = Field(default_factory=Guard, exclude=True)
        base: BaseRetriever = Field(default_factory=store.as_retriever)

    assert isinstance(Mine().guard, Guard)
    assert isinstance(Mine().base, BaseRetriever)
    with pytest.raises(ValidationError, match=r"must be a Guard; pass guard=Guard\(\)"):
        Mine(guard=None)
    with pytest.raises(ValidationError, match=r"for a vector store use"):
        Mine(base=store)


@pytest.mark.parametrize("k", [0, -1, "2", 1.5, True])
async def test_a_call_for_no_number_of_documents_is_refused(guard: Guard, ask: Ask, k: Any) -> None:
    with pytest.raises(InvalidInputError, match="k must be a whole number of at least 1"):
        await ask(listing(documents(), guard), "invoke", QUERY, k=k)


async def test_the_base_retriever_runs_as_a_child(guard: Guard, ask: Ask) -> None:
    class Recorder(BaseCallbackHandler):
        def __init__(self) -> None:
            self.parents: dict[Any, Any] = {}
            self.ended: list[int] = []

        def on_retriever_start(
            self, *args: Any, run_id: Any, parent_run_id: Any = None, **kwargs: Any
        ) -> None:
            self.parents[run_id] = parent_run_id

        def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
            self.ended.append(len(documents))

    recorder = Recorder()
    await ask(listing(documents(), guard), "invoke", QUERY, {"callbacks": [recorder]})
    outer, inner = recorder.parents
    assert recorder.parents == {outer: None, inner: outer}
    assert recorder.ended == [10, 8]


async def test_in_a_chain_the_model_never_reads_poison(
    store: InMemoryVectorStore, guard: Guard
) -> None:
    prompts: list[str] = []

    def remember(prompt: Any) -> Any:
        prompts.append(prompt.to_string())
        return prompt

    chain = (
        {
            "context": RAGGuardRetriever(base=store.as_retriever(), guard=guard, k=3)
            | (lambda found: "\n".join(texts(found))),
            "question": RunnablePassthrough(),
        }
        | ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
        | RunnableLambda(remember)
        | FakeListChatModel(responses=["In 1874."])
        | StrOutputParser()
    )
    assert chain.invoke(QUERY) == "In 1874."
    assert await chain.ainvoke(QUERY) == "In 1874."
    assert "".join([chunk async for chunk in chain.astream(QUERY)]) == "In 1874."
    assert len(prompts) == 3
    for prompt in prompts:
        assert FACTS[0] in prompt
        assert "1790" not in prompt
