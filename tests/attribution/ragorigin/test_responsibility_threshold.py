"""Exact 2-means against brute force and sklearn, and the test for one cluster."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ragguard.attribution.ragorigin.responsibility import (
    NORMAL_SPLIT_SHARE,
    one_cluster_p_value,
    two_means,
)

VALUES = npst.arrays(np.float64, st.integers(2, 9), elements=st.floats(-50, 50))


def cost(values, high):
    return sum(((part - part.mean()) ** 2).sum() for part in (values[high], values[~high]))


@given(VALUES)
def test_no_partition_is_better(values):
    split = two_means(values)
    if not split.high.any():
        assert np.ptp(values) == pytest.approx(0.0, abs=1e-9)
        return
    masks = [
        np.array(bits)
        for bits in itertools.product([False, True], repeat=len(values))
        if any(bits) and not all(bits)
    ]
    best = min(cost(values, mask) for mask in masks)
    assert cost(values, split.high) <= best + 1e-7 * max(1.0, best)
    assert values[split.high].min() > values[~split.high].max()


@given(VALUES)
def test_explained_is_the_share_of_variance(values):
    split = two_means(values)
    total = ((values - values.mean()) ** 2).sum()
    if split.high.any() and total > 1e-6:
        assert split.explained == pytest.approx(1 - cost(values, split.high) / total, abs=1e-6)
    assert 0.0 <= split.explained <= 1.0


@pytest.mark.slow
def test_agrees_with_sklearn():
    from sklearn.cluster import KMeans

    generator = np.random.default_rng(3)
    for _ in range(20):
        values = np.concatenate([generator.normal(0, 1, 12), generator.normal(4, 1, 5)])
        fitted = KMeans(2, n_init=25, random_state=0).fit(values[:, None])
        high = fitted.labels_ == int(np.argmax(fitted.cluster_centers_[:, 0]))
        assert two_means(values).high.tolist() == high.tolist()


def test_hand_computed():
    split = two_means(np.array([9.0, 1.0, 0.0, 11.0]))
    assert split.high.tolist() == [True, False, False, True]
    # Between: 4 values 4.75 from the mean 5.25; total: 14.0625 + 18.0625 + 27.5625 + 33.0625.
    assert split.explained == pytest.approx(4 * 4.75**2 / 92.75)


@pytest.mark.parametrize("values", [[], [3.0], [0.1, 0.1, 0.1], [1e9 + 0.3] * 5, [0.1 + 0.2, 0.3]])
def test_equal_values_have_no_high_cluster(values):
    split = two_means(np.array(values, dtype=np.float64))
    assert not split.high.any()
    assert split.explained == 0.0


def test_equal_values_are_never_parted():
    split = two_means(np.array([0.0, 1.0, 1.0, 1.0, 2.0]))
    assert split.high.tolist() in ([False, True, True, True, True], [False] * 4 + [True])


@pytest.mark.parametrize("count", [10, 15, 40])
def test_p_value_is_about_uniform_for_one_normal_cluster(count):
    generator = np.random.default_rng(count)
    p_values = np.array(
        [
            one_cluster_p_value(two_means(generator.normal(size=count)).explained, count)
            for _ in range(2000)
        ]
    )
    assert np.mean(p_values < 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.mean(p_values < 0.5) == pytest.approx(0.5, abs=0.08)


def test_p_value_is_small_for_two_clusters_and_falls_with_separation():
    values = np.array([0.0, 0.1, 0.2, 0.1, 0.0, 0.2, 5.0, 5.1, 4.9, 5.2])
    explained = two_means(values).explained
    assert one_cluster_p_value(explained, 10) < 1e-6
    assert one_cluster_p_value(0.9, 10) < one_cluster_p_value(0.7, 10)
    assert one_cluster_p_value(1.0, 10) == 0.0
    assert one_cluster_p_value(0.99, 3) == 1.0


def test_two_means_of_many_normal_values_explains_two_over_pi():
    values = np.random.default_rng(1).normal(size=200_000)
    assert two_means(values).explained == pytest.approx(NORMAL_SPLIT_SHARE, abs=0.01)
