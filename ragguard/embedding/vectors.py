"""The vectors of a retrieved set: carried by the passages, else embedded in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.errors import EmbeddingError
from ragguard.passage import Passage

__all__ = ["similarity_matrix", "vectors"]

_TINY, _HUGE = 1e-200, 1e200  # squares of lengths in between are exact enough as they are


def vectors(passages: Sequence[Passage], embedder: Embedder) -> NDArray[np.float32]:
    """Return unit rows of shape (n, d) for the passages.

    Vectors that the passages carry are used if every passage carries one; a mixture is embedded
    anew as a whole, since carried vectors need not be of the embedder's space.

    Raises:
        EmbeddingError: Carried vectors differ in shape or are not finite, or the embedder fails.
    """
    if any(passage.embedding is None for passage in passages):
        return embedder.embed([passage.text for passage in passages])
    matrix = _stacked(passages)
    squares = np.einsum("ij,ij->i", matrix, matrix)
    if not (squares.min() > _TINY and squares.max() < _HUGE):  # so, too, where one of them is NaN
        _require_finite(passages, matrix)
        # By the largest entry first: the squares of very large or small entries leave the range.
        largest = np.abs(matrix).max(axis=1, keepdims=True)
        largest[largest == 0.0] = 1.0
        matrix /= largest
        squares = np.einsum("ij,ij->i", matrix, matrix)
        squares[squares == 0.0] = 1.0
    unit: NDArray[np.float32] = (matrix / np.sqrt(squares)[:, None]).astype(np.float32)
    return unit


def _stacked(passages: Sequence[Passage]) -> NDArray[np.float64]:
    rows = [_as_array(passage) for passage in passages]
    shape = rows[0].shape
    for passage, row in zip(passages, rows, strict=True):
        if row.dtype.kind not in "fiu" or row.shape != shape or len(shape) != 1 or row.size == 0:
            raise EmbeddingError(
                f"passage {passage.id!r} carries an embedding of shape {row.shape} and dtype "
                f"{row.dtype}, another one {shape}; give all of them one float vector of "
                "the same length, or none"
            )
    return np.array(rows, dtype=np.float64)


def _require_finite(passages: Sequence[Passage], matrix: NDArray[np.float64]) -> None:
    for passage, row in zip(passages, matrix, strict=True):
        if not np.isfinite(row).all():
            raise EmbeddingError(
                f"passage {passage.id!r} carries an embedding with NaN or infinity; embed the "
                "passage again, or leave its embedding out"
            )


def _as_array(passage: Passage) -> NDArray[Any]:
    try:
        return np.asarray(passage.embedding)
    except Exception as error:  # each framework's arrays fail in their own way
        raise EmbeddingError(
            f"passage {passage.id!r} carries an embedding that is no array ({error}); give it a "
            "float vector of shape (d,), or none"
        ) from error


def similarity_matrix(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the cosine of every pair of unit rows: float64 of shape (n, n), clipped to [-1, 1]."""
    wide = np.asarray(rows, dtype=np.float64)
    similarity: NDArray[np.float64] = np.clip(wide @ wide.T, -1.0, 1.0)
    return similarity
