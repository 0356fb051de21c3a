"""Nodes as passages, and nodes with a mark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llama_index.core.schema import BaseNode, ImageDocument, ImageNode, MetadataMode, NodeWithScore

from ragguard import Passage
from ragguard.errors import InvalidInputError

__all__ = ["MARKED", "as_passages", "marked_copy", "text_of"]

MARKED = "ragguard_marked"
"""Metadata key of a node that is kept and unusual; its value is True."""


def text_of(node: NodeWithScore) -> str:
    """Return what is judged of a node: its content without metadata.

    Raises:
        InvalidInputError: It is no node with a score.
    """
    if not isinstance(node, NodeWithScore):
        raise InvalidInputError(
            f"nodes must be NodeWithScore objects, not {type(node).__name__}; "
            "pass NodeWithScore(node=TextNode(text=...))"
        )
    return node.node.get_content(MetadataMode.NONE)


def as_passages(nodes: Sequence[NodeWithScore]) -> list[Passage]:
    """Return one passage a node, in order, with the vectors that can be compared."""
    texts = [text_of(node) for node in nodes]  # or raise where one is no node
    vectors = [_vector(node.node) for node in nodes]
    # Indexes fused into one retriever may embed with different models.
    comparable = len({0 if vector is None else len(vector) for vector in vectors}) == 1
    return [
        Passage(
            text,
            id=node.node.node_id,
            score=node.score,
            embedding=np.asarray(vector, np.float32) if vector and comparable else None,
            metadata=node.node.metadata,
        )
        for text, node, vector in zip(texts, nodes, vectors, strict=True)
    ]


def marked_copy(node: NodeWithScore) -> NodeWithScore:
    """Return a copy with `MARKED` in its metadata, which neither the model nor a reranker reads."""
    inner = node.node
    copy = inner.model_copy(
        update={
            "metadata": {**inner.metadata, MARKED: True},
            "excluded_llm_metadata_keys": [*inner.excluded_llm_metadata_keys, MARKED],
            "excluded_embed_metadata_keys": [*inner.excluded_embed_metadata_keys, MARKED],
        }
    )
    return node.model_copy(update={"node": copy})


def _vector(node: BaseNode) -> list[float] | None:
    # An image's own embedding lies in another space than its caption's.
    if isinstance(node, (ImageNode, ImageDocument)):
        return node.text_embedding
    return node.embedding
