"""How the signals add up: one suspicion a passage, one nonconformity score a retrieved set."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.signals import SIGNALS

__all__ = ["BIAS", "SCORER", "WEIGHTS", "contributions", "nonconformity", "suspicions"]

Floats = NDArray[np.float64]

SCORER = "words-1"
"""Version of signals and weights; a calibration holds for the version it was made with."""

BIAS = -6.9
WEIGHTS: Mapping[str, float] = {
    "coverage": 2.44,
    "echo_edge": 2.33,
    "restatement": 1.82,
    "window": 1.44,
    "wording_restated": 1.32,
    "company_closeness": 1.24,
    "closeness": 1.16,
    "concentration": 1.08,
    "wording": 0.68,
    "concentration_wide": 0.51,
    "coverage_whole": 0.18,
    "company_window": 0.18,
    "company_echo": 0.07,
    "address": 6.0,
}
"""Weight of each signal in nats of log-odds, from `python -m benchmarks.fit_suspicion`.

Non-negative logistic regression on the choosing half of the public data: no signal may speak for
a passage. "address" is set by hand: the data holds no passage that addresses the model.
"""

_WEIGHT_ROW = np.array([WEIGHTS[name] for name in SIGNALS])


def suspicions(signals: Floats) -> Floats:
    """Return the suspicion of every passage, in nats of log-odds.

    Args:
        signals: float64 array of shape (k, len(SIGNALS)).

    Returns:
        float64 array of shape (k,).
    """
    total: Floats = signals @ _WEIGHT_ROW + BIAS
    return total


def contributions(signals: Floats) -> Floats:
    """Return what each signal adds to each suspicion: float64 of the shape of `signals`."""
    added: Floats = signals * _WEIGHT_ROW
    return added


def nonconformity(suspicion: Floats) -> float:
    """Return the score of a set: that of its most suspicious passage.

    Args:
        suspicion: float64 array of shape (k,), k >= 1.
    """
    return float(suspicion.max())
