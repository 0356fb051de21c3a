"""z-scores, and the two ways to combine ES, SC and GC."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ragguard.attribution.ragorigin.responsibility import responsibility, separation, z_scores

SCORES = npst.arrays(
    np.float64, st.tuples(st.just(3), st.integers(1, 12)), elements=st.floats(-9, 9)
)


def test_z_scores_by_hand():
    # Mean 5, variance ((-3)^2 + (-1)^2 + 1 + 3^2) / 4 = 5.
    expected = np.array([-3.0, -1.0, 1.0, 3.0]) / np.sqrt(5.0)
    assert z_scores(np.array([2.0, 4.0, 6.0, 8.0])) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[], [4.2], [0.1] * 7, [-1e12, -1e12]])
def test_no_variance_gives_zeros(values):
    assert z_scores(np.array(values)).tolist() == [0.0] * len(values)


def plain(scores):
    return np.mean([z_scores(row) for row in scores], axis=0)


@given(SCORES)
def test_equation_8_is_the_plain_mean_where_all_separate_alike(scores):
    alike = [scores[0], -scores[0], 2.0 * scores[0] + 1.0]
    assert responsibility(alike) == pytest.approx(plain(alike), abs=1e-6)


@given(SCORES)
def test_separation_weighting_is_the_weighted_mean(scores):
    weights = separation(scores)
    combined = responsibility(list(scores))
    if weights.any():
        expected = sum(w * z_scores(row) for w, row in zip(weights, scores, strict=True))
        assert combined == pytest.approx(expected / weights.sum(), abs=1e-9)
    else:
        assert combined == pytest.approx(plain(scores))


@given(SCORES, st.integers(0, 1000), st.floats(0.1, 50), st.floats(-5, 5))
def test_order_scale_and_origin_do_not_matter(scores, seed, scale, shift):
    order = np.random.default_rng(seed).permutation(scores.shape[1])
    combined = responsibility(list(scores))
    moved = responsibility(list(scores[:, order] * scale + shift))
    spread = scores.std(axis=1)
    if ((spread == 0) | (spread > 1e-3)).all():
        assert moved == pytest.approx(combined[order], abs=1e-5)


def test_a_score_that_separates_outweighs_two_that_do_not():
    flat = np.linspace(0.0, 1.0, 10)
    clear = np.array([5.0, 0.0, 0.1, 5.1, 0.0, 0.2, 0.1, 0.0, 0.1, 0.2])
    top = np.argsort(-responsibility([flat, flat, clear]))[:2]
    assert sorted(top) == [0, 3]
    assert sorted(np.argsort(-plain([flat, flat, clear]))[:2]) != [0, 3]


def test_separation_is_near_one_for_two_groups_and_small_for_none():
    assert separation([np.array([0.0, 0.0, 1.0, 1.0])]) == pytest.approx([1.0])
    assert separation([np.random.default_rng(0).normal(size=5000)]) < 0.03
    assert separation([np.ones(4)]) == [0.0]
