"""Embedding similarity of query and passages, the score that every attribution method reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import CachedEmbedder
from ragguard.embedding.adapt import unit_rows
from ragguard.passage import Passage

__all__ = ["embedding_similarity"]


def embedding_similarity(
    embedder: CachedEmbedder, query: str, passages: Sequence[Passage]
) -> NDArray[np.float64]:
    """Return the cosine of the query with every passage (RAGOrigin, Eq. 5).

    A passage's own embedding counts if it has the length of the query's and is finite; it is then
    taken to come from the same model. The other texts are embedded in one batch, and the query by
    the embedder's own way of reading questions, if it has one.

    Returns:
        float64 array of shape (len(passages),), in [-1, 1].

    Raises:
        EmbeddingError: The embedder's answer has the wrong shape or is not finite.
    """
    if not passages:
        return np.zeros(0)
    missing = [passage.text for passage in passages if passage.embedding is None]
    target, embedded = embedder.embed_both(query, missing)
    fresh = iter(embedded)
    vectors = [next(fresh) if p.embedding is None else p.embedding for p in passages]
    unusable = [
        index
        for index, vector in enumerate(vectors)
        if vector.shape != target.shape or not np.isfinite(vector).all()
    ]
    if unusable:
        again = embedder.embed([passages[index].text for index in unusable])
        for index, row in zip(unusable, again, strict=True):
            vectors[index] = row
    cosines = unit_rows(np.stack(vectors)).astype(np.float64) @ target.astype(np.float64)
    return np.asarray(np.clip(cosines, -1.0, 1.0))
