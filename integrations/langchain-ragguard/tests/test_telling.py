from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from lighthouse import FACTS, QUERY, Ask, ListRetriever, documents
from ragguard import Guard

from langchain_ragguard import RAGGuardCompressor, RAGGuardRetriever
from langchain_ragguard.telling import EVENT


class Listening(BaseCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[tuple[str, Any, Any]] = []

    def on_custom_event(self, name: str, data: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.heard.append((name, data, run_id))


class Awaiting(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.heard.append(data)


class Broken(BaseCallbackHandler):
    raise_error = True

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        raise RuntimeError("mine")


@pytest.fixture
def retriever(guard: Guard) -> RAGGuardRetriever:
    return RAGGuardRetriever(base=ListRetriever(found=documents()), guard=guard)


async def test_a_retriever_tells_its_run(retriever: RAGGuardRetriever, ask: Ask) -> None:
    listening, runs = Listening(), RunCollectorCallbackHandler()
    config: Any = {"callbacks": [listening, runs], "metadata": {"mine": 1}}
    await ask(retriever, "invoke", QUERY, config)
    (traced,) = runs.traced_runs
    ((name, data, run_id),) = listening.heard
    assert (name, run_id) == (EVENT, traced.id)
    assert data["ragguard.dropped"] == data["ragguard.quarantined"] == 2
    assert data["ragguard.dropped_ids"] == ["doc-0", "doc-1"]
    assert data["ragguard.signals"] == ["quarantine"]
    assert "lighthouse" not in repr(data)
    assert traced.extra["metadata"]["ragguard.dropped"] == 2
    assert traced.extra["metadata"]["mine"] == 1
    assert "ragguard.dropped_ids" not in traced.extra["metadata"]


async def test_a_handler_can_tell_whose_run_it_is(retriever: RAGGuardRetriever, ask: Ask) -> None:
    class Named(BaseCallbackHandler):
        def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
            self.tags, self.metadata = kwargs["tags"], kwargs["metadata"]

    named = Named()
    config: Any = {"callbacks": [named], "tags": ["prod"], "metadata": {"user_id": "u7"}}
    await ask(retriever, "invoke", QUERY, config)
    assert "prod" in named.tags
    assert named.metadata["user_id"] == "u7"


async def test_asynchronous_handlers_are_awaited(retriever: RAGGuardRetriever) -> None:
    awaiting = Awaiting()
    await retriever.ainvoke(QUERY, {"callbacks": [awaiting]})
    assert [data["ragguard.kept"] for data in awaiting.heard] == [len(FACTS)]


async def test_within_a_chain_it_is_the_retrievers_run(
    retriever: RAGGuardRetriever, ask: Ask
) -> None:
    listening, runs = Listening(), RunCollectorCallbackHandler()
    chain = RunnableLambda(lambda question: question) | retriever
    await ask(chain, "invoke", QUERY, {"callbacks": [listening, runs]})
    (traced,) = runs.traced_runs
    (_, _, run_id) = listening.heard[0]
    assert run_id in [run.id for run in traced.child_runs]


async def test_a_compressor_tells_the_run_that_it_is_in(guard: Guard, ask: Ask) -> None:
    compressor = RAGGuardCompressor(guard=guard)
    listening = Listening()
    for callbacks in (None, [listening]):
        found = await ask(compressor, "compress_documents", documents(), QUERY, callbacks)
        assert len(found) == len(FACTS)
    assert listening.heard == []
    langchain = pytest.importorskip("langchain_classic.retrievers")
    chain = langchain.ContextualCompressionRetriever(
        base_compressor=compressor, base_retriever=ListRetriever(found=documents())
    )
    await ask(chain, "invoke", QUERY, {"callbacks": [listening]})
    assert [data["ragguard.dropped"] for _, data, _ in listening.heard] == [2]


async def test_a_handler_that_fails_costs_nothing(
    retriever: RAGGuardRetriever, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(await ask(retriever, "invoke", QUERY, {"callbacks": [Broken()]})) == len(FACTS)
    assert "a handler of ragguard.verdict failed" in caplog.text
