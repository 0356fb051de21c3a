"""Isolation: which of the retrieved passages are adversarial (RAGDefender, Section 4.2).

    N_pairs = max(1, C(N_adv, 2))                                                         (Eq. 4)
    P_top = the N_pairs most similar pairs {i, j}                                         (Eq. 5)
    f_i = sum over the pairs in P_top that hold i of sgn(s_ij) |s_ij|^p                   (Eq. 6)
    adversarial: the N_adv passages of the highest f_i                                    (Eq. 7)

The paper writes pairs in order, (i, j) and (j, i); one pair counts once here, as in the authors'
code.

`similarity` is the cosine of each pair of n passages, a symmetric float array of shape (n, n), and
`adversarial` N_adv, the estimate of the grouping, from 0 to n.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray


def pair_count(adversarial: int) -> int:
    """Return N_pairs = max(1, C(N_adv, 2)) (Eq. 4)."""
    return max(1, comb(adversarial, 2))


def top_pairs(
    similarity: NDArray[np.floating], count: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the `count` most similar pairs (Eq. 5), or all; ties go to the pair that comes first.

    That is the smaller and the larger index of each pair, most similar first.
    """
    n = len(similarity)
    upper = np.flatnonzero(~np.tri(n, dtype=bool))
    distance = -similarity.ravel()[upper]
    chosen = upper[np.argsort(distance, kind="stable")[:count]]
    return np.divmod(chosen, n)


def frequency_scores(
    similarity: NDArray[np.floating], adversarial: int, p: float = 2.0
) -> NDArray[np.float64]:
    """Return the pair-frequency score f_i of every passage, weighted by the exponent p (Eq. 6)."""
    rows, columns = top_pairs(similarity, pair_count(adversarial))
    pairs = np.asarray(similarity, dtype=np.float64)[rows, columns]
    weights = np.sign(pairs) * np.abs(pairs) ** p
    both = np.concatenate([rows, columns])
    return np.asarray(np.bincount(both, np.tile(weights, 2), len(similarity)), dtype=np.float64)


def isolate(
    similarity: NDArray[np.floating], adversarial: int, p: float = 2.0
) -> NDArray[np.bool_]:
    """Mark the N_adv passages with the highest pair-frequency score (Eq. 7).

    Ties go to the passage of the better rank.
    """
    marked = np.zeros(len(similarity), dtype=bool)
    if adversarial > 0:
        scores = frequency_scores(similarity, adversarial, p)
        marked[np.argsort(-scores, kind="stable")[:adversarial]] = True
    return marked
