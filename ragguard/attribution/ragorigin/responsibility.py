"""How responsible each passage in scope is for the response (RAGOrigin, Section 5.3, Eq. 5 and 8).

    ES_i = cos(query, passage i)
    RS_i = sum_s w_s z_s(i) / sum_s w_s,    s in {ES, SC, GC},    z_s = (s - mean s) / std s

The paper takes w_s = 1. Poison that was not made to be retrieved has ordinary ES and SC, and the
mean then buries a clear GC. Here w_s is the `separation` of s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.ragorigin.threshold import NO_CLUSTERS, two_means
from ragguard.embedding import CachedEmbedder
from ragguard.embedding.adapt import unit_rows
from ragguard.passage import Passage


def embedding_similarity(
    embedder: CachedEmbedder, query: str, passages: Sequence[Passage]
) -> NDArray[np.float64]:
    """Return the cosine of the query with every passage, float64 (len(passages),), in [-1, 1].

    RAGOrigin, Eq. 5. A passage's own embedding counts if it has the length of the query's and is
    finite; it is then taken to come from the same model. The other texts are embedded in one batch,
    and the query by the embedder's own way of reading questions, if it has one.

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


def z_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (values - mean) / standard deviation, shape (n,); zeros if all values are equal."""
    if not values.size:
        return np.zeros(0)
    deviations = values - values.mean()
    spread = float(np.sqrt(np.mean(deviations**2)))
    # Equal values may differ from their mean by rounding.
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return np.zeros_like(deviations)
    return np.asarray(deviations / spread)


def separation(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return how clearly the values of each score fall into two groups, in [0, 1].

    The share of their variance that the best split explains, above the 2 / pi that it explains of
    a normal distribution (Engelman & Hartigan, 1969).
    """
    explained = np.array([two_means(values).explained for values in scores])
    return np.asarray(np.maximum(0.0, (explained - NO_CLUSTERS) / (1.0 - NO_CLUSTERS)))


def responsibility(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return RS of the n passages in scope, float64 (n,), in standard deviations (Eq. 8).

    `scores` are ES, SC and GC, each a float64 array of shape (n,). They are weighed by their
    `separation`; all alike if all would weigh nothing.
    """
    table = np.stack([z_scores(array) for array in scores])
    weights = separation(scores)
    if not weights.any():
        weights = np.ones(len(scores))
    return np.asarray(weights @ table / weights.sum())
