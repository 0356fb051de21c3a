"""Drift: the exact upper-tail test, and one warning a drift."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.drift import DriftWatch, drift, tail_probability


def test_by_hand():
    # Nine calibration scores, alpha = 0.1: r = floor(0.1 * 10) = 1, the largest of them. One new
    # score is above it in one of ten orders. None of two new ones is with probability
    # 9/10 * 10/11 = 9/11: for the second there is one more place below.
    assert tail_probability(1, {9: 1}, 0.1) == pytest.approx(1 / 10)
    assert tail_probability(1, {9: 2}, 0.1) == pytest.approx(2 / 11)
    # Both above it: they are the two largest of eleven, 1 of 55 pairs.
    assert tail_probability(2, {9: 2}, 0.1) == pytest.approx(1 / 55)
    assert tail_probability(0, {9: 2}, 0.1) == 1.0
    assert tail_probability(3, {9: 2}, 0.1) == 0.0
    # alpha = 0.05 is out of reach of nine scores: no query may be above.
    assert tail_probability(1, {9: 2}, 0.05) == 0.0


def slow_tail_probability(above, queries, calibrated, rank):
    """Count the orders in which `above` or more new scores exceed the rank-th largest old one."""
    orders = list(combinations(range(queries + calibrated), queries))  # places of the new, from top
    hits = 0
    for places in orders:
        old = [place for place in range(queries + calibrated) if place not in places]
        hits += sum(place < old[rank - 1] for place in places) >= above
    return Fraction(hits, len(orders))


@pytest.mark.parametrize(("queries", "calibrated", "rank"), [(3, 5, 1), (4, 5, 2), (5, 4, 3)])
def test_is_the_share_of_orders(queries, calibrated, rank):
    alpha = (rank + 0.5) / (calibrated + 1)
    for above in range(queries + 1):
        expected = slow_tail_probability(above, queries, calibrated, rank)
        assert tail_probability(above, {calibrated: queries}, alpha) == pytest.approx(
            float(expected)
        )


def test_over_two_samples_the_counts_add_up():
    # Of 9 and of 19 scores one query each lies above the largest with probability 1/10 and 1/20.
    both = {9: 1, 19: 1}
    assert tail_probability(2, both, 0.1) == pytest.approx(1 / 10 * 2 / 20)
    assert tail_probability(1, both, 0.1) == pytest.approx(1 - 9 / 10 * 18 / 20)
    assert tail_probability(3, both, 0.1) == 0.0
    # None may lie above the quantile of a sample that is too small to have one.
    assert tail_probability(1, {9: 50, 99: 1}, 0.05) == pytest.approx(5 / 100)
    found = drift(np.array([0.01, 0.5]), np.array([9, 19]), 0.1)
    assert (found.queries, found.above) == (2, 1)
    assert found.p_value == pytest.approx(1 - 9 / 10 * 18 / 20)


@pytest.mark.slow
@given(st.integers(1, 200), st.integers(1, 400), st.floats(0.005, 0.5))
def test_falls_from_one_and_sums_to_the_mean(queries, calibrated, alpha):
    rank = int(alpha * (calibrated + 1) + 1e-9)
    tails = [tail_probability(above, {calibrated: queries}, alpha) for above in range(queries + 2)]
    assert tails[0] == 1.0
    assert tails[-1] == 0.0
    assert all(0.0 <= low <= high + 1e-12 <= 1.0 + 1e-12 for high, low in pairwise(tails))
    # The mean of a count is the sum of its tail probabilities; here m r / (n + 1) <= m alpha.
    assert sum(tails[1:]) == pytest.approx(queries * rank / (calibrated + 1), abs=1e-6)


def test_becomes_the_binomial_test_for_a_large_calibration():
    binomial = sum(comb(100, x) * 0.01**x * 0.99 ** (100 - x) for x in range(4, 101))
    assert tail_probability(4, {10**6 - 1: 100}, 0.01) == pytest.approx(binomial, rel=1e-3)


@given(st.integers(0, 2**32 - 1))
def test_traffic_like_the_calibrations_hardly_ever_drifts(seed):
    rng = np.random.default_rng(seed)
    # Every order is equally likely, whatever the distribution; ranks stand for scores.
    order = rng.permutation(99 + 300)
    old, new = np.sort(order[:99]), order[99:]
    p_values = (1 + 99 - np.searchsorted(old, new)) / 100
    found = drift(p_values, 99, 0.01, significance=1e-9)
    assert not found.drifted
    assert found.above == int((new > old[-1]).sum())


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.01, 0.5))
def test_order_does_not_count_and_more_above_is_more_drift(values, alpha):
    p_values = np.array(values, dtype=np.float64)
    found = drift(p_values, 99, alpha)
    assert drift(p_values[::-1], 99, alpha) == found
    assert found.queries == len(values)
    assert drift(np.append(p_values, 0.0), 99, alpha).p_value <= found.p_value + 1e-12


def test_drift_is_what_is_improbable():
    p_values = np.array([0.005] * 20 + [0.5] * 480)
    found = drift(p_values, 9999, 0.01)
    assert (found.queries, found.above, found.drifted) == (500, 20, True)
    assert found.p_value < 1e-5
    assert not drift(p_values[15:], 9999, 0.01).drifted
    none = drift(np.array([]), 1, 0.01)
    assert (none.queries, none.p_value, none.drifted) == (0, 1.0, False)


def feed(watch, above, queries=100):
    for n in range(queries):
        watch.see(n < above, 684)


def test_one_warning_a_drift(caplog):
    watch = DriftWatch(0.01, window=100)
    feed(watch, 1)
    assert caplog.records == []
    feed(watch, 30, 99)
    assert caplog.records == []
    feed(watch, 0, 1)
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "fired on 30 of the last 100 queries, its calibration allows about 1.0" in caplog.text
    feed(watch, 30)
    feed(watch, 100)
    assert len(caplog.records) == 1
    with caplog.at_level("INFO", logger="ragguard.inline.drift"):
        feed(watch, 1)
    assert "covers the traffic again" in caplog.records[-1].message
    feed(watch, 30)
    assert [r.levelname for r in caplog.records].count("WARNING") == 2


def test_a_drift_over_two_windows_is_still_one(caplog):
    watch = DriftWatch(0.01, window=100)
    for _ in range(5):
        feed(watch, 40)
    assert len(caplog.records) == 1
