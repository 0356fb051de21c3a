"""How many sets and passages a score catches, with thresholds from clean sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.plain_tables import FITTED
from benchmarks.set_scores import PASSAGE_SCORES, SET_SCORES

__all__ = [
    "ALPHAS",
    "OURS",
    "SCORES",
    "Limits",
    "Scale",
    "SetScores",
    "auc",
    "counts",
    "passages_of",
    "threshold",
    "wholes_of",
]

Floats = NDArray[np.float64]

OURS = "suspicion"
REGRESSIONS = (f"{FITTED}: vectors", f"{FITTED}: vectors and suspicion")
SCORES = (OURS, *PASSAGE_SCORES, *SET_SCORES, *REGRESSIONS)
"""The scores that are compared: first those that every passage has, then those of whole sets."""

ALPHAS = (0.01, 0.05)
"""Shares of clean sets, or of clean passages, that a score's threshold lets through as attacked."""

_OF_PASSAGES = 1 + len(PASSAGE_SCORES)


@dataclass(frozen=True)
class SetScores:
    """What all scores say of one set.

    Attributes:
        whole: float64 array of shape (len(SCORES),); before the fit, without the fitted ones.
        passages: float64 array of shape (p, k): those scores that passages have, p the first of
            `SCORES`.
        poisoned: bool array of shape (k,).
    """

    whole: Floats
    passages: Floats
    poisoned: NDArray[np.bool_]


def auc(positive: Floats, negative: Floats) -> float:
    """Return the share of pairs in which the positive one scores higher; ties count half.

    Args:
        positive: float64 array of shape (n,), n >= 1.
        negative: float64 array of shape (m,), m >= 1.
    """
    order = np.sort(negative)
    below = np.searchsorted(order, positive, side="left")
    not_above = np.searchsorted(order, positive, side="right")
    return float((below + not_above).mean() / (2 * len(negative)))


def wholes_of(sets: Sequence[SetScores]) -> Floats:
    """Return the scores of sets as a whole: shape (n, s)."""
    return np.array([one.whole for one in sets])


def passages_of(sets: Sequence[SetScores], *, poisoned: bool) -> Floats:
    """Return the scores of all clean, or of all poisoned, passages: shape (n, p)."""
    return np.concatenate([one.passages.T[one.poisoned == poisoned] for one in sets])


@dataclass(frozen=True)
class Scale:
    """Mean and spread of every score over the clean sets of one dataset."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, clean: Sequence[SetScores]) -> Scale:
        """Return the units of clean sets."""
        wholes = wholes_of(clean)
        return cls(wholes.mean(axis=0), wholes.std(axis=0) + 1e-9)

    def __call__(self, wholes: Floats) -> Floats:
        """Return scores of shape (n, s) in these units."""
        return (wholes - self.mean) / self.spread


@dataclass(frozen=True)
class Limits:
    """Thresholds from the clean sets of the choosing half.

    Attributes:
        whole, own, passages: float64 arrays with a row for each of `ALPHAS` and a column a score;
            `own` is for scores in units of the dataset's own clean sets.
        scales: Those units.
    """

    whole: Floats
    own: Floats
    passages: Floats
    scales: Mapping[str, Scale]

    @classmethod
    def of(cls, choosing: Mapping[str, Sequence[SetScores]]) -> Limits:
        """Return the thresholds of clean sets, given by dataset."""
        scales = {name: Scale.of(sets) for name, sets in choosing.items()}
        every = [one for sets in choosing.values() for one in sets]
        return cls(
            _thresholds(wholes_of(every)),
            _thresholds(np.concatenate([scales[n](wholes_of(s)) for n, s in choosing.items()])),
            _thresholds(passages_of(every, poisoned=False)),
            scales,
        )


def _thresholds(values: Floats) -> Floats:
    return np.array([[threshold(column, alpha) for column in values.T] for alpha in ALPHAS])


def counts(
    dataset: str, sets: Sequence[SetScores], limits: Limits, *, poisoned: bool
) -> list[dict[str, Any]]:
    """Return for every score how many sets and passages reach the thresholds."""
    wholes, passages = wholes_of(sets), passages_of(sets, poisoned=poisoned)
    scaled = limits.scales[dataset](wholes)
    rows = []
    for column, score in enumerate(SCORES):
        row: dict[str, Any] = {"score": score, "sets": len(sets)}
        for name, values, found in (("sets", wholes, limits.whole), ("own", scaled, limits.own)):
            for alpha, limit in zip(ALPHAS, found, strict=True):
                row[f"{name}_at_{alpha:.0%}"] = int((values[:, column] >= limit[column]).sum())
        row["passages"] = len(passages) if column < _OF_PASSAGES else 0
        for alpha, limit in zip(ALPHAS, limits.passages, strict=True):
            reached = passages[:, column] >= limit[column] if row["passages"] else np.zeros(0)
            row[f"passages_at_{alpha:.0%}"] = int(reached.sum())
        rows.append(row)
    return rows


def threshold(scores: Floats, alpha: float) -> float:
    """Return what a score must exceed to have a conformal p-value of at most alpha."""
    rank = int(alpha * (len(scores) + 1) + 1e-9)
    if rank < 1:
        return np.inf
    return float(np.nextafter(np.sort(scores)[-rank], np.inf))
