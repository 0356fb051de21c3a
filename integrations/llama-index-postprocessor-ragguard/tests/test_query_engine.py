from __future__ import annotations

from typing import Any

import pytest
from lighthouse import FACTS, POISON, QUERY, Reader, WordEmbedding, nodes, quarantine, texts
from llama_index.core import Settings, SummaryIndex, VectorStoreIndex
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from ragguard import Guard
from ragguard.attribution.result import Attribution
from ragguard.audit.memory import MemoryStore
from ragguard.errors import InvalidInputError

from llama_index.postprocessor.ragguard import RAGGuardPostprocessor


@pytest.fixture
def embedding() -> WordEmbedding:
    return WordEmbedding()


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def index(embedding: WordEmbedding) -> VectorStoreIndex:
    return VectorStoreIndex([node.node for node in nodes()], embed_model=embedding)


def engine(index: VectorStoreIndex, reader: Reader, *postprocessors: Any, **options: Any) -> Any:
    return index.as_query_engine(
        llm=reader, similarity_top_k=8, node_postprocessors=list(postprocessors), **options
    )


def test_without_the_guard_the_answer_is_the_attackers(
    index: VectorStoreIndex, reader: Reader
) -> None:
    assert str(engine(index, reader).query(QUERY)) == "In 1790."


async def test_the_model_never_reads_poison(
    index: VectorStoreIndex, reader: Reader, embedding: WordEmbedding
) -> None:
    guard = RAGGuardPostprocessor.from_index(
        index, embed_model=embedding, top_n=3, store=quarantine()
    )
    guarded = engine(index, reader, guard)

    answer = guarded.query(QUERY)
    later = await guarded.aquery(QUERY)

    assert str(answer) == str(later) == "In 1874."
    assert texts(answer.source_nodes) == texts(later.source_nodes)
    assert [node.score for node in answer.source_nodes] == [
        node.score for node in later.source_nodes
    ]
    assert len(answer.source_nodes) == 3
    assert all("1790" not in prompt for prompt in reader.prompts)


