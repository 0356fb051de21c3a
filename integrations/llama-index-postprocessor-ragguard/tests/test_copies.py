"""A postprocessor that is pickled or copied, as LlamaIndex's pipelines do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from lighthouse import FACTS, POISON, QUERY, WordEmbedding, nodes, quarantine
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeWithScore
from ragguard import Guard
from ragguard.audit import open_store
from ragguard.errors import InvalidInputError

from llama_index.postprocessor.ragguard import RAGGuardPostprocessor

COPIES: dict[str, Callable[..., RAGGuardPostprocessor]] = {
    "pickle": lambda postprocessor: pickle.loads(pickle.dumps(postprocessor)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
every_way = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)


def kept(postprocessor: RAGGuardPostprocessor) -> list[str]:
    found: list[NodeWithScore] = postprocessor.postprocess_nodes(nodes(), query_str=QUERY)
    return [node.node.get_content() for node in found]


@every_way
def test_a_copy_filters_alike_and_the_live_postprocessor_goes_on(
    copied: Callable[..., RAGGuardPostprocessor], caplog: pytest.LogCaptureFixture
) -> None:
    postprocessor = RAGGuardPostprocessor(
        guard=Guard(embedder=WordEmbedding(), store=quarantine()), top_n=5
    )
    assert kept(copied(postprocessor)) == FACTS[:5]
    assert kept(postprocessor) == FACTS[:5]
    assert "unpickleable attribute guard" not in caplog.text


@every_way
def test_reports_to_a_copy_search_the_whole_index(
    copied: Callable[..., RAGGuardPostprocessor],
) -> None:
    model = WordEmbedding()
    index = VectorStoreIndex([node.node for node in nodes()], embed_model=model)
    live = RAGGuardPostprocessor.from_index(index, embed_model=model)
    guard = copied(live).guard
    event = guard.report(QUERY, "1790", passages=FACTS[:1])
    assert guard.attribution(event, timeout=30).scope_size == len(POISON + FACTS)
    assert live.guard is not None


def test_what_cannot_be_pickled_says_so_and_the_live_postprocessor_goes_on(
    tmp_path: Path,
) -> None:
    audit = open_store(tmp_path / "audit.db")
    postprocessor = RAGGuardPostprocessor(guard=Guard(store=audit))
    with pytest.raises(InvalidInputError, match=r"Guard\(store=URL\)"):
        pickle.dumps(postprocessor)
    assert len(kept(postprocessor)) >= len(FACTS)
    postprocessor.guard.close()
    audit.close()
