"""What the adapters share: sources that are awaited, documents as passages, vectors as stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.background_loop import BackgroundLoop
from ragguard.embedding.adapt import as_embedder, embed_query, functions_of
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.passage import Passage
from ragguard.text import encodable

__all__ = ["Vectors", "as_passage", "ask", "resolved", "vectors_of"]

_LOOP = BackgroundLoop("ragguard-knowledge-loop")


def resolved(value: Any) -> Any:
    """Return `value`, or what it comes to if it can be awaited.

    All of a process's sources are awaited on one loop of its own: an asynchronous client keeps
    connections that belong to the loop they were opened on. A client that another loop uses as well
    will not do; give attribution one of its own.
    """
    return _LOOP.resolved(value)


def ask(source: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a method of a framework's object, or its asynchronous twin where it has that alone.

    Raises:
        NotImplementedError: It has neither.
    """
    for name in (method, f"a{method}"):
        function = getattr(source, name, None)
        if callable(function):
            try:
                return resolved(function(*args, **options))
            except NotImplementedError:
                continue
    raise NotImplementedError(f"{type(source).__name__} has no {method} and no a{method}")


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


class Vectors:
    """What filled a knowledge base with vectors, each at its own length.

    The rest of ragguard compares directions and scales every vector to length 1. A knowledge base
    ranks by distances, for which the length counts, and its embedder may treat queries unlike
    texts.

    Args:
        embedder: Anything that `as_embedder` takes; None for the built-in one.

    Raises:
        InvalidInputError: `embedder` is none of these.
    """

    def __init__(self, embedder: Any) -> None:
        known = as_embedder(embedder)
        self.name = known.name
        self._of_texts: Callable[[list[str]], Any] = known.embed
        self._of_query: Callable[[str], Any] | None = partial(embed_query, known)
        if known is not embedder and embedder is not None:
            # By its own functions, since `known` scales every vector to length 1.
            self._of_texts, self._of_query = functions_of(embedder)

    def of_query(self, query: str) -> NDArray[np.float32]:
        """Return the query's vector, shape (d,).

        Raises:
            EmbeddingError: What the embedder returns is no vector.
        """
        if self._of_query is None:
            found = self.of_texts([query])
        else:
            found = self._checked([self._of_query(encodable(query))], 1)
        row: NDArray[np.float32] = found[0]
        return row

    def of_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the texts' vectors, shape (n, d).

        Raises:
            EmbeddingError: What the embedder returns is no such array.
        """
        return self._checked(self._of_texts([encodable(text) for text in texts]), len(texts))

    def of_passages(self, passages: Sequence[Passage]) -> list[NDArray[np.floating[Any]]]:
        """Return the passages' own vectors, and of those that carry none the embedder's."""
        bare = [passage.text for passage in passages if passage.embedding is None]
        made = iter(self.of_texts(bare) if bare else ())
        return [next(made) if p.embedding is None else p.embedding for p in passages]

    def _checked(self, answer: Any, count: int) -> NDArray[np.float32]:
        try:
            rows = np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise EmbeddingError(
                f"embedder {self.name!r} must return rows of numbers; what it returned is no such "
                f"array ({error})"
            ) from error
        if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
            raise EmbeddingError(
                f"embedder {self.name!r} must return {count} rows of finite numbers, not an array "
                f"of shape {rows.shape}"
            )
        return rows


def vectors_of(passages: Sequence[Passage], vectors: Vectors | None, base: str) -> list[Any]:
    """Return a vector for each passage: its own, else the embedder's.

    Raises:
        InvalidInputError: A passage has none and there is no embedder.
        EmbeddingError: What the embedder returns is no such array.
    """
    if vectors is not None:
        return list(vectors.of_passages(passages))
    rows = [passage.embedding for passage in passages]
    for passage, row in zip(passages, rows, strict=True):
        if row is None:
            raise InvalidInputError(
                f"passage {passage.id!r} has no embedding; pass embedder= with the {base}"
            )
    return rows
