"""Which passages go once the gate has fired, at a false-discovery rate q.

    the i passages with the least p-values,    i = max {i : p_(i) <= q i / n}

(Benjamini and Hochberg 1995), and what is `alike` or their `companions` in RAGDefender's isolation.

Of n passages are given `p_values` of "this passage is clean" and `suspicion`, what they are the
p-values of, in nats, both float64 of shape (n,). What goes is marked in bool arrays of shape (n,).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features.concentration import cosine

_FALSE_DISCOVERY_RATE = 0.01
_COMPANION_P = 0.05
_COMPANION_SHARE = 0.4  # of the evidence against the most suspicious passage
_LIKENESS = 12.0  # nats for a cosine of 1 of what two passages say besides the question
_ALIKE = 0.3  # cosine from which on likeness says no more
_ENOUGH = 5.8  # nats that there must be in all: the line of the shipped calibration for k = 5
_COMPARED = 20  # of those that go, the most suspicious, so that the work grows with the set alone


def discoveries(
    p_values: NDArray[np.float64], rate: float = _FALSE_DISCOVERY_RATE
) -> NDArray[np.bool_]:
    """Mark the discoveries at a false-discovery rate: so many are clean, in mean at most."""
    n = len(p_values)
    order = np.argsort(p_values, kind="stable")
    below = np.flatnonzero(p_values[order] <= rate * np.arange(1, n + 1) / n)
    marked = np.zeros(n, dtype=bool)
    if len(below):
        marked[order[: below[-1] + 1]] = True
    return marked


def rejected(p_values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the passages whose own evidence is a discovery, the most suspicious one in any case."""
    found = discoveries(p_values)
    found[int(np.argmin(p_values))] = True
    return found


def alike(
    p_values: NDArray[np.float64],
    suspicion: NDArray[np.float64],
    found: NDArray[np.bool_],
    line: float,
    words: Callable[[int], frozenset[str]],
) -> NDArray[np.bool_]:
    """Mark the passages that go because they say what a found one says besides the question.

        suspicion_i + 12 min(max over found j of cosine(W_i, W_j), 0.3) >= max(line, 5.8)

    Texts that are planted for one question say one thing: likeness adds to the evidence of a
    passage, which is log-odds. It does not suffice by itself, or a decoy that copies a good page
    would take it along.

    `found` goes by itself, and is not marked again; `line` is the suspicion from which on a passage
    does, here at least that of the shipped calibration. `words` gives W, the content words of a
    passage by its row, without the question's.
    """
    line = max(line, _ENOUGH)
    near: NDArray[np.bool_] = (suspicion >= line - _LIKENESS * _ALIKE) & ~found
    near &= p_values <= _COMPANION_P
    if not near.any():
        return near
    clearest = np.argsort(-np.where(found, suspicion, -np.inf), kind="stable")[:_COMPARED]
    gone = [words(row) for row in clearest[found[clearest]].tolist()]
    for row in np.flatnonzero(near).tolist():
        own = words(row)
        likeness = max([cosine(own, one) for one in gone], default=0.0)
        near[row] = suspicion[row] + _LIKENESS * min(likeness, _ALIKE) >= line
    return near


def companions(
    p_values: NDArray[np.float64], suspicion: NDArray[np.float64], found: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark the passages that go too if isolation puts them into one group with a found one.

    Their own evidence must point the same way, not much more weakly than against the most
    suspicious one, or benign pages on the question would go with poison. What is `found` is not
    marked again.
    """
    as_clear = suspicion >= _COMPANION_SHARE * suspicion.max()
    joining: NDArray[np.bool_] = as_clear & (p_values <= _COMPANION_P) & ~found
    return joining


def select(
    p_values: NDArray[np.float64], suspicion: NDArray[np.float64], isolated: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark the passages to drop from a set that the gate found attacked.

    Those that are `rejected`, and their `companions` that pair-frequency isolation marks, if it
    marks at least one of the former.
    """
    found = rejected(p_values)
    if (found & isolated).any():
        found |= isolated & companions(p_values, suspicion, found)
    return found
