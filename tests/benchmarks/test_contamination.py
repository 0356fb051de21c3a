"""What contamination costs, on scores made for the purpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.contamination import measure, scores_of, threshold
from benchmarks.data import skerrin
from ragguard.inline.calibration import Calibration


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.floats(0.02, 0.5))
def test_the_threshold_is_the_gates(scores, alpha):
    values = np.array(scores, dtype=np.float64)
    calibration = Calibration(values, values, 1, False, "s", "test")
    limit = threshold(values, alpha)
    for score in np.arange(-6.0, 7.0):
        p_value = calibration.p_value(score, 1)
        if abs(p_value - alpha) > 1e-6:
            assert (score >= limit) == (p_value <= alpha)


def test_poison_raises_the_threshold_and_clean_looking_resists():
    rng = np.random.default_rng(0)
    clean = rng.normal(-5.0, 1.0, 900)
    attacked = rng.normal(10.0, 1.0, (900, 2))
    attacked[:, 1] = np.nan
    rows = {
        (r.share, r.clean_looking): r for r in measure(clean, attacked, alpha=0.01, cuts=20, seed=0)
    }
    assert rows[0.0, False].attacks_stopped == 1.0
    assert rows[0.0, False].clean_touched < 0.02
    assert rows[0.05, False].threshold > 8.0
    assert rows[0.05, False].attacks_stopped < 0.5
    assert rows[0.05, True].attacks_stopped > 0.99
    assert rows[0.05, True].clean_touched < 0.02


def test_scores_of_the_own_data():
    clean, attacked = scores_of([skerrin().limited(5)])
    assert clean.shape == (5,)
    assert attacked.shape[0] == 5
    assert np.nanmean(attacked) > clean.mean()
    assert np.isfinite(clean).all()


def test_too_few_scores_stop_nothing():
    assert threshold(np.zeros(3), 0.01) == np.inf
    assert threshold(np.zeros(99), 0.01) == pytest.approx(0.0)
