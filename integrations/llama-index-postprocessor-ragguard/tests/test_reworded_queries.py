"""Where a model words the searches, what is found is judged by what the user asked."""

from __future__ import annotations

import pytest
from lighthouse import POISON, QUERY, Reader, WordEmbedding, nodes, texts
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from ragguard import Guard

from llama_index.postprocessor.ragguard import RAGGuardPostprocessor

REWORDED = "construction date of the beacon tower at Marrow"


@pytest.fixture
def index() -> VectorStoreIndex:
    return VectorStoreIndex([node.node for node in nodes()], embed_model=WordEmbedding())


def fused(index: VectorStoreIndex, guard: RAGGuardPostprocessor) -> BaseQueryEngine:
    retrievers = [index.as_retriever(similarity_top_k=8)]
    retriever = QueryFusionRetriever(
        retrievers, llm=Reader(), num_queries=3, similarity_top_k=8, use_async=False
    )
    return RetrieverQueryEngine.from_args(retriever, llm=Reader(), node_postprocessors=[guard])


def hypothetical(index: VectorStoreIndex, guard: RAGGuardPostprocessor) -> BaseQueryEngine:
    engine = index.as_query_engine(llm=Reader(), similarity_top_k=8, node_postprocessors=[guard])
    return TransformQueryEngine(engine, HyDEQueryTransform(llm=Reader()))


@pytest.mark.parametrize("made", [fused, hypothetical])
def test_an_engine_hands_on_the_users_question(made, index: VectorStoreIndex) -> None:
    response = made(index, RAGGuardPostprocessor(guard=Guard(), top_n=3)).query(QUERY)

    assert len(response.source_nodes) == 3
    assert set(POISON).isdisjoint(texts(response.source_nodes))


def test_what_an_agent_found_is_judged_by_the_users_words(index: VectorStoreIndex) -> None:
    guard = RAGGuardPostprocessor(guard=Guard())
    found = guard.postprocess_nodes(
        index.as_retriever(similarity_top_k=10).retrieve(REWORDED), query_str=REWORDED
    )
    assert set(POISON) & set(texts(found))  # so it stands in the README's limits

    kept = guard.postprocess_nodes(found, query_str=QUERY)

    assert texts(kept) == [text for text in texts(found) if text not in POISON]


def test_what_takes_a_nodes_place_is_judged_where_it_stands_before_the_guard() -> None:
    answer = POISON[0].split("? ")[1]
    windows = [TextNode(text=answer, metadata={"window": POISON[0]})]
    windows += [TextNode(text=one.node.get_content(), metadata={"window": ""}) for one in nodes()]
    found = VectorStoreIndex(windows, embed_model=WordEmbedding())
    replacing = MetadataReplacementPostProcessor(target_metadata_key="window")
    guard = RAGGuardPostprocessor(guard=Guard())

    def read(*postprocessors) -> list[str]:
        engine = found.as_query_engine(
            llm=Reader(), similarity_top_k=10, node_postprocessors=list(postprocessors)
        )
        return texts(engine.query(QUERY).source_nodes)

    assert POISON[0] not in read(replacing, guard)
    assert POISON[0] in read(guard, replacing)  # so it stands in the README's limits
