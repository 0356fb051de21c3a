"""The offsets: how much of the clean queries that may be touched is spent on each detector."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.reading import WRITTEN
from benchmarks.fitting.samples import Samples
from ragguard.inline.scoring import BY_HAND, Detector

Floats = NDArray[np.float64]

ALPHA = 0.01
"""Share of the clean queries that may be touched."""

_LEFT = 0.005  # of ALPHA, what the shipped calibration leaves once it is lifted: 4 of 818
# Added to what is chosen, in nats. The published attack, and the question's words in front or among
# others, are to pass no closer to the line than a calibration may raise it, and so is manner, as
# far as it can. Recall hardly tells these apart: with them the shipped gate finds 95 % of the
# reference attacks.
_HEAD_START = {"verbatim": 3.75, "keywords": 1.25, "inserted_words": 2.25, "manner": 1.0}
# Behind its head start: with more the published attack passes at the line for 50 passages.
_MOST_MANNER = 0.5
_STEPS = np.arange(-6.0, 6.01, 0.25)
_ROUNDS = 6
_STARTS = 12
# Of an offset of 1, in recall.
_PRICE = 0.0016
_WRITTEN = 1.5  # of a share of `WRITTEN` touched above ALPHA, in recall
# Of a form for the offsets: the published attack first, then what its author would try next, which
# includes to leave the question out.
_IMPORTANCE = {("prepend", 1): 40.0, ("prepend", 5): 20.0, ("plain", 5): 6.0, ("plain", 1): 6.0} | {
    (form, count): 4.0 for form in ("shuffled", "keywords", "spread") for count in (1, 5)
}


class Recalls:
    """What is detected if at most a share `alpha` of the clean sets of each setting may be."""

    def __init__(self, found: Samples, alpha: float = ALPHA) -> None:
        self._clean = np.array([sample.form == "clean" for sample in found.found])
        self._alpha = alpha
        self._settings = _groups([sample.setting for sample in found.found])
        self._attacks = _groups([(sample.form, sample.count) for sample in found.found])

    def of(self, scores: Floats) -> dict[tuple[str, int], float]:
        """Return the share of sets detected by form and count, which is 0 for clean ones."""
        hit = np.zeros(len(scores), dtype=bool)
        for here in self._settings.values():
            clean = np.sort(scores[here & self._clean])
            # As the gate counts: the query itself is one of those that may be touched.
            allowed = max(0, int(self._alpha * (len(clean) + 1)) - 1)
            hit[here] = scores[here] > clean[-allowed - 1]
        return {key: float(hit[here].mean()) for key, here in self._attacks.items()}


def _groups(keys: Sequence[Any]) -> dict[Any, NDArray[np.bool_]]:
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([numbers[key] for key in keys])
    return {key: codes == number for key, number in numbers.items()}


def offsets(
    found: Samples, scores: Mapping[str, Floats], biases: Mapping[str, float]
) -> dict[str, float]:
    """Choose how far each detector is raised or lowered, by coordinate ascent on the recall.

    No way of carrying the question says more of a passage that shows nothing of it than manner, and
    what has a head start keeps it. It is the best of `_STARTS` ascents from random starts, on the
    sets' cross-fitted scores by every detector, and its bias before it is raised or lowered.
    """
    recalls = Recalls(found, _LEFT)
    names = tuple(scores)
    ahead = {name: bias + _HEAD_START.get(name, 0.0) for name, bias in biases.items()}

    def allowed(tried: Mapping[str, float]) -> dict[str, float]:
        """Return the shifts with no head start lost, and no bias above that of manner."""
        shift = {
            name: max(tried[name], 0.0) if name in _HEAD_START else tried[name] for name in names
        }
        if "manner" not in names:
            return shift
        shift["manner"] = min(shift["manner"], _MOST_MANNER)
        most = ahead["manner"] + shift["manner"]
        return {name: min(shift[name], most - ahead[name]) for name in names}

    def worth(tried: Mapping[str, float]) -> float:
        shift = allowed(tried)
        highest = np.max(
            [scores[name] + shift[name] + _HEAD_START.get(name, 0.0) for name in names], axis=0
        )
        shares = recalls.of(highest)
        weigh = {key: _IMPORTANCE.get(key, 1.0) for key in shares if key[1]}
        gained = sum(w * shares[key] for key, w in weigh.items()) / sum(weigh.values())
        gained -= _WRITTEN * max(0.0, shares.get((WRITTEN, 0), 0.0) - ALPHA)
        # Of offsets that are worth the same the smaller ones.
        return gained - _PRICE * sum(map(abs, shift.values()))

    draws = np.random.default_rng(0).uniform(-2.0, 2.0, (_STARTS - 1, len(names))).tolist()
    starts = [[0.0] * len(names), *draws]
    ascents = [_ascent(worth, dict(zip(names, start, strict=True))) for start in starts]
    chosen = allowed(max(ascents, key=lambda ascent: ascent[0])[1])
    return {name: shift + _HEAD_START.get(name, 0.0) for name, shift in chosen.items()}


def _ascent(
    worth: Callable[[Mapping[str, float]], float], start: dict[str, float]
) -> tuple[float, dict[str, float]]:
    best, chosen = worth(start), start
    for _ in range(_ROUNDS):
        before = best
        for name in chosen:
            for step in _STEPS.tolist():
                tried = chosen | {name: step}
                if (value := worth(tried)) > best + 1e-4:
                    best, chosen = value, tried
        if best <= before:
            break
    return best, chosen


def shifted(detectors: Mapping[str, Detector], shift: Mapping[str, float]) -> dict[str, Detector]:
    """Return the detectors with their offsets, and those that are set by hand."""
    moved = {
        name: Detector(detector.bias + shift[name], detector.weights)
        for name, detector in detectors.items()
    }
    return moved | dict(BY_HAND)
