"""Vectors in the space of a knowledge base: as its embedder makes them, at their own length.

The rest of ragguard compares directions and scales every vector to length 1. A knowledge base
ranks by distances, for which the length counts, and its embedder may treat queries unlike texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import as_embedder
from ragguard.embedding.adapt import functions_of
from ragguard.embedding.protocol import embed_query
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.passage import Passage
from ragguard.text import encodable

__all__ = ["Vectors", "vectors_of", "vectors_or_none"]


class Vectors:
    """What filled a knowledge base with vectors.

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
