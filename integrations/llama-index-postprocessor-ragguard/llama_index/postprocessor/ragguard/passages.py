"""Nodes as passages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llama_index.core.schema import (
    BaseNode,
    ImageDocument,
    ImageNode,
    MetadataMode,
    NodeWithScore,
)

from ragguard import Passage

__all__ = ["as_passages", "text_of", "with_text"]


def text_of(node: NodeWithScore) -> str:
    """Return what is judged of a node: its content without metadata."""
    return node.node.get_content(MetadataMode.NONE)


def with_text(nodes: Sequence[NodeWithScore]) -> list[NodeWithScore]:
    """Return the nodes that can be judged."""
    return [node for node in nodes if text_of(node).strip()]


def as_passages(nodes: Sequence[NodeWithScore]) -> list[Passage]:
    """Return one passage a node, in order, with the vectors that can be compared."""
    vectors = [_vector(node.node) for node in nodes]
    # Indexes fused into one retriever may embed with different models.
    comparable = len({0 if vector is None else len(vector) for vector in vectors}) == 1
    return [
        Passage(
            text_of(node),
            id=node.node.node_id,
            score=node.score,
            embedding=np.asarray(vector, np.float32) if vector and comparable else None,
            metadata=node.node.metadata,
        )
        for node, vector in zip(nodes, vectors, strict=True)
    ]


def _vector(node: BaseNode) -> list[float] | None:
    # An image's own embedding lies in another space than its caption's.
    if isinstance(node, (ImageNode, ImageDocument)):
        return node.text_embedding
    return node.embedding
