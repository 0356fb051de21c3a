"""The vectors of texts, each embedded once: carried by its passage, else cached, else computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import (
    Embedder,
    QueryEmbedder,
    answered,
    answered_to_one,
    as_embedder,
    unit_rows,
)
from ragguard.errors import EmbeddingError
from ragguard.lru import LRU
from ragguard.passage import Passage, text_digest
from ragguard.text import MAX_CHARS, both_ends

_TINY, _HUGE = 1e-200, 1e200  # squares of lengths in between are exact enough as they are


class CachedEmbedder:
    """An embedder that keeps the vectors of recent texts. Safe to share between threads.

    Args:
        inner: The embedder that computes what is not cached, one batch a call.
        max_bytes: Size of the cached vectors; the least recently used go first.
    """

    def __init__(self, inner: Embedder, *, max_bytes: int = 64 * 2**20) -> None:
        self._inner = inner
        self.name = inner.name
        self._max_bytes = max_bytes
        self._of_query = inner.embed_query if isinstance(inner, QueryEmbedder) else None
        self._rows: LRU[bytes, NDArray[np.float32]] = LRU(max_bytes)
        self._width: int | None = None

    @classmethod
    def of(cls, embedder: Any) -> CachedEmbedder:
        """Return what `as_embedder` takes with a cache in front, unless it has one already."""
        return embedder if isinstance(embedder, cls) else cls(as_embedder(embedder))

    def __reduce__(self) -> tuple[Any, ...]:
        """Have a copy begin without vectors."""
        return partial(type(self), max_bytes=self._max_bytes), (self._inner,)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), d), rows of length 1 (zero for a blank text).

        Of a text of more than `MAX_CHARS` characters the embedder is given both ends: one that
        refuses long texts must not be made to fail by whoever plants one.

        Raises:
            EmbeddingError: The inner embedder fails, or its answer has the wrong shape, another
                length than before, or is not finite.
        """
        if not texts:
            return np.zeros((0, self._width or 1), dtype=np.float32)
        keys = [text_digest(text) for text in texts]
        found = {key: row for key in keys if (row := self._rows.get(key)) is not None}
        missing = {
            key: both_ends(text, MAX_CHARS)
            for key, text in zip(keys, texts, strict=True)
            if key not in found and text.strip()
        }
        if missing:
            for key, row in zip(missing, self._compute(list(missing.values())), strict=True):
                found[key] = row
                # A copy: a row view would keep its whole batch alive.
                self._rows.put(key, row.copy(), row.nbytes)
        # A blank text never reaches the embedder: some models answer NaN to it.
        if self._width is None:
            self._compute(["word"])  # any word tells how long the vectors of blank texts are
        blank = np.zeros(self._width or 1, dtype=np.float32)
        return np.stack([found.get(key, blank) for key in keys])

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """Return a question's vector, float32 of shape (d,), as `embed` does; raises as that."""
        return self.embed_both(query, ())[0]

    def embed_both(
        self, query: str, texts: Sequence[str]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return a question's vector and those of texts, as `embed` does; raises as that."""
        if self._of_query is None or not query.strip():
            rows = self.embed([query, *texts])
            return rows[0], rows[1:]
        row = answered_to_one(self.name, both_ends(query, MAX_CHARS), self._of_query)
        return self._fitting(row), self.embed(texts)

    def _compute(self, texts: list[str]) -> NDArray[np.float32]:
        return self._fitting(answered(self.name, texts, self._inner.embed))

    def _fitting(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        width = rows.shape[-1]
        if self._width is not None and width != self._width:
            raise EmbeddingError(
                f"embedder {self._inner.name!r} answers vectors of {width} numbers, before it was "
                f"{self._width}; give every model its own embedder"
            )
        self._width = width
        return unit_rows(rows)


def carried(passages: Sequence[Passage]) -> NDArray[np.float64] | None:
    """Return the vectors that the passages carry, shape (n, d), or None.

    Every passage must have one, all of one length and finite. Carried vectors need not be of the
    embedder's space, so what lacks one is embedded anew as a whole; and a vector that cannot be
    read costs no other passage its decision.
    """
    shapes = {
        None if passage.embedding is None else passage.embedding.shape for passage in passages
    }
    shape = shapes.pop() if len(shapes) == 1 else None
    if shape is None or len(shape) != 1 or not shape[0]:
        return None
    matrix = np.array([passage.embedding for passage in passages], dtype=np.float64)
    return matrix if np.isfinite(matrix).all() else None


def vectors(passages: Sequence[Passage], embedder: Embedder) -> NDArray[np.float32]:
    """Return unit rows of shape (n, d) for the passages: those `carried`, or else the embedder's.

    Raises:
        EmbeddingError: The embedder fails.
    """
    matrix = carried(passages)
    if matrix is None:
        return embedder.embed([passage.text for passage in passages])
    squares = np.einsum("ij,ij->i", matrix, matrix)
    if not (squares.min() > _TINY and squares.max() < _HUGE):
        # By the largest entry first: the squares of very large or small entries leave the range.
        largest = np.abs(matrix).max(axis=1, keepdims=True)
        largest[largest == 0.0] = 1.0
        matrix /= largest
        squares = np.einsum("ij,ij->i", matrix, matrix)
        squares[squares == 0.0] = 1.0
    unit: NDArray[np.float32] = (matrix / np.sqrt(squares)[:, None]).astype(np.float32)
    return unit


def similarity_matrix(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the cosine of every pair of unit rows: float64 of shape (n, n), clipped to [-1, 1]."""
    wide = np.asarray(rows, dtype=np.float64)
    similarity: NDArray[np.float64] = np.clip(wide @ wide.T, -1.0, 1.0)
    return similarity
