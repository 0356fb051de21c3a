"""Rates over questions with their bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

_RESAMPLES = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class Rate:
    """A share and its interval, computed where it is asked for, from each question's part."""

    parts: tuple[float, ...]
    wholes: tuple[float, ...]

    @property
    def value(self) -> float | None:
        """The share; None where there is nothing to have a share of."""
        whole = sum(self.wholes)
        return sum(self.parts) / whole if whole else None

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The 95 % percentile interval, questions resampled."""
        if self.value is None:
            return 0.0, 1.0
        drawn = np.random.default_rng(0).integers(0, len(self.parts), (_RESAMPLES, len(self.parts)))
        parts, totals = (np.array(of)[drawn].sum(axis=1) for of in (self.parts, self.wholes))
        found = parts[totals > 0] / totals[totals > 0]
        low, high = np.quantile(found, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        return float(low), float(high)

    def with_ends(self) -> dict[str, Any]:
        """Return all that a result keeps of it."""
        low, high = self.ends
        return {"value": self.value, "low": low, "high": high, "count": len(self.parts)}

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        low, high = self.ends
        return f"{100 * self.value:.0f} % ({100 * low:.0f}-{100 * high:.0f})"

    @property
    def short(self) -> str:
        """The share alone."""
        return "-" if self.value is None else f"{100 * self.value:.1f} %"


def rate(parts: Sequence[float], wholes: Sequence[float] | None = None) -> Rate:
    """Return sum(parts) / sum(wholes) over questions; without wholes each counts one.

    >>> rate([1, 0, 1, 0]).value, rate([], []).value
    (0.5, None)
    """
    return Rate(tuple(parts), (1,) * len(parts) if wholes is None else tuple(wholes))


def difference(first: Sequence[float], second: Sequence[float]) -> Rate:
    """Return mean(second) - mean(first) of the same questions, resampled in pairs.

    >>> found = difference([0, 0], [1, 1])
    >>> found.value, found.ends
    (1.0, (1.0, 1.0))
    """
    return rate([b - a for a, b in zip(first, second, strict=True)])
