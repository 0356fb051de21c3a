"""Grouping: how many of n retrieved passages are adversarial (RAGDefender, Section 4.1).

    N_TF-IDF = #{i : passage i holds more than m / 2 of the top m terms}                  (Eq. 1)
    N_adv = n_min if N_TF-IDF <= n / 2, else n - n_min                                    (Eq. 2)
    N_adv = #{i : s_mean(i) > mean of all s_mean, s_median(i) > median of all s_median}   (Eq. 3)

with n_min the size of the smaller of two clusters, and s_mean and s_median the mean and the median
similarity of a passage to the others. The paper names no linkage of the clusters, here Ward's, and
no weights of the terms. Here they are those of scikit-learn's TfidfVectorizer, as in the authors'
code, which leaves out scikit-learn's stop words and not ours:

    w(t, d) = tf(t, d) (ln((1 + n) / (1 + df(t))) + 1),    each passage's vector scaled to length 1

Which of the two groupings a question needs the paper leaves to the user; `choose_strategy` is ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from math import log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragguard.text import MAX_CHARS, STOP_WORDS, both_ends

GroupingStrategy = Literal["clustering", "concentration"]

Floats = NDArray[np.float64]

# At least two word characters, as scikit-learn's TfidfVectorizer reads terms.
_TERM = re.compile(r"\w\w+")


def tfidf_terms(text: str, stop_words: Collection[str] = STOP_WORDS) -> list[str]:
    """Return the terms of a text that TF-IDF counts, in lower case and in order.

    Of a very long text both ends are read.
    """
    found = _TERM.findall(both_ends(text, MAX_CHARS).lower())
    return [word for word in found if word not in stop_words]


def top_terms(terms: Sequence[Collection[str]], m: int = 5) -> list[str]:
    """Return the `m` terms with the highest weight summed over the set (RAGDefender, 4.1).

    Ties go to the term that comes first in the alphabet; `terms` are those of each passage.
    """
    counts = [Counter(passage) for passage in terms]
    holders = Counter([term for passage in counts for term in passage])
    idf = {df: log((1 + len(counts)) / (1 + df)) + 1.0 for df in set(holders.values())}
    scores = dict.fromkeys(holders, 0.0)
    for passage in counts:
        weights = {term: count * idf[holders[term]] for term, count in passage.items()}
        squares = 0.0
        for weight in weights.values():  # not by `sum`, which differs between Pythons
            squares += weight * weight
        for term, weight in weights.items():
            scores[term] += weight / sqrt(squares)
    return sorted(scores, key=lambda term: (-scores[term], term))[:m]


def passages_with_top_terms(terms: Sequence[Collection[str]], top: Collection[str]) -> int:
    """Return N_TF-IDF: passages that hold more than half of the top terms.

    Where the set has fewer than m terms, that is half of those; the paper compares with m / 2.
    """
    chosen = set(top)
    return sum(2 * len(chosen.intersection(passage)) > len(chosen) for passage in terms)


@cache
def load_clustering() -> Any:
    """Import scipy's hierarchical clustering, and return it.

    It reads hundreds of files. Call it before the first query: not at import, since a guard that
    never clusters does not need it.
    """
    from scipy.cluster import hierarchy

    return hierarchy


def two_clusters(embeddings: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Split n >= 2 rows into two clusters by agglomerative clustering with Ward's linkage.

    Returns:
        bool array of shape (n,): the cluster each row is in.
    """
    hierarchy = load_clustering()
    # Distances, not rows: rows of zeros, one for each dimension, look like distances to scipy.
    merges = hierarchy.linkage(_distances(np.asarray(embeddings, np.float64)), method="ward")
    members = np.zeros(len(embeddings), dtype=np.bool_)
    members[hierarchy.to_tree(merges).left.pre_order()] = True
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
    passages are that minority or the majority. `terms` are the `tfidf_terms` of each passage, of
    which the top m are looked at.
    """
    n = len(embeddings)
    if n < 2:
        return 0
    size = int(two_clusters(embeddings).sum())
    smaller = min(size, n - size)
    term_rich = passages_with_top_terms(terms, top_terms(terms, m))
    return smaller if 2 * term_rich <= n else n - smaller


def concentration_factors(similarity: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Return s_mean and s_median of each of n >= 2 passages: its similarity to the others."""
    n = len(similarity)
    # Row after row without the first entry, every n + 1st is one of the diagonal.
    entries = np.asarray(similarity, dtype=np.float64).ravel()[1:].reshape(n - 1, n + 1)
    others = entries[:, :-1].reshape(n, n - 1)
    return others.mean(axis=1), np.median(others, axis=1)


def concentration_count(similarity: NDArray[np.floating]) -> int:
    """Return N_adv for multi-hop questions (Eq. 3).

    Passages whose mean and whose median similarity to the others both exceed the set's own.
    """
    if len(similarity) < 2:
        return 0
    means, medians = concentration_factors(similarity)
    return int(((means > means.mean()) & (medians > np.median(medians))).sum())


def choose_strategy(query_words: Sequence[str]) -> GroupingStrategy:
    """Choose the grouping for a question: the rule behind `strategy="auto"`, which is ours.

    RAGDefender picks by hand: clustering where one passage answers, concentration where several
    must be put together. So it is where a question compares ("both", "same", "than"), or asks for
    something of something of something: it has two of "of", "that", "who" beyond its first word.
    """
    if _COMPARISONS.intersection(query_words):
        return "concentration"
    links = sum(word in _LINKS for word in query_words[1:])
    return "concentration" if links >= 2 else "clustering"


_COMPARISONS = frozenset({"both", "same", "or", "than", "either", "older", "younger", "earlier"})
_LINKS = frozenset({"of", "that", "who", "which", "where", "whose", "s"})
