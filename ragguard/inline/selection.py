"""Which passages go once the gate has fired: three rules, each of which marks more.

1. The discoveries at a false-discovery rate q = 0.01, at least the most suspicious passage:

       the i passages with the least p-values,    i = max {i : p_(i) <= q i / n}

   (Benjamini and Hochberg 1995), and whatever would fire the gate by itself.
2. What says the same as these (`alike`; ours).
3. Their `companions` (ours), if RAGDefender's isolation puts them into one group.

Of n passages are given `p_values` of "this passage is clean" and `suspicion`, what they are the
p-values of, in nats, both float64 of shape (n,). What goes is marked in bool arrays of shape (n,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features.concentration import cosine

_FALSE_DISCOVERY_RATE = 0.01  # that of the gate, by default
_COMPANION_P = 0.05  # as unusual as what is marked, by default
_COMPANION_SHARE = 0.4  # of the evidence against the most suspicious passage
_LIKENESS = 8.5  # nats for a cosine of 1 of what two passages say besides the question
_ALIKE = 0.4  # cosine from which on likeness says no more
_ENOUGH = 5.8  # nats that there must be in all: the line of the shipped calibration for k = 5
_COMPARED = 20  # of those that go, the most suspicious, so that the work grows with the set alone


@dataclass(frozen=True)
class Selection:
    """What goes from an attacked set.

    Attributes:
        found: The discoveries.
        going: What goes by words alone, these among them.
        joining: The `companions` among the others, which isolation decides on.
    """

    found: NDArray[np.bool_]
    going: NDArray[np.bool_]
    joining: NDArray[np.bool_]

    def with_isolated(self, isolated: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return what goes, with the companions that are in one group with a discovery."""
        together = bool((self.found & isolated).any())
        return self.going | (self.joining & isolated) if together else self.going


def select(
    p_values: NDArray[np.float64],
    suspicion: NDArray[np.float64],
    lines: NDArray[np.float64],
    unusual: NDArray[np.float64],
    words: Callable[[int], frozenset[str]],
) -> Selection:
    """Choose what goes by words, and what may go with it.

    `lines` are the suspicions from which on each passage would fire the gate, `unusual` those of
    which its own p-value is alpha at most, both float64 of shape (n,): the gate of a large set
    asks for more, as one of many passages is unusual by chance. `words` gives the content words of
    a passage by its row, without the question's.
    """
    found = rejected(p_values)
    going = found | (suspicion >= lines)
    going |= alike(suspicion, going, np.minimum(lines, unusual), words)
    return Selection(found, going, companions(p_values, suspicion, found) & ~going)


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
    suspicion: NDArray[np.float64],
    found: NDArray[np.bool_],
    lines: NDArray[np.float64],
    words: Callable[[int], frozenset[str]],
) -> NDArray[np.bool_]:
    """Mark the passages that go because they say what those say that go, besides the question.

        suspicion_i + 8.5 (c_1 + c_2 / 2 + c_3 / 4 + ...) >= max(line_i, 5.8)

    with c the cosines of W_i and the W of those that go, each 0.4 at most, the highest first; then
    anew, since what says the same as these goes as well. Texts that are planted for one question
    say one thing: likeness adds to the evidence of a passage, which is log-odds. It does not
    suffice by itself, or decoys that copy a good page would take it along, and one decoy says half
    of what many do.

    `found` goes by itself, and is not marked again; `lines` are the suspicions that each passage
    needs, float64 of shape (n,), here at least the line of the shipped calibration. `words` gives
    W, the content words of a passage by its row, without the question's.
    """
    needs = np.maximum(lines, _ENOUGH) - suspicion
    near = (needs < 2 * _LIKENESS * _ALIKE) & ~found
    cosines: dict[int, list[float]] = {row: [] for row in np.flatnonzero(near).tolist()}
    clearest = np.argsort(-np.where(found, suspicion, -np.inf), kind="stable")
    fresh: list[int] = clearest[: min(found.sum(), _COMPARED)].tolist()
    room = _COMPARED - len(fresh)
    said = cache(words)
    marked = np.zeros(len(suspicion), dtype=bool)
    while fresh and cosines:
        gone = [said(row) for row in fresh]
        for row, known in cosines.items():
            known += [min(cosine(said(row), one), _ALIKE) for one in gone]
            known.sort(reverse=True)
        fresh = [row for row, known in cosines.items() if _likeness(known) >= needs[row]]
        marked[fresh] = True
        for row in fresh:
            del cosines[row]
        fresh, room = fresh[:room], room - len(fresh[:room])
    return marked


def _likeness(cosines: Sequence[float]) -> float:
    """Return what likeness to others that go says, in nats; `cosines` are the highest first."""
    return _LIKENESS * sum([one * 0.5**place for place, one in enumerate(cosines)])


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
