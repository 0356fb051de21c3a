"""Split conformal: the sample of clean traffic that turns a score into a p-value.

    p = (1 + #{calibration scores >= score}) / (1 + n),    P(p <= alpha) <= alpha for clean traffic

Vovk, Gammerman and Shafer (2005), "Algorithmic Learning in a Random World". A query with more
passages than the calibration's had is judged block by block, and p is multiplied by the number of
blocks (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import CalibrationError

__all__ = ["Calibration"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of clean queries and of their passages, both sorted in ascending order.

    Attributes:
        scores: float64 array of shape (n,): the set-level nonconformity of n clean queries.
        passage_scores: float64 array of shape (m,): the suspicion of their passages.
        size: How many passages were judged a query, at most.
        with_reference: True if passages below the judged ones were given as reference.
        scorer: Version of the signals and weights that the scores were made with.
        source: Where the traffic came from, in words.
        in_blocks: Whether a query with more passages than `size` is judged block by block. False
            for the shipped sample: the line of a second block would be as far as the few clean
            queries that look most attacked, so that only the passages that rank first are judged.
    """

    scores: Floats = field(repr=False)
    passage_scores: Floats = field(repr=False)
    size: int
    with_reference: bool
    scorer: str
    source: str
    in_blocks: bool = True

    def __post_init__(self) -> None:
        """Check and sort.

        Raises:
            CalibrationError: There are no scores, some are not finite, or `size` is below 1.
        """
        if self.size < 1:
            raise CalibrationError(f"a calibration's size must be at least 1, not {self.size}")
        for name in ("scores", "passage_scores"):
            values = np.sort(np.asarray(getattr(self, name), dtype=np.float64).ravel())
            if not len(values) or not np.isfinite(values).all():
                raise CalibrationError(
                    f"a calibration needs finite {name}, at least one; calibrate on traffic in "
                    "which queries have passages"
                )
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def p_value(self, score: float, judged: int) -> float:
        """Return the conformal p-value of "a query with this score is clean traffic".

        For a clean query exchangeable with the calibration's, P(p <= alpha) <= alpha (Vovk et al.,
        2005; split conformal). A query with more passages than the calibration's had is judged
        block by block, so its p-value is multiplied by the number of blocks (Bonferroni).

        Args:
            score: Set-level nonconformity of the query.
            judged: How many of its passages were judged.
        """
        at_least = len(self.scores) - int(self.scores.searchsorted(score, side="left"))
        blocks = max(1, ceil(judged / self.size))
        return min(1.0, blocks * (1 + at_least) / (1 + len(self.scores)))

    def threshold(self, alpha: float, judged: int) -> float:
        """Return the smallest calibrated score that fires the gate, or infinity if no score does.

        Every score from there on has a `p_value` of `alpha` at most.
        """
        blocks = max(1, ceil(judged / self.size))
        above = floor(alpha * (1 + len(self.scores)) / blocks + 1e-9) - 1
        if above < 0:
            return float("inf")
        if above >= len(self.scores):
            return float("-inf")
        return float(np.nextafter(self.scores[-1 - above], np.inf))

    def reach(self, alpha: float) -> int:
        """Return how many passages of a query can be judged so that `alpha` is still reachable.

        Every block of `size` passages beyond the first multiplies the smallest p-value; past this
        many the gate could never fire.
        """
        if not self.in_blocks:
            return self.size
        return self.size * max(1, floor(alpha * (1 + len(self.scores)) + 1e-9))

    def passage_p_values(self, suspicions: Floats) -> Floats:
        """Return the conformal p-value of "this passage is clean" for every suspicion."""
        m = len(self.passage_scores)
        at_least = m - np.searchsorted(self.passage_scores, suspicions, side="left")
        return np.asarray((1.0 + at_least) / (1.0 + m), dtype=np.float64)

    def require(self, alpha: float) -> None:
        """Check that the sample is large enough for a p-value of `alpha` to exist.

        Raises:
            CalibrationError: Fewer than 1 / alpha - 1 queries.
        """
        needed = np.ceil(1 / alpha - 1e-9) - 1  # numpy's: the smallest alphas need infinitely many
        if len(self.scores) < needed:
            raise CalibrationError(
                f"alpha={alpha:g} needs at least {needed:.0f} calibration queries, there are "
                f"{len(self.scores)} ({self.source}); add clean traffic or raise alpha"
            )
