from dataclasses import replace

import numpy as np
import pytest

from benchmarks import make_calibration
from benchmarks.data import skerrin
from benchmarks.fit_suspicion import FITTED, FOLDS, TERMS, Sample, fit, samples
from benchmarks.make_calibration import calibrate, cross_fitted
from ragguard.embedding import HashedEmbedder
from ragguard.inline.signals import SIGNALS
from ragguard.inline.suspicion import SCORER, WEIGHTS, suspicions

FOR, AGAINST = "coverage", "window"


def made_up(seed):
    """One signal speaks for poison, another one against it, the others say nothing."""
    draw = np.random.default_rng(seed)
    for number in range(400):
        poisoned = draw.random(5) < 0.3 * (number % 2)
        signals = np.zeros((5, len(FITTED)), dtype=np.float32)
        signals[:, FITTED.index(FOR)] = draw.random(5) < np.where(poisoned, 0.8, 0.2)
        signals[:, FITTED.index(AGAINST)] = draw.random(5) < np.where(poisoned, 0.2, 0.8)
        yield Sample(signals, poisoned, 1.0, clean=number % 2 == 0)


def test_no_signal_speaks_for_a_passage():
    bias, weights = fit(list(made_up(0)))
    assert bias < 0
    assert sum(weights.values()) > 1
    assert all(set(term) == {FOR} for term in weights)


def test_without_a_signal_the_bias_is_the_weighted_log_odds():
    # Clean passages weigh three times as much as those of attacked sets: 2 of 4 + 3 x 4.
    none = np.zeros((4, len(FITTED)), dtype=np.float32)
    found = [
        Sample(none, np.array([True, True, False, False]), 1.0, clean=False),
        Sample(none, np.zeros(4, dtype=bool), 1.0, clean=True),
    ]
    bias, weights = fit(found)
    assert bias == pytest.approx(np.log(1 / 7), abs=1e-3)
    assert weights == {}


def test_every_signal_may_weigh_alone_and_with_every_other():
    assert len(TERMS) == len(set(TERMS))
    assert {name for term in TERMS for name in term} == set(FITTED)
    assert {(name,) for name in FITTED} <= set(TERMS)
    assert set(WEIGHTS) - {("address",)} <= set(TERMS)


@pytest.fixture
def split():
    return replace(skerrin(), split=True)


def test_calibrations_for_every_size_with_and_without_reference(split):
    made = list(calibrate([split.limited(3)], [HashedEmbedder()], [suspicions] * FOLDS))
    assert [(entry["size"], entry["with_reference"]) for entry in made] == [
        (size, reference) for size in (5, 10, 20) for reference in (False, True)
    ]
    for entry in made:
        assert entry["scorer"] == SCORER
        assert len(entry["scores"]) == 3
        assert entry["scores"] == sorted(entry["scores"])
        assert entry["passage_scores"][-1] == max(entry["scores"])


def test_every_query_is_scored_by_the_weights_of_its_own_fold(split):
    constant = [lambda signals, fold=fold: np.full(len(signals), fold) for fold in range(FOLDS)]
    made = list(calibrate([split.limited(FOLDS + 1)], [HashedEmbedder()], constant))
    assert made[0]["scores"] == [0, 0, 1, 2, 3, 4]


def test_weights_are_fitted_without_the_fold_that_they_score(split, monkeypatch):
    few = split.limited(FOLDS)
    every = list(samples([few], [HashedEmbedder()]))
    seen = []

    def recorded(found):
        seen.append(len(found))
        return -1.0, {("coverage",): 2.0}

    monkeypatch.setattr(make_calibration, "fit", recorded)
    weigh = cross_fitted([few], [HashedEmbedder()])
    sizes = [sum(fold == left_out for fold, _ in every) for left_out in range(FOLDS)]
    assert seen == [len(every) - size for size in sizes]
    signals = np.zeros((1, len(SIGNALS)))
    signals[0, SIGNALS.index("coverage")] = 0.5
    signals[0, SIGNALS.index("address")] = 1.0
    assert weigh[0](signals)[0] == pytest.approx(-1.0 + 2.0 * 0.5 + WEIGHTS["address",])
