"""Fits the detectors of `ragguard.inline`: `python -m benchmarks.fit_suspicion --data DIR`.

Each detector is a logistic regression of "this passage is poison" on one or two signals, over the
choosing half of the data: clean sets, and attacks in the forms that the detector is for. No weight
is below zero: no signal may speak for a passage. A way of carrying the question, and how a passage
is written, hardly depend on each other in clean traffic, so their log-odds add up (naive Bayes):
each detector of a way is given the weight of manner as well.

The scores are then put on the scale of clean traffic by offsets: how much of the clean queries that
may be touched is spent on each detector. They are chosen on scores that are cross-fitted over the
folds of the choosing half.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from rich.console import Console
from scipy.optimize import Bounds, differential_evolution

from benchmarks.command import ERRORS, Data, script, tracked
from benchmarks.datasets import WRITTEN, load_file, load_with_reading
from benchmarks.embedders import EMBEDDERS, embedder_of
from benchmarks.fit_manner import fit_folds, logistic
from benchmarks.samples import ALPHA, PLANS, Bools, Floats, Plan, Samples, samples
from ragguard.inline.scoring import BY_HAND, Detector

_REGRESSION = {"ridge": 3e-5, "penalty": 1e-4, "maxiter": 2000, "ftol": 1e-12, "gtol": 1e-8}
_LEAST_WEIGHT = 0.25  # nats

_LEFT = 0.005  # of ALPHA, what the shipped calibration leaves once it is lifted: 4 of 818
# Added to what is chosen, in nats. The published attack, and the question's words in front or among
# others, are to pass no closer to the line than a calibration may raise it, and so is manner, as
# far as it can. Recall hardly tells these apart: with them the shipped gate finds 95 % of the
# reference attacks.
_HEAD_START = {"verbatim": 3.75, "keywords": 1.25, "inserted_words": 2.25, "manner": 1.0}
# Behind its head start: with more the published attack passes at the line for 50 passages.
_MOST_MANNER = 0.5
_STEP, _MOST_STEPS = 0.25, 24  # nats, either way
_PRICE = 0.0016  # of an offset of 1, in recall
_WRITTEN = 1.5  # of a share of `WRITTEN` touched above ALPHA, in recall
# Of a form for the offsets: the published attack first, then what its author would try next, which
# includes to leave the question out.
_IMPORTANCE = {("prepend", 1): 40.0, ("prepend", 5): 20.0, ("plain", 5): 6.0, ("plain", 1): 6.0} | {
    (form, count): 4.0 for form in ("shuffled", "keywords", "spread") for count in (1, 5)
}


def score(detector: Detector, found: Samples) -> Floats:
    """Return what a detector says of n passages: float64 of shape (n,)."""
    columns = [found.names.index(name) for name in detector.weights]
    total: Floats = found.signals[:, columns] @ [*detector.weights.values()] + detector.bias
    return total


@cache
def fit_detector(plan: Plan, found: Samples) -> Detector:
    """Fit the log-odds, in nats, of poison in the plan's forms; signals that add little go."""
    weight = found.weights(plan)
    used = weight > 0
    columns = [found.names.index(name) for name in plan.signals]
    signals, poisoned = found.signals[used][:, columns], found.poisoned[used].astype(np.float64)
    bias, weights = logistic(signals, poisoned, weight[used], **_REGRESSION)
    fitted = dict(zip(plan.signals, weights.tolist(), strict=True))
    kept = {name: weight for name, weight in fitted.items() if weight > _LEAST_WEIGHT}
    return Detector(bias, kept or {plan.signals[0]: _LEAST_WEIGHT})


def fit_detectors(found: Samples, plans: Mapping[str, Plan] = PLANS) -> dict[str, Detector]:
    """Fit all detectors, each way of carrying the question together with manner."""
    return with_manner({name: fit_detector(plan, found) for name, plan in plans.items()})


def with_manner(fitted: Mapping[str, Detector]) -> dict[str, Detector]:
    """Return detectors with what manner says by itself added to those of the ways."""
    added = fitted["manner"].weights if "manner" in fitted else {}
    return {name: replace(one, weights={**one.weights, **added}) for name, one in fitted.items()}


