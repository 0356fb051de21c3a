"""Fits the detectors of `ragguard.inline`: `python -m benchmarks.fit_suspicion --data DIR`.

Each detector is a logistic regression of "this passage is poison" on one or two signals, over the
choosing half of the data: clean sets, and attacks in the forms that the detector is for. No weight
is below zero: no signal may speak for a passage. Its score is then put on the scale of clean
traffic, so that detectors can be compared, and raised or lowered by an offset: how much of the
clean queries that may be touched is spent on it. The offsets are chosen on scores that are
cross-fitted over `FOLDS` parts of the choosing half.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.embedders import both_embedders
from benchmarks.fit_manner import fit_folds
from benchmarks.fitting.detectors import cross_scores, fit_detectors
from benchmarks.fitting.offsets import Recalls, offsets, shifted
from benchmarks.fitting.samples import Samples, samples
from benchmarks.reading import load_choosing
from ragguard.inline.scoring import BY_HAND, Detector


def as_json(detectors: Mapping[str, Detector]) -> str:
    """Return the detectors as they stand under "fitted" in `ragguard/inline/detectors.json`."""
    fitted = {
        name: {
            "bias": round(detector.bias, 2),
            "weights": {
                name: round(weight, 2)
                for name, weight in sorted(detector.weights.items(), key=lambda item: -item[1])
            },
        }
        for name, detector in detectors.items()
        if name not in BY_HAND
    }
    return json.dumps(fitted, indent=2)


def main() -> None:
    """Fit and print the detectors as JSON, and what they detect when cross-fitted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_suspicion", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets")
    arguments = parser.parse_args()
    errors = Console(stderr=True)
    datasets = load_choosing(arguments.data)
    drawn = samples(datasets, both_embedders(), fit_folds(arguments.data, datasets))
    found = Samples(list(track(drawn, description="signals", console=errors)))
    scores = cross_scores(found)
    detectors = fit_detectors(found)
    shift = offsets(found, scores, {name: one.bias for name, one in detectors.items()})
    highest = np.max([scores[name] + shift[name] for name in scores], axis=0)
    for (form, count), share in Recalls(found).of(highest).items():
        errors.print(f"{form:10} planted {count}: {share:.1%}")
    errors.print(f"offsets: {shift}")
    Console(width=200).print(as_json(shifted(detectors, shift)), markup=False, highlight=False)


if __name__ == "__main__":
    main()
