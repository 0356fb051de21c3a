"""Where to cut the responsibility scores (RAGOrigin, Section 5.4): exact 2-means in one dimension.

2-means always finds two, in scores of benign passages too, so `one_cluster_p_value` also asks
whether two explain the scores better than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_CLUSTERS = 2.0 / math.pi
"""Share of a normal distribution's variance that its best split into two explains."""


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
    mean = -math.log1p(-NO_CLUSTERS) + 2.4 / freedom
    deviation = (-math.log1p(-explained) - mean) * math.sqrt(freedom)
    return 0.5 * math.erfc(deviation / math.sqrt(2.0))
