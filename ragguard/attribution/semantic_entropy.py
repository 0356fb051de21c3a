"""Semantic entropy: over how many meanings sampled answers spread, and what counts as a meaning.

Source: Kuhn et al., "Semantic Uncertainty" (arXiv 2302.09664), as the Influence Score builds on it
(its section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from ragguard.attribution.claim import contains_phrase
from ragguard.embedding.adapt import unit_rows
from ragguard.errors import InvalidInputError
from ragguard.text import STOP_WORDS, tokens

__all__ = [
    "abstentions_apart",
    "cluster_by_equivalence",
    "cluster_by_similarity",
    "gist",
    "semantic_entropy",
    "states",
]


def semantic_entropy(labels: ArrayLike) -> float:
    """Return the entropy of the meanings of sampled responses, in bits.

    H_S = -sum_c p_c log2 p_c, where p_c is the share of the samples in meaning c. The Influence
    Score's paper (section 4, step 6) prints the sum without its minus sign, against its own words
    (low when the answers agree), and takes p from similarity scores. Counting clusters is Kuhn's
    way, and is 0 exactly when all samples agree.

    Args:
        labels: int array of shape (n,): the meaning of every sample.

    Raises:
        InvalidInputError: There is no sample.

    >>> semantic_entropy([0, 0, 1, 1])
    1.0
    """
    _, counts = np.unique(np.asarray(labels), return_counts=True)
    if counts.size == 0:
        raise InvalidInputError("semantic entropy needs at least one sampled response")
    shares = counts / counts.sum()
    return float(abs(np.sum(shares * np.log2(shares))))


def cluster_by_similarity(vectors: ArrayLike, threshold: float) -> NDArray[np.int64]:
    """Return one cluster label a row: rows with a cosine of at least `threshold` belong together.

    Clusters are the connected components of that relation, whatever the order of the samples.

    Args:
        vectors: float array of shape (n, d), rows of any length; a zero row is like no other.
        threshold: Cosine in [-1, 1].

    Returns:
        int64 array of shape (n,), numbered from 0 in order of first appearance.

    >>> cluster_by_similarity([[1, 0], [0, 1], [2, 0]], 0.9).tolist()
    [0, 1, 0]
    """
    rows = unit_rows(np.asarray(vectors)).astype(np.float64)
    # The same text twice has a cosine a rounding error below 1.
    same = rows @ rows.T >= threshold - 1e-6
    return _components(same)


def cluster_by_equivalence(
    texts: Sequence[str], equivalent: Callable[[str, str], bool]
) -> NDArray[np.int64]:
    """Return one cluster label a text: texts that `equivalent` joins belong together.

    Args:
        texts: n texts.
        equivalent: Symmetric. Called once for each pair of distinct texts; for one-way entailment
            pass `lambda a, b: entails(a, b) and entails(b, a)`.

    Returns:
        int64 array of shape (n,), numbered from 0 in order of first appearance.

    >>> cluster_by_equivalence(["Paris", "Rome", "PARIS"], lambda a, b: a.lower() == b.lower())
    array([0, 1, 0])
    """
    distinct = list(dict.fromkeys(texts))
    same = np.eye(len(distinct), dtype=bool)
    for i, left in enumerate(distinct):
        for j in range(i + 1, len(distinct)):
            same[i, j] = same[j, i] = bool(equivalent(left, distinct[j]))
    position = {text: index for index, text in enumerate(distinct)}
    return _components(same)[[position[text] for text in texts]]


def _components(same: NDArray[np.bool_]) -> NDArray[np.int64]:
    _, labels = connected_components(same, directed=False)
    return np.asarray(labels, dtype=np.int64)


def abstentions_apart(labels: ArrayLike, abstained: ArrayLike) -> NDArray[np.int64]:
    """Return the labels with every sample that abstains in a meaning of its own.

    As one meaning, ten times "unknown" would have an entropy of 0: the passage that tells nothing
    would pass for the surest of all. Both arrays have shape (n,).

    >>> abstentions_apart([0, 1, 1, 1], [False, True, True, False]).tolist()
    [0, 3, 4, 1]
    """
    found = np.asarray(labels, dtype=np.int64)
    fresh = found.max(initial=-1) + 1 + np.arange(len(found))
    # Numbers that are left out between the labels mean nothing.
    return np.where(np.asarray(abstained, dtype=bool), fresh, found)


_NEGATIONS = frozenset({"no", "not", "nor", "cannot"})


def gist(query: str, answer: str) -> str:
    """Return what `answer` adds to the question: its words without the query's and function words.

    Sentences that repeat the question resemble each other even where they contradict. An answer of
    nothing but such words ("Rome" to "Rome or Paris?") stays whole.

    >>> gist("When was the bridge built?", "The bridge was built in 1874.")
    '1874'
    """
    words = tokens(answer)
    known = (frozenset(tokens(query)) | STOP_WORDS) - _NEGATIONS
    return " ".join([word for word in words if word not in known] or words)


def states(response: str, answer: str) -> bool:
    """Return True if the words of `answer` stand in `response` in a row, or the other way round.

    >>> states("The bridge was finished in 1874.", "1874")
    True
    """
    longer, shorter = sorted((tokens(response), tokens(answer)), key=len, reverse=True)
    return contains_phrase(longer, shorter)
