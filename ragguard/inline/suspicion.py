"""How the signals add up: one suspicion a passage, one nonconformity score a retrieved set."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.signals import SIGNALS

__all__ = ["BIAS", "SCORER", "WEIGHTS", "contributions", "nonconformity", "suspicions"]

Floats = NDArray[np.float64]

SCORER = "words-3"
"""Version of signals and weights; a calibration holds for the version it was made with."""

BIAS = -6.49
WEIGHTS: Mapping[tuple[str, ...], float] = {
    ("address",): 6.0,
    ("wording_restated", "closeness"): 5.04,
    ("coverage",): 3.25,
    ("echo_whole", "restatement"): 1.57,
    ("echo_whole", "wording_restated"): 1.49,
    ("company_closeness",): 1.29,
    ("wording_restated", "wording_restated"): 0.90,
    ("restatement", "window_whole"): 0.87,
    ("company_coverage", "company_closeness"): 0.87,
    ("concentration", "concentration"): 0.83,
    ("echo_edge", "company_window"): 0.66,
    ("coverage", "company_closeness"): 0.65,
    ("echo_edge",): 0.57,
    ("echo_edge", "coverage"): 0.57,
    ("window",): 0.56,
    ("concentration", "company_window"): 0.55,
    ("echo_edge", "company_wording"): 0.50,
    ("echo_edge", "window_whole"): 0.44,
    ("echo_edge", "window"): 0.44,
    ("window", "concentration"): 0.44,
    ("echo_edge", "company_coverage"): 0.42,
    ("wording_restated", "window_whole"): 0.29,
}
"""Weight of each term in nats of log-odds; a term is a signal, or the product of two.

Products, because what clean traffic shows one at a time it hardly ever shows together: a quiz page
quotes the question, a good answer restates it, but only poison is closer to the question than all
that is normally retrieved and restates the whole of it.

From `python -m benchmarks.fit_suspicion`: logistic regression with non-negative weights (no
signal may speak for a passage) on the choosing half of the public data. "address" is set by hand,
since that data holds no passage that addresses the model.
"""

_ONE = len(SIGNALS)  # the column of ones that stands in for the missing factor of a single signal
_LEFT = np.array([SIGNALS.index(term[0]) for term in WEIGHTS])
_RIGHT = np.array([SIGNALS.index(term[1]) if len(term) == 2 else _ONE for term in WEIGHTS])
_WEIGHTS = np.array(list(WEIGHTS.values()))
# Each factor of a term gets half of what the term adds; a single signal gets all of it.
_SHARES = np.zeros((len(WEIGHTS), _ONE + 1))
np.add.at(_SHARES, (np.arange(len(WEIGHTS)), _LEFT), 0.5)
np.add.at(_SHARES, (np.arange(len(WEIGHTS)), np.where(_RIGHT == _ONE, _LEFT, _RIGHT)), 0.5)


def _weighted_terms(signals: Floats) -> Floats:
    extended = np.concatenate([signals, np.ones((len(signals), 1))], axis=1)
    weighted: Floats = extended[:, _LEFT] * extended[:, _RIGHT] * _WEIGHTS
    return weighted


def suspicions(signals: Floats) -> Floats:
    """Return the suspicion of every passage, in nats of log-odds.

    Args:
        signals: float64 array of shape (k, len(SIGNALS)).

    Returns:
        float64 array of shape (k,).
    """
    total: Floats = _weighted_terms(signals).sum(axis=1) + BIAS
    return total


def contributions(signals: Floats) -> Floats:
    """Return what each signal adds to each suspicion: float64 of the shape of `signals`.

    Rows sum to the suspicions less `BIAS`.
    """
    added: Floats = (_weighted_terms(signals) @ _SHARES)[:, :_ONE]
    return added


def nonconformity(suspicion: Floats) -> float:
    """Return the score of a set: that of its most suspicious passage.

    Args:
        suspicion: float64 array of shape (k,), k >= 1.
    """
    return float(suspicion.max())
