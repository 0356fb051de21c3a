"""Rates over questions with their bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class Rate:
    """A share and the interval around it.

    Attributes:
        value: The share; None where there is nothing to have a share of.
        low: Lower end of the 95 % percentile interval, questions resampled.
        high: Upper end.
        count: Questions that it is over.
    """

    value: float | None
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        return f"{100 * self.value:.0f} % ({100 * self.low:.0f}-{100 * self.high:.0f})"

    @property
    def short(self) -> str:
        """The share alone."""
        return "-" if self.value is None else f"{100 * self.value:.1f} %"


def rate(parts: Sequence[float], wholes: Sequence[float] | None = None) -> Rate:
    """Return sum(parts) / sum(wholes); without wholes each question counts one.

    >>> rate([1, 0, 1, 0]).value, rate([], []).value
    (0.5, None)
    """
    part = np.asarray(parts, dtype=np.float64)
    whole = np.ones(len(part)) if wholes is None else np.asarray(wholes, dtype=np.float64)
    if not whole.sum():
        return Rate(None, 0.0, 1.0, len(part))
    drawn = _draws(len(part))
    totals = whole[drawn].sum(axis=1)
    found = part[drawn].sum(axis=1)[totals > 0] / totals[totals > 0]
    low, high = np.quantile(found, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Rate(float(part.sum() / whole.sum()), float(low), float(high), len(part))


def difference(first: Sequence[float], second: Sequence[float]) -> Rate:
    """Return mean(second) - mean(first) of the same questions, resampled in pairs.

    >>> difference([0, 0], [1, 1])
    Rate(value=1.0, low=1.0, high=1.0, count=2)
    """
    return rate([b - a for a, b in zip(first, second, strict=True)])


def _draws(count: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(0, count, size=(_RESAMPLES, count))
