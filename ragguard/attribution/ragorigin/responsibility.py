"""How responsible each passage in scope is for the response (RAGOrigin, Section 5.3, Eq. 8).

    RS_i = sum_s w_s z_s(i) / sum_s w_s,    s in {ES, SC, GC},    z_s = (s - mean s) / std s

The paper takes w_s = 1. That gives a score which tells nothing the same say as one which tells
everything: poison that was not made to be retrieved has ordinary ES and SC, and the mean then
buries a clear GC. Here w_s is the `separation` of s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.ragorigin.threshold import NO_CLUSTERS, two_means
from ragguard.errors import InvalidInputError

__all__ = ["Weigh", "responsibility", "separation", "z_scores"]

Weigh = Callable[[Sequence[NDArray[np.float64]]], NDArray[np.float64]]


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
    a normal distribution (Engelman & Hartigan, 1969), where there are no groups.
    """
    explained = np.array([two_means(values).explained for values in scores])
    return np.asarray(np.maximum(0.0, (explained - NO_CLUSTERS) / (1.0 - NO_CLUSTERS)))


def responsibility(
    scores: Sequence[NDArray[np.float64]], weigh: Weigh = separation
) -> NDArray[np.float64]:
    """Return RS, the combined score of every passage in scope.

    Args:
        scores: ES, SC and GC, each a float64 array of shape (n,).
        weigh: The weights of all of them; all are 1 if all would be 0.

    Returns:
        float64 array of shape (n,), in standard deviations; higher is more responsible.

    Raises:
        InvalidInputError: The arrays differ in shape.
    """
    if len({array.shape for array in scores}) != 1:
        raise InvalidInputError("scores must be arrays of one shape, one value for each passage")
    table = np.stack([z_scores(array) for array in scores])
    weights = weigh(scores)
    if not weights.any():
        weights = np.ones(len(scores))
    return np.asarray(weights @ table / weights.sum())
