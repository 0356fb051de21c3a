"""What clean traffic scores: the sample that turns a score into a conformal p-value."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import CalibrationError

__all__ = [
    "Calibration",
    "default_calibration",
    "gate_threshold",
    "load_calibration",
    "save_calibration",
]

Floats = NDArray[np.float64]

_FORMAT = 1


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
        at_least = len(self.scores) - int(np.searchsorted(self.scores, score, side="left"))
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


def gate_threshold(
    calibration: Calibration | None, alpha: float, count: int, k: int | None = None
) -> float:
    """Return the suspicion at which the gate fires for a retrieved set.

    Args:
        calibration: None means the shipped one.
        alpha: Share of clean queries that may be touched.
        count: How many passages were retrieved, at least one.
        k: How many of them are wanted; None means all.
    """
    judged = min(k or count, count)
    sample = calibration or default_calibration(judged, with_reference=count > judged)
    return sample.threshold(alpha, min(judged, sample.reach(alpha)))


def save_calibration(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write a calibration as JSON.

    Raises:
        CalibrationError: The file cannot be written.
    """
    data = {
        "format": _FORMAT,
        "size": calibration.size,
        "with_reference": calibration.with_reference,
        "scorer": calibration.scorer,
        "source": calibration.source,
        # Every digit: a query that comes back must tie with its own score, not fall beside it.
        "scores": calibration.scores.tolist(),
        "passage_scores": calibration.passage_scores.tolist(),
    }
    try:
        Path(path).write_text(json.dumps(data) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CalibrationError(f"cannot write the calibration to {path}: {error}") from error


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read what `save_calibration` wrote.

    Raises:
        CalibrationError: The file is missing, damaged, or of a format this version cannot read.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CalibrationError(
            f"cannot read the calibration {path}: {error}; make one with "
            "`ragguard calibrate`, or with save_calibration of a calibrated Guard"
        ) from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise CalibrationError(f"{path} is no calibration of format {_FORMAT}; calibrate anew")
    return _from_json(data, str(path))


def _from_json(data: dict[str, Any], where: str) -> Calibration:
    try:
        return Calibration(
            scores=np.array(data["scores"], dtype=np.float64),
            passage_scores=np.array(data["passage_scores"], dtype=np.float64),
            size=int(data["size"]),
            with_reference=bool(data["with_reference"]),
            scorer=str(data["scorer"]),
            source=str(data["source"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CalibrationError(f"{where} is damaged ({error!r}); calibrate anew") from error


@cache
def _shipped() -> tuple[Calibration, ...]:
    file = resources.files("ragguard.inline") / "default_calibration.json"
    entries = json.loads(file.read_text(encoding="utf-8"))
    read = (_from_json(entry, "the shipped calibration") for entry in entries)
    return tuple(replace(entry, in_blocks=False) for entry in read)


def default_calibration(judged: int, *, with_reference: bool) -> Calibration:
    """Return the shipped calibration for a query with `judged` passages.

    The smallest calibrated size that is not below `judged`, else the largest.
    """
    fitting = _shipped_by_size(with_reference)
    return next((entry for entry in fitting if entry.size >= judged), fitting[-1])


@cache
def _shipped_by_size(with_reference: bool) -> tuple[Calibration, ...]:
    fitting = [entry for entry in _shipped() if entry.with_reference == with_reference]
    return tuple(sorted(fitting, key=lambda entry: entry.size))
