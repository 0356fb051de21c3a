"""Split conformal prediction: the sample of clean traffic that turns a score into a p-value.

    p = (1 + #{calibration scores >= score}) / (1 + n),    P(p <= alpha) <= alpha for clean traffic

Vovk, Gammerman and Shafer (2005), "Algorithmic Learning in a Random World". A query with more
passages than the calibration's had is judged block by block, and p is multiplied by the number of
blocks (Bonferroni).

Queries that only name something (`ragguard.inline.query_form`) and queries that ask are two
classes, each with a sample and a promise of its own (Mondrian conformal prediction: Vovk et al.
2005, section 4.5). Honest pages repeat a name, and what they score for it must not say what a
repeated question may score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf, nextafter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import CalibrationError

Floats = NDArray[np.float64]

CONFIDENCE = 0.9
"""That of the bound on the share of clean queries above a score (`lifted`)."""

MOST_LIFTED = 1.0
"""Nats by which the bound may raise the threshold of a calibration of one's own."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of clean queries and of their passages, each sorted in ascending order.

    `of` gives the sample of one class of queries; the other methods speak of `scores`.

    Attributes:
        scores: float64 array of shape (n,): the set-level nonconformity of n clean queries that
            ask something.
        passage_scores: float64 array of shape (m,): the suspicion of their passages.
        size: How many passages were judged a query, at most.
        with_reference: True if passages below the judged ones were given as reference.
        scorer: Version of the signals and weights that the scores were made with.
        source: Where the traffic came from, in words.
        in_blocks: Whether a query with more passages than `size` is judged block by block. False
            for the shipped sample: the line of a second block would be as far as the few clean
            queries that look most attacked, so that only the passages that rank first are judged.
        naming: The same as `scores`, of queries that only name something.
        passage_naming: The suspicion of their passages.
        confident: Whether `scores` are upper bounds (`lifted`).
        beside: Another sample, of which no p-value may be lower either (`at_least`).
    """

    scores: Floats = field(repr=False)
    passage_scores: Floats = field(repr=False)
    size: int
    with_reference: bool
    scorer: str
    source: str
    in_blocks: bool = True
    naming: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    passage_naming: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    confident: bool = False
    beside: Calibration | None = field(default=None, repr=False)
    _classes: dict[tuple[bool, float], Calibration | None] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        """Check and sort.

        Raises:
            CalibrationError: There are no scores, or of a class scores of queries alone or of
                passages alone; some are not finite, or `size` is below 1.
        """
        if self.size < 1:
            raise CalibrationError(f"a calibration's size must be at least 1, not {self.size}")
        for name in ("scores", "passage_scores", "naming", "passage_naming"):
            values = np.sort(np.asarray(getattr(self, name), dtype=np.float64).ravel())
            if not np.isfinite(values).all():
                raise CalibrationError(f"the {name} of a calibration must be finite; make it anew")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        pairs = ((self.scores, self.passage_scores), (self.naming, self.passage_naming))
        if not self.queries or any(bool(len(one)) != bool(len(other)) for one, other in pairs):
            raise CalibrationError(
                "a calibration needs scores of queries and of their passages; calibrate on traffic "
                "in which queries have passages"
            )

    @classmethod
    def learned(
        cls,
        queries: Iterable[tuple[bool, float, Sequence[float] | Floats]],
        *,
        size: int,
        with_reference: bool,
        scorer: str,
        source: str,
    ) -> Self:
        """Return the calibration of clean queries.

        Of each: whether it only names something, its score, and the suspicions of its passages.

        Raises:
            CalibrationError: There are none.
        """
        scores: tuple[list[float], list[float]] = [], []
        passages: tuple[list[float], list[float]] = [], []
        for naming, score, suspicions in queries:
            scores[naming].append(score)
            passages[naming].extend(suspicions)
        return cls(
            scores=np.array(scores[False]),
            passage_scores=np.array(passages[False]),
            naming=np.array(scores[True]),
            passage_naming=np.array(passages[True]),
            size=size,
            with_reference=with_reference,
            scorer=scorer,
            source=source,
        )

    @property
    def queries(self) -> int:
        """How many queries it has, of both classes."""
        return len(self.scores) + len(self.naming)

    def pooled(self, alpha: float) -> bool:
        """Return True if one sample serves both classes, as neither has enough of its own."""
        return max(len(self.scores), len(self.naming)) < _needed(alpha) <= self.queries

    def of(self, naming: bool, alpha: float) -> Calibration | None:
        """Return the sample of the class that asks, or of that `naming` something.

        None where it has fewer than 1 / alpha - 1 queries; if neither has as many, but both
        together, all queries serve both. The scores are `lifted` to upper bounds where there are
        queries enough for that and it raises the threshold by `MOST_LIFTED` nats at most.
        """
        if (naming, alpha) not in self._classes:
            self._classes[naming, alpha] = self._of(naming, alpha)
        return self._classes[naming, alpha]

    def _of(self, naming: bool, alpha: float) -> Calibration | None:
        scores, passages = self.scores, self.passage_scores
        if self.pooled(alpha):
            scores = np.concatenate([scores, self.naming])
            passages = np.concatenate([passages, self.passage_naming])
        elif naming:
            scores, passages = self.naming, self.passage_naming
        if len(scores) < _needed(alpha):
            return None
        none = np.empty(0)
        sample = replace(
            self, scores=scores, passage_scores=passages, naming=none, passage_naming=none
        )
        return sample if self.confident else sample._bounded(alpha)

    def _bounded(self, alpha: float) -> Calibration:
        n = len(self.scores)
        bounded = replace(self, scores=lifted(self.scores, n), confident=True)
        # Of a smaller sample not even the highest score is certain to have so few above it.
        enough = 1 - (1 - CONFIDENCE) ** (1 / n) <= alpha
        rise = bounded.threshold(alpha, 1) - self.threshold(alpha, 1)
        return bounded if enough and rise <= MOST_LIFTED else self

    def at_least(self, other: Calibration) -> Calibration:
        """Return a sample whose p-values are no lower than its own, nor than those of `other`.

        Past the highest score of the other, which may be the smaller one, its own alone count.
        """
        return replace(self, beside=other)

    def p_value(self, score: float, judged: int) -> float:
        """Return the p-value of "a query of `judged` passages with this score is clean traffic"."""
        at_least = len(self.scores) - int(self.scores.searchsorted(score, side="left"))
        blocks = max(1, ceil(judged / self.size))
        found = min(1.0, blocks * (1 + at_least) / (1 + len(self.scores)))
        if self.beside is None or score > self.beside.scores[-1]:
            return found
        return max(found, self.beside.p_value(score, min(judged, self.beside.size)))

    def shared_p_value(self, suspicion: Floats, shares: Floats, judged: int) -> float:
        """Return the p-value of "this query is clean" where classes share alpha.

        The least over the classes of p(most suspicious passage) / share (`ragguard.trust`); both
        arrays have shape (k,). A class that may spend nothing is no evidence.
        """
        highest: dict[float, float] = {}
        for share, nats in zip(shares.tolist(), suspicion.tolist(), strict=True):
            highest[share] = max(nats, highest.get(share, nats))
        found = [self.p_value(nats, judged) / share for share, nats in highest.items() if share]
        return min([1.0, *found])

    def threshold(self, alpha: float, judged: int) -> float:
        """Return the smallest calibrated score that fires the gate, or infinity if no score does.

        Every score from there on has a `p_value` of `alpha` at most.
        """
        other = -inf
        if self.beside is not None:
            highest = nextafter(float(self.beside.scores[-1]), inf)
            other = min(highest, self.beside.threshold(alpha, min(judged, self.beside.size)))
        blocks = max(1, ceil(judged / self.size))
        return max(other, _least(self.scores, alpha / blocks))

    def reach(self, alpha: float) -> int:
        """Return how many passages of a query may be counted so that `alpha` is still reachable.

        Past so many blocks the gate could never fire: what ranks below is held to the same line.
        """
        if not self.in_blocks:
            return self.size
        return self.size * max(1, floor(alpha * (1 + len(self.scores)) + 1e-9))

    def passage_p_values(self, suspicions: Floats) -> Floats:
        """Return the conformal p-value of "this passage is clean" for every suspicion."""
        m = len(self.passage_scores)
        at_least = m - np.searchsorted(self.passage_scores, suspicions, side="left")
        return np.asarray((1.0 + at_least) / (1.0 + m), dtype=np.float64)

    def passage_threshold(self, alpha: float) -> float:
        """Return the smallest suspicion of a p-value of `alpha` at most; infinity if none has."""
        return _least(self.passage_scores, alpha)

    def require(self, alpha: float) -> None:
        """Check that the sample is large enough for a p-value of `alpha` to exist.

        Raises:
            CalibrationError: Fewer than 1 / alpha - 1 queries.
        """
        needed = _needed(alpha)
        if self.queries < needed:
            raise CalibrationError(
                f"alpha={alpha:g} needs at least {needed:.0f} calibration queries, there are "
                f"{self.queries} ({self.source}); add clean traffic or raise alpha"
            )


def lifted(
    scores: Sequence[float] | Floats, queries: int, confidence: float = CONFIDENCE
) -> Floats:
    """Return scores whose ranks give, in place of p-values, upper bounds of them.

    By p-values at most a share alpha of clean queries is touched in the mean over calibrations; by
    these bounds it is so in at least a share `confidence` of the calibrations (Vovk 2012,
    "Conditional Validity of Inductive Conformal Predictors", by the bound of Clopper and Pearson
    1934).

    Args:
        scores: N scores of clean sets.
        queries: Of how many different queries, all with equally many sets.
        confidence: From 0 to 1.

    Returns:
        float64 array of shape (N,), ascending: values of `scores`, the largest more often.
    """
    from scipy.special import betaincinv  # a tenth of a second that the shipped ones do not need

    ordered = np.sort(scores)[::-1]
    size = len(ordered)
    above = np.arange(1, size + 1) * queries / size
    bound = betaincinv(above + 1, np.maximum(queries - above, 1e-9), confidence)
    # How many of the new scores are to lie at or above each of the old ones.
    rank = np.ceil(bound * (size + 1)).astype(int)
    kept = np.searchsorted(rank, np.arange(1, size + 1), side="right") - 1
    return np.asarray(ordered[np.maximum(kept, 0)][::-1], dtype=np.float64)


def _least(scores: Floats, alpha: float) -> float:
    """Return the smallest number of a p-value of `alpha` at most among ascending scores."""
    above = floor(alpha * (1 + len(scores)) + 1e-9) - 1
    if above < 0:
        return inf
    return nextafter(float(scores[-1 - above]), inf) if above < len(scores) else -inf


def _needed(alpha: float) -> float:
    return float(np.ceil(1 / alpha - 1e-9) - 1)  # numpy's: the smallest alphas need infinitely many
