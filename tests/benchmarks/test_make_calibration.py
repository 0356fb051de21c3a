"""The shipped calibration: sizes, settings, and folds that were not fitted on."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import fit_suspicion, make_calibration
from benchmarks.datasets import skerrin
from benchmarks.fit_manner import FOLDS
from benchmarks.make_calibration import calibrate, cross_fitted
from benchmarks.samples import PLANS, samples
from ragguard.embedding import CachedEmbedder, HashedEmbedder
from ragguard.inline.features import SIGNALS
from ragguard.inline.features.manner import shipped
from ragguard.inline.scoring import DETECTORS, SCORER, Detector, suspicions

SHIPPED = [shipped()] * FOLDS
EMBEDDERS = [CachedEmbedder.of(HashedEmbedder())]  # the same pages again and again


@pytest.fixture
def split():
    return replace(skerrin(), split=True)


@pytest.mark.slow
def test_calibrations_for_every_size_with_and_without_reference(split):
    made = list(calibrate([split.limited(3)], EMBEDDERS, [suspicions] * FOLDS, SHIPPED))
    assert [(entry["size"], entry["with_reference"]) for entry in made] == [
        (size, reference) for size in (5, 10, 20, 50) for reference in (False, True)
    ]
    for entry in made:
        assert entry["scorer"] == SCORER
        assert len(entry["scores"]) == 3
        assert entry["scores"] == sorted(entry["scores"])
        assert entry["passage_scores"][-1] == max(entry["scores"])


@pytest.mark.slow
def test_every_query_is_scored_by_the_weights_of_its_own_fold(split, monkeypatch):
    monkeypatch.setattr(make_calibration, "lifted", lambda scores, _: np.sort(scores))
    constant = [lambda signals, fold=fold: np.full(len(signals), fold) for fold in range(FOLDS)]
    made = list(calibrate([split.limited(FOLDS + 1)], EMBEDDERS, constant, SHIPPED))
    assert made[0]["scores"] == [0, 0, 1, 2, 3, 4]


@pytest.mark.slow
def test_detectors_are_fitted_without_the_fold_that_they_score(split, monkeypatch):
    few = split.limited(FOLDS)
    every = list(samples([few], EMBEDDERS, SHIPPED))
    seen = []

    def recorded(plan, found):
        seen.append([sample.fold for sample in found.found])
        # Fitted on everything it has the bias 1, on four folds 3.
        return Detector(1.0 if set(seen[-1]) == set(range(FOLDS)) else 3.0, {plan.signals[0]: 2.0})

    monkeypatch.setattr(fit_suspicion, "fit_detector", recorded)
    monkeypatch.setattr(fit_suspicion, "with_manner", dict)
    weigh = cross_fitted([few], EMBEDDERS, SHIPPED)
    assert len(weigh) == FOLDS
    everything, others = seen[: len(PLANS)], seen[len(PLANS) :]
    assert all(len(folds) == len(every) for folds in everything)
    for left_out in range(FOLDS):
        for folds in others[left_out * len(PLANS) : (left_out + 1) * len(PLANS)]:
            assert left_out not in folds
            assert len(folds) == sum(sample.fold != left_out for sample in every)
    # The offsets are the shipped ones: what is added to a bias of 1 to make the shipped one.
    highest = max(DETECTORS[name].bias for name in PLANS) + 2.0
    assert weigh[0](np.zeros((1, len(SIGNALS))))[0] == pytest.approx(highest)
    first = next(iter(PLANS))
    signals = np.zeros((1, len(SIGNALS)))
    signals[0, SIGNALS.index(PLANS[first].signals[0])] = 1.0
    expected = max(highest, DETECTORS[first].bias + 2.0 + 2.0)
    assert weigh[1](signals)[0] == pytest.approx(expected)
