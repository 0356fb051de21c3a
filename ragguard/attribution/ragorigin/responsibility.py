"""How responsible each passage in scope is, and where to cut (RAGOrigin, Eq. 5, 8, Section 5.4).

    ES_i = cos(query, passage i)
    RS_i = sum_s w_s z_s(i) / sum_s w_s,    s in {ES, SC, GC},    z_s = (s - mean s) / std s

The paper takes w_s = 1. Poison that was not made to be retrieved has ordinary ES and SC, and the
mean then buries a clear GC. Here w_s is the `separation` of s.

The cut is exact 2-means in one dimension, the t that makes

    sum over RS_i < t of (RS_i - mean of these)^2 + sum over RS_i >= t of (RS_i - mean of these)^2

least. It always finds two clusters, in scores of benign passages too, so `one_cluster_p_value` also
asks whether two explain the scores better than one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import CachedEmbedder
from ragguard.embedding.adapt import unit_rows
from ragguard.passage import Passage

NORMAL_SPLIT_SHARE = 2.0 / math.pi
"""Share of a normal distribution's variance that its best split into two explains."""


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
    return np.asarray(
        np.maximum(0.0, (explained - NORMAL_SPLIT_SHARE) / (1.0 - NORMAL_SPLIT_SHARE))
    )


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


@dataclass(frozen=True)
class Split:
    """The best split of n values into a low and a high cluster."""

    high: NDArray[np.bool_]  # of shape (n,), True for the cluster with the higher mean
    explained: float  # share of the variance between the clusters, in [0, 1]; 0 if all are equal


def two_means(values: NDArray[np.float64]) -> Split:
    """Return the split of the n float64 values with the least squared distance to the two means.

    Exact: in one dimension the clusters are an interval each, so all n - 1 splits of the sorted
    values are tried at once. Equal values are never parted; of equally good splits the one with
    the fewest high values is taken.
    """
    count = len(values)
    # Shifted to mean 0, so that nearly equal large values do not cancel.
    centred = values - values.mean() if count else values
    total = float(np.sum(centred**2))
    order = np.argsort(centred, kind="stable")
    ranked = centred[order]
    gaps = np.flatnonzero(np.diff(ranked) > 0.0) + 1
    scale = float(np.abs(values).max()) if count else 0.0
    if not len(gaps) or total <= count * (1e-12 * max(1.0, scale)) ** 2:
        return Split(np.zeros(count, dtype=bool), 0.0)
    low_sums = np.cumsum(ranked)[gaps - 1]
    # With mean 0 the high sum is minus the low one.
    between = low_sums**2 * (1.0 / gaps + 1.0 / (count - gaps))
    best = int(len(gaps) - 1 - np.argmax(between[::-1]))
    high = np.zeros(count, dtype=bool)
    high[order[gaps[best] :]] = True
    return Split(high, min(1.0, float(between[best]) / total))


def one_cluster_p_value(explained: float, count: int) -> float:
    """Return the probability that one normal cluster of `count` values splits this clearly.

    Of n normal values, log(1 / (1 - explained)) is about normal with mean
    -log(1 - 2 / pi) + 2.4 / (n - 2) and variance 1 / (n - 2) (Engelman & Hartigan, JASA 64, 1969).
    Fewer than 4 values say nothing: the answer is then 1.
    """
    if count < 4:
        return 1.0
    if explained >= 1.0:
        return 0.0
    freedom = count - 2
    mean = -math.log1p(-NORMAL_SPLIT_SHARE) + 2.4 / freedom
    deviation = (-math.log1p(-explained) - mean) * math.sqrt(freedom)
    return 0.5 * math.erfc(deviation / math.sqrt(2.0))
