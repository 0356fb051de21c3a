"""The threshold that a share of clean scores exceeds, as conformal p-values have it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def threshold(scores: NDArray[np.float64], alpha: float) -> float:
    """Return what a score must exceed to have a conformal p-value of at most alpha.

    >>> threshold(np.arange(19.0), 0.05) > 18, threshold(np.arange(9.0), 0.05)
    (True, inf)
    """
    rank = int(alpha * (len(scores) + 1) + 1e-9)
    if rank < 1:
        return np.inf
    return float(np.nextafter(np.sort(scores)[-rank], np.inf))
