"""Which passages go once the gate has fired."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["discoveries", "select"]

_FALSE_DISCOVERY_RATE = 0.01
_COMPANION_P = 0.05
_COMPANION_SHARE = 0.4  # of the evidence against the most suspicious passage


def discoveries(
    p_values: NDArray[np.float64], rate: float = _FALSE_DISCOVERY_RATE
) -> NDArray[np.bool_]:
    """Mark the discoveries of Benjamini and Hochberg (1995) at a false-discovery rate.

    Args:
        p_values: float64 array of shape (n,).
        rate: Expected share of clean passages among those marked, at most.

    Returns:
        bool array of shape (n,).
    """
    n = len(p_values)
    order = np.argsort(p_values, kind="stable")
    below = np.flatnonzero(p_values[order] <= rate * np.arange(1, n + 1) / n)
    marked = np.zeros(n, dtype=bool)
    if len(below):
        marked[order[: below[-1] + 1]] = True
    return marked


def select(
    p_values: NDArray[np.float64],
    suspicion: NDArray[np.float64],
    isolated: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Mark the passages to drop from a set that the gate found attacked.

    The passages whose own evidence is a discovery go, the most suspicious one in any case. Those
    that isolation puts into one group with a discovery go too if their own evidence at least
    points the same way, and not much more weakly than against the most suspicious one: closeness
    to poison alone is not enough, or benign pages on the question would go with it.

    Args:
        p_values: float64 array of shape (n,): "this passage is clean", per passage.
        suspicion: float64 array of shape (n,): what they are the p-values of, log-odds in nats.
        isolated: bool array of shape (n,): what pair-frequency isolation marks.

    Returns:
        bool array of shape (n,), at least one True.
    """
    found = discoveries(p_values)
    found[int(np.argmin(p_values))] = True
    if (found & isolated).any():
        as_clear = suspicion >= _COMPANION_SHARE * suspicion.max()
        found |= isolated & as_clear & (p_values <= _COMPANION_P)
    return found