async def test_the_query_is_awaited_not_run_in_a_thread(
    index: VectorStoreIndex, reader: Reader
) -> None:
    class AsyncGuard(Guard):
        def filter(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("the synchronous method blocks the event loop")

        async def afilter(self, query: str, passages: Any, **options: Any) -> Any:
            return await inner.afilter(query, passages, **options)

    inner = Guard(embedder=WordEmbedding(), store=quarantine())
    guarded = engine(index, reader, RAGGuardPostprocessor(guard=AsyncGuard()))
    assert str(await guarded.aquery(QUERY)) == "In 1874."


def test_search_and_guard_embed_the_query_once(
    index: VectorStoreIndex, reader: Reader, embedding: WordEmbedding
) -> None:
    guard = RAGGuardPostprocessor.from_index(index, embed_model=embedding, top_n=3)
    engine(index, reader, guard).query(QUERY)
    assert embedding.queries == [QUERY]


async def test_a_chat_engine_is_guarded_too(
    index: VectorStoreIndex, reader: Reader, embedding: WordEmbedding
) -> None:
    guard = RAGGuardPostprocessor.from_index(
        index, embed_model=embedding, top_n=3, store=quarantine()
    )
    chat = ContextChatEngine.from_defaults(
        retriever=index.as_retriever(similarity_top_k=8),
        llm=reader,
        memory=ChatMemoryBuffer.from_defaults(token_limit=4000, tokenizer_fn=str.split),
        node_postprocessors=[guard],
    )
    answer = chat.chat(QUERY)
    assert not set(POISON) & set(texts(answer.source_nodes))
    later = await chat.achat(QUERY)
    assert not set(POISON) & set(texts(later.source_nodes))
    assert all("1790" not in prompt for prompt in reader.prompts)


def test_attribution_searches_the_whole_index(
    index: VectorStoreIndex, embedding: WordEmbedding
) -> None:
    asked: list[list[str]] = []

    class Recorder:
        def attribute(self, query: str, response: str, retrieve: Any) -> Attribution:
            asked.append([passage.text for passage in retrieve(query, 10)])
            return Attribution(query, response, "recorder", [], [], 0, "unclear", "only looked")

        async def aattribute(self, query: str, response: str, retrieve: Any) -> Attribution:
            raise NotImplementedError

    made = RAGGuardPostprocessor.from_index(index, embed_model=embedding, attributor=Recorder())
    with made.guard as guard:
        guard.attribution(guard.report(QUERY, "In 1790."), timeout=60)
    assert sorted(asked[0]) == sorted(POISON + FACTS)


async def test_the_model_that_the_index_was_built_with_is_the_default(
    index: VectorStoreIndex, embedding: WordEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragguard.inline.selection.companions", lambda p, s, found: ~found)
    others = WordEmbedding()
    monkeypatch.setattr(Settings, "_embed_model", others)
    for ask in ("sync", "async"):
        embedding.texts.clear()
        made = RAGGuardPostprocessor.from_index(index, on_error="raise")
        if ask == "sync":
            made.postprocess_nodes(nodes(), query_str=QUERY)
        else:
            await made.apostprocess_nodes(nodes(), query_str=QUERY)
        assert set(embedding.texts) == {*FACTS, *POISON}
    assert others.texts == others.queries == []
    named = RAGGuardPostprocessor.from_index(index, embed_model=others, on_error="raise")
    named.postprocess_nodes(nodes(), query_str=QUERY)
    assert set(others.texts) == {*FACTS, *POISON}


async def test_the_settings_are_not_asked_for_the_model_of_an_index_that_has_one(
    index: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(settings: Any) -> None:
        raise ImportError("`llama-index-embeddings-openai` package not found")

    monkeypatch.setattr(type(Settings), "embed_model", property(missing))
    made = RAGGuardPostprocessor.from_index(index, top_n=3, store=quarantine())
    assert texts(made.postprocess_nodes(nodes(), query_str=QUERY)) == FACTS[:3]
    assert texts(await made.apostprocess_nodes(nodes(), query_str=QUERY)) == FACTS[:3]


def test_the_embedding_model_of_the_settings_serves_an_index_without_one(
    embedding: WordEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragguard.inline.selection.companions", lambda p, s, found: ~found)
    monkeypatch.setattr(Settings, "_embed_model", embedding)
    made = RAGGuardPostprocessor.from_index(SummaryIndex([]), on_error="raise")
    made.postprocess_nodes(nodes(), query_str=QUERY)
    assert set(embedding.texts) == {*FACTS, *POISON}


def test_a_retriever_of_llama_index_filters_nothing(index: VectorStoreIndex) -> None:
    # The README says so; when it is no longer true, this says that the README may change.
    guard = RAGGuardPostprocessor.from_index(index, store=quarantine())
    retriever = index.as_retriever(similarity_top_k=10, node_postprocessors=[guard])
    found = retriever.retrieve(QUERY)
    assert set(texts(found)) == {*FACTS, *POISON}
    assert set(texts(guard.postprocess_nodes(found, query_str=QUERY))) == set(FACTS)


def test_the_embedding_model_goes_by_the_name_of_llama_index(
    index: VectorStoreIndex, embedding: WordEmbedding
) -> None:
    with pytest.raises(InvalidInputError, match="pass the index's embedding model as embed_model="):
        RAGGuardPostprocessor.from_index(index, embedder=embedding)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_wrong_response_is_reported_with_its_sources(
    index: VectorStoreIndex, reader: Reader, streaming: bool
) -> None:
    audit = MemoryStore()
    guard = RAGGuardPostprocessor(
        guard=Guard(embedder=WordEmbedding(), store=audit, mode="monitor"), top_n=3
    )
    answer = engine(index, reader, guard, streaming=streaming).query(QUERY)
    assert str(answer) == "In 1790."

    event_id = guard.report(QUERY, answer, reporter="user-7")
    guard.guard.close()
    event = audit.event(event_id)

    assert (event.query, event.response, event.reporter) == (QUERY, "In 1790.", "user-7")
    assert [passage.text for passage in event.passages] == texts(answer.source_nodes)
    assert [passage.id for passage in event.passages] == [
        node.node.node_id for node in answer.source_nodes
    ]
    assert [passage.score for passage in event.passages] == [
        node.score for node in answer.source_nodes
    ]
    assert [dict(passage.metadata) for passage in event.passages] == [
        node.node.metadata for node in answer.source_nodes
    ]
