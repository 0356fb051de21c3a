"""How the signals add up: one suspicion a passage, one nonconformity score a retrieved set.

    suspicion = max over detectors d of (bias_d + sum over signals s of weight_ds s),    in nats

The union-intersection test of Roy (1953): a passage can carry a question in several ways, and in
one sum over all of them what is common in one way would drown what is telling in another. So each
way has its detector, a logistic regression over few signals, manner among them, which hardly
depends on the way (naive Bayes). The weights are in `detectors.json`, with the command that fits
them; two detectors are set by hand, since the data holds no passage that addresses the model and no
gibberish that was optimised.

Where honest pages are to be expected to repeat the query (`ragguard.inline.page_form`), the
detectors of a way say `EXPECTED` nats less.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features import SIGNALS
from ragguard.inline.page_form import LEAST, USUAL

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Detector:
    """A weighted sum of signals.

    Attributes:
        bias: What it says of a passage without any of its signals.
        weights: Weight of every signal, never below 0: no signal speaks for a passage.
    """

    bias: float
    weights: Mapping[str, float]


_FILES = resources.files("ragguard.inline")
_DATA = json.loads((_FILES / "detectors.json").read_text(encoding="utf-8"))
_HASHED = ("fitted", "by_hand", "expected")
SCORER = blake2b(
    json.dumps([SIGNALS, USUAL, LEAST, *[_DATA[one] for one in _HASHED]]).encode()
    + b"".join((_FILES / name).read_bytes() for name in ("word_classes.npz", "manner.npz")),
    digest_size=8,
).hexdigest()
"""A hash of the signals' names, of all that is fitted, and of what is usual: a calibration holds
for the scorer that it was made with."""

BY_HAND: Mapping[str, Detector] = {name: Detector(**one) for name, one in _DATA["by_hand"].items()}
DETECTORS: Mapping[str, Detector] = {
    **{name: Detector(**one) for name, one in _DATA["fitted"].items()},
    **BY_HAND,
}

EXPECTED: float = _DATA["expected"]["nats"]
"""How much less repetition says where honest pages repeat the query, in nats; chosen by hand from
what `benchmarks.query_forms` counts on the choosing half."""


class Scorer:
    """Detectors laid out for whole arrays; each must have at least one weight.

    Attributes:
        columns: int array of shape (t,): the signal of every weight, detector by detector.
        weights: float64 array of shape (t,).
        owner: int array of shape (t,): the detector of every weight.
        starts: int array of shape (d,): where the weights of each detector begin.
        biases: float64 array of shape (d,).
    """

    def __init__(self, detectors: Mapping[str, Detector]) -> None:
        each = list(detectors.values())
        counts = [len(one.weights) for one in each]
        self.columns = np.array([SIGNALS.index(name) for one in each for name in one.weights])
        self.weights = np.array([weight for one in each for weight in one.weights.values()])
        self.owner = np.repeat(np.arange(len(each)), counts)
        self.starts = np.cumsum([0, *counts[:-1]])
        self.biases = np.array([one.bias for one in each])

    def scores(self, signals: Floats) -> Floats:
        """Return what every detector says of every passage: float64 of shape (k, d)."""
        weighted = signals[:, self.columns] * self.weights
        # Not a product of matrices, whose last digits depend on the machine.
        summed: Floats = np.add.reduceat(weighted, self.starts, axis=1) + self.biases
        return summed

    def suspicions(self, signals: Floats) -> Floats:
        """Return what the most suspicious detector says: float64 of shape (k,)."""
        highest: Floats = self.scores(signals).max(axis=1)
        return highest


_SHIPPED = Scorer(DETECTORS)
_WAYS = sum([name not in BY_HAND and name != "manner" for name in DETECTORS])
_IS_WAY = np.arange(len(DETECTORS)) < _WAYS  # they are the first
_REPETITION = SIGNALS.index("gibberish")  # signals, the first, are those of the ways
NOTHING = float(_SHIPPED.biases.max())
"""What a passage without any signal gets, in nats."""


def repeating(signals: Floats) -> list[int]:
    """Return the rows of the passages that repeat something of the query, in any way.

    None where that makes no passage more suspicious than it is by the other detectors: then it does
    not matter what honest pages repeat, as of most sets.
    """
    hit = signals[:, :_REPETITION].any(axis=1)
    if hit.any():
        scores = _SHIPPED.scores(signals)
        hit &= (scores[:, :_WAYS].max(axis=1) >= scores[:, _WAYS:].max(axis=1)).any()
    rows: list[int] = np.flatnonzero(hit).tolist()
    return rows


def suspicions(
    signals: Floats, expected: NDArray[np.bool_] | None = None, *, nats: float = EXPECTED
) -> Floats:
    """Return the suspicion of every passage: what its most suspicious detector says.

    In nats: the log-odds that the passage is poison of the kind that the detector is for, raised or
    lowered by how much of the clean queries that may be touched is spent on that detector.

    Args:
        signals: float64 array of shape (k, len(SIGNALS)).
        expected: bool array of shape (k,), of `page_form.repeats_as_expected`.
        nats: How much less the repetition of such passages says.

    Returns:
        float64 array of shape (k,).
    """
    if not np.count_nonzero(signals):
        return np.full(len(signals), NOTHING)
    highest: Floats = _scores(signals, expected, nats).max(axis=1)
    return highest


def contributions(signals: Floats, expected: NDArray[np.bool_] | None = None) -> Floats:
    """Return what each signal adds to each suspicion: float64 of the shape of `signals`.

    Only the weights of the most suspicious detector count; rows sum to the suspicion less its bias.
    """
    chosen = _scores(signals, expected).argmax(axis=1)
    added = np.zeros_like(signals)
    for row, detector in enumerate(chosen.tolist()):
        of = _SHIPPED.owner == detector
        columns = _SHIPPED.columns[of]
        added[row, columns] = signals[row, columns] * _SHIPPED.weights[of]
    return added


def _scores(signals: Floats, expected: NDArray[np.bool_] | None, nats: float = EXPECTED) -> Floats:
    scores = _SHIPPED.scores(signals)
    return scores if expected is None else scores - nats * (expected[:, np.newaxis] & _IS_WAY)


def nonconformity(suspicion: Floats) -> float:
    """Return the score of a set of at least one passage: that of its most suspicious one."""
    return float(max(suspicion.tolist()))
