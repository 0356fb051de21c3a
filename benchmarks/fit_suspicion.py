"""Fits the detectors of `ragguard.inline`: `python -m benchmarks.fit_suspicion --data DIR`.

Each detector is a logistic regression of "this passage is poison" on one or two signals, over the
choosing half of the data: clean sets, and attacks in the forms that the detector is for. No weight
is below zero: no signal may speak for a passage. Its score is then put on the scale of clean
traffic, so that detectors can be compared, and raised or lowered by an offset: how much of the
clean queries that may be touched is spent on it. The offsets are chosen on scores that are
cross-fitted over `FOLDS` parts of the choosing half.
"""

import json
from collections.abc import Mapping

import numpy as np
from rich.console import Console

from benchmarks.command import ERRORS, Data, script, tracked
from benchmarks.datasets.reading import load_choosing
from benchmarks.embedders import EMBEDDERS
from benchmarks.fit_manner import fit_folds
from benchmarks.fitting.detectors import cross_scores, fit_detectors
from benchmarks.fitting.offsets import Recalls, offsets, shifted
from benchmarks.fitting.samples import Samples, samples
from benchmarks.measuring import embedder_of
from ragguard.inline.scoring import BY_HAND, Detector


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
    datasets = load_choosing(data)
    embedders = list(map(embedder_of, EMBEDDERS))
    drawn = samples(datasets, embedders, fit_folds(data, datasets))
    found = Samples(list(tracked(drawn, "signals")))
    scores = cross_scores(found)
    detectors = fit_detectors(found)
    shift = offsets(found, scores, {name: one.bias for name, one in detectors.items()})
    highest = np.max([scores[name] + shift[name] for name in scores], axis=0)
    for (form, count), share in Recalls(found).of(highest).items():
        ERRORS.print(f"{form:10} planted {count}: {share:.1%}")
    ERRORS.print(f"offsets: {shift}")
    Console(width=200).print(as_json(shifted(detectors, shift)), markup=False, highlight=False)
