"""A framework's document as a passage."""

from __future__ import annotations

from typing import Any

from ragguard.errors import InvalidInputError
from ragguard.passage import Passage

__all__ = ["as_passage"]


def as_passage(document: Any, score: float | None = None) -> Passage:
    """Return a str, a LangChain `Document`, a LlamaIndex node or a `Passage` as a passage.

    Raises:
        InvalidInputError: It is none of these.
    """
    if isinstance(document, Passage):
        return document
    if isinstance(document, str):
        return Passage(document, score=score)
    node = getattr(document, "node", document)  # LlamaIndex: NodeWithScore
    score = getattr(document, "score", None) if score is None else score
    metadata = getattr(node, "metadata", None)
    content = getattr(node, "page_content", None)
    if isinstance(content, str):
        return Passage(content, id=_document_id(node, metadata), score=score, metadata=metadata)
    if callable(getattr(node, "get_content", None)):
        return Passage(node.get_content(), id=node.node_id, score=score, metadata=metadata)
    raise InvalidInputError(
        f"a retriever returned a {type(document).__name__}; it must return documents, nodes, "
        "str or Passage"
    )


def _document_id(document: Any, metadata: Any) -> str | None:
    name = getattr(document, "id", None)
    if name is None and isinstance(metadata, dict):
        name = metadata.get("_id")  # where langchain-qdrant puts the point's id
    return None if name is None else str(name)
