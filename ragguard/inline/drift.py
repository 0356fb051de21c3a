"""Drift detection: does the calibration still speak for the traffic of today?

    X ~ BetaBinomial(m, r, n + 1 - r),    r = floor(alpha (n + 1)),    drift: P(X >= x) <= 0.001

X of m queries score above the (1 - alpha) quantile, the r-th largest of n calibration scores, if
they are exchangeable with the calibration's. Their share is not alpha but Beta(r, n + 1 - r), since
the calibration is a sample too; as n grows this becomes the binomial test with alpha, which would
mistake the luck of a small calibration for drift.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, floor, fsum, lgamma

import numpy as np
from numpy.typing import NDArray

logger = logging.getLogger(__name__)

SIGNIFICANCE = 0.001
"""The share of comparisons that cry drift although nothing has changed, at most."""


@dataclass(frozen=True)
class Drift:
    """A comparison of recent queries with a calibration."""

    queries: int  # that were looked at
    above: int  # how many of them score above the calibrated (1 - alpha) quantile
    alpha: float  # the share that the guarantee allows
    p_value: float  # of so many or more, were the queries like the calibration's
    drifted: bool  # whether the guarantee no longer covers the traffic


def tail_probability(above: int, queries: Mapping[int, int], alpha: float) -> float:
    """Return P(X >= above), where `queries` says how many are compared with each sample: m, by n.

    Where the classes of queries have samples of their own, X is the sum over these.
    """
    if above <= 0:
        return 1.0
    chances = np.ones(1)
    for calibrated, compared in queries.items():
        chances = np.convolve(chances, _chances(compared, calibrated, alpha))
    return min(1.0, fsum(chances[above:].tolist()))


def _chances(queries: int, calibrated: int, alpha: float) -> NDArray[np.float64]:
    """Return P(X = x) for x = 0 to m of one sample; shape (m + 1,), or (1,) if X is 0."""
    rank = floor(alpha * (calibrated + 1) + 1e-9)
    if rank < 1:
        return np.ones(1)
    rest = calibrated + 1 - rank
    whole = _log_beta(rank, rest)
    terms = [
        exp(_log_choose(queries, x) + _log_beta(x + rank, queries - x + rest) - whole)
        for x in range(queries + 1)
    ]
    return np.array(terms)


def drift(
    p_values: NDArray[np.float64],
    calibrated: int | NDArray[np.int64],
    alpha: float,
    significance: float = SIGNIFICANCE,
) -> Drift:
    """Compare recent queries with the calibration that judged them, by the exact upper-tail test.

    `p_values` are of shape (m,), and `calibrated` says how many queries the sample of each has: one
    number, or shape (m,). Drift is what has at most the probability `significance`.
    """
    above = int((np.asarray(p_values) <= alpha).sum())
    compared = Counter(np.broadcast_to(calibrated, len(p_values)).tolist())
    return _drift(above, compared, alpha, significance)


def _drift(above: int, queries: Mapping[int, int], alpha: float, significance: float) -> Drift:
    probability = tail_probability(above, queries, alpha)
    return Drift(sum(queries.values()), above, alpha, probability, probability <= significance)


class DriftWatch:
    """Counts gates that fire, and warns once when a window of queries has too many.

    Windows do not overlap. Not safe to share between threads.
    """

    def __init__(self, alpha: float, *, window: int = 500) -> None:
        self._alpha = alpha
        self._window = window
        self._queries: Counter[int] = Counter()
        self._above = 0
        self._drifted = False

    def see(self, attacked: bool, calibrated: int) -> None:
        """Count one query in, compared with a sample of so many queries."""
        self._queries[calibrated] += 1
        self._above += attacked
        if self._queries.total() < self._window:
            return
        found = _drift(self._above, self._queries, self._alpha, SIGNIFICANCE)
        self._queries, self._above = Counter(), 0
        if found.drifted and not self._drifted:
            logger.warning(
                "the gate fired on %d of the last %d queries, its calibration allows about %.1f: "
                "either there is an attack, or the traffic is no longer what it was calibrated on; "
                "look at what was flagged, and calibrate anew if it is clean",
                found.above,
                found.queries,
                found.alpha * found.queries,
            )
        elif self._drifted and not found.drifted:
            logger.info("the calibration covers the traffic again")
        self._drifted = found.drifted


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
