"""What is left of the evidence once alpha is spent where strangers can write (`ragguard.trust`).

    p(set) = min over classes of p(most suspicious passage of the class) / share(class)
    p(passage) / share(class) for each passage

Of a class that may spend nothing no passage is evidence, nor can it go.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.conformal import Calibration

Floats = NDArray[np.float64]


def spent_p_value(calibration: Calibration, suspicion: Floats, shares: Floats) -> float:
    """Return the p-value of "this query is clean" when classes share alpha.

    Args:
        calibration: In force.
        suspicion: float64 array of shape (k,).
        shares: float64 array of shape (k,): of alpha, that the class of each passage may spend.
    """
    lowest = 1.0
    for share in set(shares.tolist()) - {0.0}:
        highest = float(suspicion[shares == share].max())
        lowest = min(lowest, calibration.p_value(highest, len(suspicion)) / share)
    return lowest


def spent(p_values: Floats, shares: Floats) -> Floats:
    """Return p-values of passages divided by shares: float64 of shape (n,), infinity for none."""
    none = np.full(len(p_values), np.inf)
    return np.asarray(np.divide(p_values, shares, out=none, where=shares > 0.0), np.float64)


def evident_by(
    calibration: Calibration, suspicion: Floats, shares: Floats, alpha: float, judged: int
) -> NDArray[np.bool_]:
    """Return which passages would fire the gate by themselves: bool of shape (n,).

    Args:
        calibration: In force.
        suspicion: float64 array of shape (n,).
        shares: float64 array of shape (n,).
        alpha: Share of clean queries that may be touched.
        judged: How many passages the gate looked at.
    """
    lines = {share: calibration.threshold(alpha * share, judged) for share in set(shares.tolist())}
    found: NDArray[np.bool_] = suspicion >= np.array([lines[share] for share in shares.tolist()])
    return found