def cross_scores(found: Samples, plans: Mapping[str, Plan] = PLANS) -> dict[str, Floats]:
    """Return for every detector the sets' scores by weights fitted on the other folds."""
    scores = {name: np.empty(len(found.found)) for name in plans}
    for fold in np.unique(found.folds).tolist():
        here = found.folds == fold
        own = found.where(here)
        for name, detector in fit_detectors(found.without(fold), plans).items():
            scores[name][here] = own.highest(score(detector, own))
    return scores


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


def _groups(keys: Sequence[Any]) -> dict[Any, Bools]:
    return {key: np.array([one == key for one in keys]) for key in dict.fromkeys(keys)}


def offsets(
    found: Samples, scores: Mapping[str, Floats], biases: Mapping[str, float]
) -> dict[str, float]:
    """Choose how far each detector is moved (differential evolution, Storn and Price 1997)."""
    recalls = Recalls(found, _LEFT)
    head_start = {name: _HEAD_START.get(name, 0.0) for name in scores}
    ahead = {name: bias + head_start[name] for name, bias in biases.items()}

    def allowed(steps: Floats) -> dict[str, float]:
        """Return the shifts with no head start lost, and no bias above that of manner."""
        tried = zip(scores, (_STEP * steps).tolist(), strict=True)
        shift = {name: max(by, 0.0) if name in _HEAD_START else by for name, by in tried}
        if "manner" not in shift:
            return shift
        shift["manner"] = min(shift["manner"], _MOST_MANNER)
        most = ahead["manner"] + shift["manner"]
        return {name: min(step, most - ahead[name]) for name, step in shift.items()}

    def loss(steps: Floats) -> float:
        shift = allowed(steps)
        shares = recalls.of(
            np.max([scores[name] + shift[name] + head_start[name] for name in scores], axis=0)
        )
        weigh = {key: _IMPORTANCE.get(key, 1.0) for key in shares if key[1]}
        gained = sum(w * shares[key] for key, w in weigh.items()) / sum(weigh.values())
        gained -= _WRITTEN * max(0.0, shares.get((WRITTEN, 0), 0.0) - ALPHA)
        # Of offsets that are worth the same the smaller ones.
        return _PRICE * sum(map(abs, shift.values())) - gained

    unmoved, most = np.zeros(len(scores)), np.full(len(scores), _MOST_STEPS)
    best = differential_evolution(
        loss, Bounds(-most, most), x0=unmoved, integrality=unmoved == 0, seed=0, polish=False
    )
    return {name: shift + head_start[name] for name, shift in allowed(best.x).items()}


def shifted(detectors: Mapping[str, Detector], shift: Mapping[str, float]) -> dict[str, Detector]:
    """Return the detectors with their offsets, and those that are set by hand."""
    moved = {name: replace(one, bias=one.bias + shift[name]) for name, one in detectors.items()}
    return moved | dict(BY_HAND)


def as_json(detectors: Mapping[str, Detector]) -> str:
    """Return the detectors as they stand under "fitted" in `ragguard/inline/detectors.json`."""
    fitted = {}
    for name, one in detectors.items():
        if name not in BY_HAND:
            weights = sorted(one.weights.items(), key=lambda item: -item[1])
            rounded = {signal: round(weight, 2) for signal, weight in weights}
            fitted[name] = {"bias": round(one.bias, 2), "weights": rounded}
    return json.dumps(fitted, indent=2)


@script
def main(data: Data) -> None:
    """Fit and print the detectors as JSON, and what they detect when cross-fitted."""
    datasets = load_with_reading(data)
    if (written := data / f"{WRITTEN}.jsonl").is_file():
        datasets.append(load_file(written))
    drawn = samples(datasets, list(map(embedder_of, EMBEDDERS)), fit_folds(data, datasets))
    found = Samples(list(tracked(drawn, "signals")))
    scores = cross_scores(found)
    detectors = fit_detectors(found)
    shift = offsets(found, scores, {name: one.bias for name, one in detectors.items()})
    highest = np.max([scores[name] + shift[name] for name in scores], axis=0)
    for (form, count), share in Recalls(found).of(highest).items():
        ERRORS.print(f"{form:10} planted {count}: {share:.1%}")
    ERRORS.print(f"offsets: {shift}")
    Console(width=200).print(as_json(shifted(detectors, shift)), markup=False, highlight=False)
