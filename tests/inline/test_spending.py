"""How classes share alpha, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ragguard.inline.conformal import Calibration
from ragguard.inline.spending import evident_by, spent, spent_p_value

CALIBRATION = Calibration(np.arange(99.0), np.arange(99.0), 5, False, "s", "test")


def test_the_p_value_is_the_lowest_of_the_classes():
    suspicion = np.array([97.5, 90.5, 200.0])  # p: 2/100, 9/100, and of what spends nothing
    assert spent_p_value(CALIBRATION, suspicion, np.array([0.1, 0.9, 0.0])) == pytest.approx(0.1)
    assert spent_p_value(CALIBRATION, suspicion, np.array([0.9, 0.1, 0.0])) == pytest.approx(
        0.02 / 0.9
    )
    assert spent_p_value(CALIBRATION, suspicion, np.array([0.0, 0.0, 0.0])) == 1.0
    assert spent_p_value(CALIBRATION, suspicion, np.array([0.001, 0.0, 0.0])) == 1.0


def test_passages_that_spend_nothing_have_no_p_value():
    assert spent(np.array([0.01, 0.01, 0.01]), np.array([0.1, 1.0, 0.0])).tolist() == [
        pytest.approx(0.1),
        0.01,
        np.inf,
    ]


def test_a_smaller_share_takes_more_evidence():
    suspicion = np.array([96.5, 96.5, 98.5, 98.5, 1e9])
    shares = np.array([1.0, 0.2, 1.0, 0.2, 0.0])
    found = evident_by(CALIBRATION, suspicion, shares, 0.05, 5)
    assert found.tolist() == [True, False, True, True, False]
