"""Vectors in the space of a knowledge base: as its embedder makes them, at their own length.

The rest of ragguard compares directions and scales every vector to length 1. A knowledge base
ranks by distances, for which the length counts, and its embedder may treat queries unlike texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import Embedder, as_embedder
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.passage import Passage
from ragguard.text import encodable

__all__ = ["Vectors", "vectors_of", "vectors_or_none"]

# As LangChain, LlamaIndex and sentence-transformers name them.
_OF_TEXTS = ("embed_documents", "get_text_embedding_batch", "encode_document", "encode")
_OF_A_QUERY = ("embed_query", "get_query_embedding")
_OF_QUERIES = ("encode_query",)


class Vectors:
    """What filled a knowledge base with vectors.

    Args:
        embedder: Anything that `as_embedder` takes; None for the built-in one.

    Raises:
        InvalidInputError: `embedder` is none of these.
    """

    def __init__(self, embedder: Any) -> None:
        self.name = as_embedder(embedder).name
        self._embedder = as_embedder(None) if embedder is None else embedder

    def of_query(self, query: str) -> NDArray[np.float32]:
        """Return the query's vector, shape (d,).

        Raises:
            EmbeddingError: What the embedder returns is no vector.
        """
        if not isinstance(self._embedder, Embedder):
            for method in _OF_A_QUERY:
                if callable(getattr(self._embedder, method, None)):
                    answer = getattr(self._embedder, method)(encodable(query))
                    return self._row([answer])
            for method in _OF_QUERIES:
                if callable(getattr(self._embedder, method, None)):
                    return self._row(getattr(self._embedder, method)([encodable(query)]))
        return self._row(self.of_texts([query]))

    def of_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the texts' vectors, shape (n, d).

        Raises:
            EmbeddingError: What the embedder returns is no such array.
        """
        if isinstance(self._embedder, Embedder):
            return self._checked(self._embedder.embed(texts), len(texts))
        found = (getattr(self._embedder, name, None) for name in _OF_TEXTS)
        function = next((one for one in found if callable(one)), self._embedder)
        return self._checked(function([encodable(text) for text in texts]), len(texts))

    def of_passages(self, passages: Sequence[Passage]) -> list[NDArray[np.floating[Any]]]:
        """Return the passages' own vectors, and of those that carry none the embedder's."""
        bare = [passage.text for passage in passages if passage.embedding is None]
        made = iter(self.of_texts(bare) if bare else ())
        return [next(made) if p.embedding is None else p.embedding for p in passages]

    def _row(self, answer: Any) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self._checked(answer, 1)[0]
        return row

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


def vectors_or_none(embedder: Any) -> Vectors | None:
    """Return the embedder's `Vectors`, or None where there is none."""
    return None if embedder is None else Vectors(embedder)


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
