"""Grouping: how many of the retrieved passages are adversarial (RAGDefender, Section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.ragdefender.tfidf import passages_with_top_terms, top_terms

GroupingStrategy = Literal["clustering", "concentration"]

Floats = NDArray[np.float64]


@cache
def load_clustering() -> Callable[..., NDArray[Any]]:
    """Import scipy's linkage, and return it.

    It reads hundreds of files. Call it before the first query: not at import, since a guard that
    never clusters does not need it.
    """
    from scipy.cluster.hierarchy import linkage

    return linkage


def two_clusters(embeddings: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Split rows into two clusters by agglomerative clustering with Ward's linkage.

    Args:
        embeddings: float array of shape (n, d), n >= 2.

    Returns:
        bool array of shape (n,): the cluster each row is in.
    """
    linkage = load_clustering()
    n = len(embeddings)
    # Distances, not rows: rows of zeros, one for each dimension, look like distances to scipy.
    merges = linkage(_distances(np.asarray(embeddings, dtype=np.float64)), method="ward")
    members = np.zeros(n, dtype=bool)
    pending = [int(merges[-1, 0])]
    while pending:
        node = pending.pop()
        if node < n:
            members[node] = True
        else:
            pending += [int(merges[node - n, 0]), int(merges[node - n, 1])]
    return members


def _distances(rows: Floats) -> Floats:
    """Return the Euclidean distance of each pair (0, 1), (0, 2), ...: shape (n (n - 1) / 2,).

    From the Gram matrix, |a - b|^2 = |a|^2 + |b|^2 - 2 a b, many times faster than pair by pair.
    """
    products = rows @ rows.T
    lengths = products.diagonal()
    squared = (lengths[:, None] + lengths - 2.0 * products)[~np.tri(len(rows), dtype=bool)]
    # Of equal rows rounding may leave a little less than nothing.
    distances: Floats = np.sqrt(np.maximum(squared, 0.0))
    return distances


def clustering_count(
    embeddings: NDArray[np.floating], terms: Sequence[Sequence[str]], m: int = 5
) -> int:
    """Return N_adv for single-hop questions (Eq. 1 and 2).

    The two clusters say how large a minority is; the top TF-IDF terms say whether the adversarial
    passages are that minority or the majority.

    Args:
        embeddings: float array of shape (n, d).
        terms: The TF-IDF terms of each passage (`ragguard.inline.ragdefender.tfidf.tfidf_terms`).
        m: How many top terms are looked at.
    """
    n = len(embeddings)
    if n < 2:
        return 0
    size = int(two_clusters(embeddings).sum())
    smaller = min(size, n - size)
    term_rich = passages_with_top_terms(terms, top_terms(terms, m))
    return smaller if 2 * term_rich <= n else n - smaller


def concentration_factors(similarity: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Return s_mean and s_median of every passage: its similarity to the others.

    Args:
        similarity: float array of shape (n, n), n >= 2.

    Returns:
        Two float64 arrays of shape (n,).
    """
    n = len(similarity)
    # Row after row without the first entry, every n + 1st is one of the diagonal.
    entries = np.asarray(similarity, dtype=np.float64).ravel()[1:].reshape(n - 1, n + 1)
    others = entries[:, :-1].reshape(n, n - 1)
    return others.mean(axis=1), _medians(others)


def _medians(rows: Floats) -> Floats:
    """Return the median of each row; numpy's own spends most of its time on looking for NaN."""
    middle = rows.shape[1] // 2
    lower = middle if rows.shape[1] % 2 else middle - 1
    ordered = np.partition(rows, (lower, middle), axis=1)
    medians: Floats = (ordered[:, lower] + ordered[:, middle]) / 2.0
    return medians


def concentration_count(similarity: NDArray[np.floating]) -> int:
    """Return N_adv for multi-hop questions (Eq. 3).

    Passages whose mean and whose median similarity to the others both exceed the set's own.

    Args:
        similarity: float array of shape (n, n).
    """
    if len(similarity) < 2:
        return 0
    means, medians = concentration_factors(similarity)
    return int(((means > means.mean()) & (medians > _medians(medians[None, :]))).sum())


def choose_strategy(query_words: Sequence[str]) -> GroupingStrategy:
    """Choose the grouping for a question: the rule behind `strategy="auto"`.

    RAGDefender picks by hand: clustering where one passage answers, concentration where several
    must be put together. A question that needs several passages compares two things, or asks for
    something of something of something. So "concentration" is chosen if the question holds a word
    of comparison ("both", "same", "or", "than", ...), or at least two of the links "of", "that",
    "who", "which", "where", "whose", "'s" beyond its first word; else "clustering".

    Args:
        query_words: The question as `ragguard.text.tokens` reads it.
    """
    if _COMPARISONS.intersection(query_words):
        return "concentration"
    links = sum(word in _LINKS for word in query_words[1:])
    return "concentration" if links >= 2 else "clustering"


_COMPARISONS = frozenset({"both", "same", "or", "than", "either", "older", "younger", "earlier"})
_LINKS = frozenset({"of", "that", "who", "which", "where", "whose", "s"})
