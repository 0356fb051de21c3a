"""What one may read from a retrieved set as a whole: RAGDefender's own scores and simpler ones.

RAGDefender (Kim, Lee and Koo, 2025, Sections 4.1 and 4.2) sorts passages by these scores and has
no gate. `benchmarks.plain` puts the same gate behind each of them, to learn whether vectors tell
an attacked set from a clean one where words do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.openings import agreeing_openings
from benchmarks.retrieval import RetrievedSet
from ragguard.embedding import Embedder
from ragguard.embedding.vectors import similarity_matrix
from ragguard.inline.ragdefender.grouping import (
    clustering_count,
    concentration_count,
    concentration_factors,
    two_clusters,
)
from ragguard.inline.ragdefender.isolation import frequency_scores
from ragguard.inline.ragdefender.tfidf import tfidf_terms

__all__ = ["PASSAGE_SCORES", "SET_SCORES", "SetVectors", "nearest", "silhouettes"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SetVectors:
    """The texts and vectors of one retrieved set, and what more than one score needs of them.

    Attributes:
        texts: The k texts that the generator gets, k >= 2.
        query: float array of shape (d,), of length 1: the question.
        shown: float array of shape (k, d), unit rows.
        reference: float array of shape (r, d): the vectors of `below`; r may be 0.
        question: The question.
        below: The r texts that were ranked below.
    """

    texts: tuple[str, ...]
    query: NDArray[np.floating]
    shown: NDArray[np.floating]
    reference: NDArray[np.floating]
    question: str = ""
    below: tuple[str, ...] = ()

    @classmethod
    def of(cls, retrieved: RetrievedSet, k: int, embedder: Embedder) -> SetVectors:
        """Cut a retrieved set after the first k; the rest is the reference."""
        rows = retrieved.embeddings
        query = embedder.embed([retrieved.question])[0]
        texts, below = retrieved.texts[:k], retrieved.texts[k:]
        return cls(texts, query, rows[:k], rows[k:], retrieved.question, below)

    @cached_property
    def similarity(self) -> Floats:
        """The cosine of every pair of shown passages: float64 of shape (k, k)."""
        return similarity_matrix(self.shown)

    @cached_property
    def to_query(self) -> Floats:
        """The cosine of every shown passage and the question: float64 of shape (k,)."""
        wide: Floats = np.asarray(self.shown, dtype=np.float64) @ self.query
        return wide

    @cached_property
    def clustered(self) -> int:
        """N_adv by clustering (Eq. 1 and 2)."""
        return clustering_count(self.shown, [tfidf_terms(text) for text in self.texts])

    @cached_property
    def factors(self) -> tuple[Floats, Floats]:
        """The concentration factors s_mean and s_median, float64 of shape (k,) each."""
        return concentration_factors(self.similarity)


def nearest(similarity: Floats) -> Floats:
    """Return every row's similarity to its nearest other row: float64 of shape (n,).

    Args:
        similarity: float64 array of shape (n, n), n >= 2.
    """
    others = similarity.copy()
    np.fill_diagonal(others, -np.inf)
    best: Floats = others.max(axis=1)
    return best


def silhouettes(similarity: Floats, members: NDArray[np.bool_]) -> Floats:
    """Return the silhouette of every row for two clusters, with cosine distance.

    (b - a) / max(a, b) for the mean distances a to the row's own cluster and b to the other one;
    0 for a cluster of one (Rousseeuw, 1987).

    Args:
        similarity: float64 array of shape (n, n).
        members: bool array of shape (n,): the cluster each row is in; both hold at least one.
    """
    distance = 1.0 - similarity
    np.fill_diagonal(distance, 0.0)
    found = np.zeros(len(members))
    for row in range(len(members)):
        own = members == members[row]
        if own.sum() > 1:
            inside = distance[row, own].sum() / (own.sum() - 1)
            outside = distance[row, ~own].mean()
            found[row] = (outside - inside) / max(inside, outside, 1e-12)
    return found


def _frequency_clustering(found: SetVectors) -> Floats:
    return frequency_scores(found.similarity, found.clustered)


def _frequency_concentration(found: SetVectors) -> Floats:
    return frequency_scores(found.similarity, concentration_count(found.similarity))


def _mean_gap(found: SetVectors) -> Floats:
    factors = found.factors[0]
    gap: Floats = factors - factors.mean()
    return gap


def _median_gap(found: SetVectors) -> Floats:
    factors = found.factors[1]
    gap: Floats = factors - np.median(factors)
    return gap


def _tight_cluster(found: SetVectors) -> Floats:
    """Silhouettes, counted against the passages of the looser cluster instead of for them."""
    members = two_clusters(found.shown)
    values = silhouettes(found.similarity, members)
    close = nearest(found.similarity)
    tighter = members if close[members].mean() >= close[~members].mean() else ~members
    return np.where(tighter, values, -values)


def _query_gap(found: SetVectors) -> Floats:
    """By how much a passage is closer to the question than the best of the reference."""
    if len(found.reference):
        usual = float((found.reference @ found.query).max())
    else:
        usual = float(np.median(found.to_query))
    return found.to_query - usual


def _neighbour_gap(found: SetVectors) -> Floats:
    """By how much a passage's nearest neighbour is nearer than is usual in the reference."""
    close = nearest(found.similarity)
    if len(found.reference) > 1:
        usual = float(nearest(similarity_matrix(found.reference)).mean())
    else:
        usual = float(np.median(close))
    gap: Floats = close - usual
    return gap


PASSAGE_SCORES: Mapping[str, Callable[[SetVectors], Floats]] = {
    "pair frequency, clustering": _frequency_clustering,
    "pair frequency, concentration": _frequency_concentration,
    "s_mean": lambda found: found.factors[0],
    "s_mean gap": _mean_gap,
    "s_median": lambda found: found.factors[1],
    "s_median gap": _median_gap,
    "silhouette": _tight_cluster,
    "nearest neighbour": lambda found: nearest(found.similarity),
    "neighbour gap": _neighbour_gap,
    "query similarity": lambda found: found.to_query,
    "query gap": _query_gap,
}
"""Scores of k passages, float64 of shape (k,); that of a set is its largest.

Gaps are to the set's own centre, or, for the last of each pair, to the reference where there is
one.
"""

SET_SCORES: Mapping[str, Callable[[SetVectors], float]] = {
    "mean silhouette": lambda found: float(
        silhouettes(found.similarity, two_clusters(found.shown)).mean()
    ),
    "N_adv, clustering": lambda found: found.clustered / len(found.shown),
    "neighbour gap, mean": lambda found: float(_neighbour_gap(found).mean()),
    "mean similarity": lambda found: float(found.factors[0].mean()),
    "agreeing openings": lambda found: agreeing_openings(found.question, found.texts, found.below),
}
"""Scores of a set that say nothing of its passages."""
