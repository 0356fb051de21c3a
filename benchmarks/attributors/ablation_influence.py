"""Influence from ablations: what a response's score loses with the passages that are taken away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mask", "ablation_masks", "leave_one_out", "linear_influence"]

Mask = NDArray[np.bool_]
"""Which passages are left in, True for these."""

_LONGEST_LISTED = 12
_LEAST_SPARSITY = 1e-4


def leave_one_out(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each passage's influence, shape (k,): the score with all, minus that without it.

    Args:
        scores: float64 array of shape (k + 1,): with all passages, then without the first, the
            second, ...

    >>> leave_one_out(np.array([3.0, 1.0, 3.0])).tolist()
    [2.0, 0.0]
    """
    return np.asarray(scores[0] - scores[1:], dtype=np.float64)


def ablation_masks(count: int, ablations: int, seed: int) -> Mask:
    """Return different subsets of `count` passages, drawn with equal probability.

    All of them, in a fixed order, if there are no more than `ablations`.

    Returns:
        bool array of shape (min(ablations, 2 ** count), count), True where a passage is left in.
    """
    if count <= _LONGEST_LISTED and 2**count <= ablations:
        listed = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        return np.asarray(listed, dtype=bool)
    draw = np.random.default_rng(seed)
    found: dict[bytes, Mask] = {}
    while len(found) < ablations:
        mask = draw.random(count) < 0.5
        found.setdefault(mask.tobytes(), mask)
    return np.stack(list(found.values()))


def linear_influence(
    masks: Mask, scores: NDArray[np.float64], *, sparsity: float = 0.01
) -> NDArray[np.float64]:
    """Return each passage's weight in a sparse linear model of the score.

    Lasso on masks of -1 and 1 and on standardised scores, so that `sparsity` has no unit; the
    weights are scaled back, and say how much the score rises when a passage is left in.

    Args:
        masks: bool array of shape (n, k).
        scores: float64 array of shape (n,).
        sparsity: The penalty; below 0.0001 it is none, and the fit is least squares.

    Returns:
        float64 array of shape (k,), in units of the scores.
    """
    spread = float(scores.std())
    if spread <= 1e-12 * max(1.0, float(np.abs(scores).max(initial=0.0))):
        return np.zeros(masks.shape[1])
    # Here, not above: scikit-learn takes longer to import than the rest of ragguard.
    from sklearn.linear_model import Lasso, LinearRegression

    signs = np.where(masks, 1.0, -1.0)
    lasso = sparsity >= _LEAST_SPARSITY  # below, coordinate descent does not converge
    model = Lasso(alpha=sparsity, max_iter=100_000) if lasso else LinearRegression()
    model.fit(signs, (scores - scores.mean()) / spread)
    return np.asarray(2.0 * spread * model.coef_, dtype=np.float64)
