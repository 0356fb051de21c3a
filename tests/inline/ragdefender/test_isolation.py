"""Isolation: RAGDefender's Equations 4 to 7 by hand, by a slow reference, and by what must hold."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragguard.embedding.vectors import similarity_matrix
from ragguard.inline.ragdefender.isolation import frequency_scores, isolate, pair_count, top_pairs

seeds = st.integers(0, 2**32 - 1)


def slow_frequency_scores(similarity, n_adv, p):
    """Equations 4 to 6, as they are written; of equal pairs the first counts."""
    n = len(similarity)
    n_pairs = max(1, n_adv * (n_adv - 1) // 2)
    pairs = sorted(combinations(range(n), 2), key=lambda pair: -similarity[pair[0]][pair[1]])
    scores = [0.0] * n
    for i, j in pairs[:n_pairs]:
        sim = similarity[i][j]
        weight = (1 if sim > 0 else -1 if sim < 0 else 0) * abs(sim) ** p
        scores[i] += weight
        scores[j] += weight
    return scores


def slow_isolate(similarity, n_adv, p):
    """Equation 7, as it is written; of equal scores the better rank counts."""
    scores = slow_frequency_scores(similarity, n_adv, p)
    return set(sorted(range(len(similarity)), key=lambda i: (-scores[i], i))[:n_adv])


def random_similarity(seed, n, d=5):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return similarity_matrix(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("n_adv", "n_pairs"), [(0, 1), (1, 1), (2, 1), (3, 3), (4, 6), (5, 10), (20, 190)]
)
def test_the_number_of_pairs(n_adv, n_pairs):
    assert pair_count(n_adv) == n_pairs


SIMILARITY = np.array(
    [
        [1.0, 0.9, 0.5, -0.2],
        [0.9, 1.0, 0.6, 0.1],
        [0.5, 0.6, 1.0, -0.8],
        [-0.2, 0.1, -0.8, 1.0],
    ]
)


def test_the_most_similar_pairs_by_hand():
    rows, columns = top_pairs(SIMILARITY, 3)
    assert list(zip(rows, columns, strict=True)) == [(0, 1), (1, 2), (0, 2)]
    rows, columns = top_pairs(SIMILARITY, 100)
    assert list(zip(rows, columns, strict=True))[3:] == [(1, 3), (0, 3), (2, 3)]


def test_of_equal_pairs_the_first_counts():
    rows, columns = top_pairs(np.ones((4, 4)), 2)
    assert list(zip(rows, columns, strict=True)) == [(0, 1), (0, 2)]


def test_frequency_scores_by_hand():
    three = frequency_scores(SIMILARITY, 3)
    assert three == pytest.approx([0.81 + 0.25, 0.81 + 0.36, 0.36 + 0.25, 0.0])
    assert frequency_scores(SIMILARITY, 2) == pytest.approx([0.81, 0.81, 0.0, 0.0])
    assert frequency_scores(SIMILARITY, 2, p=1) == pytest.approx([0.9, 0.9, 0.0, 0.0])
    # With all six pairs, the sign of a negative similarity stays.
    everything = frequency_scores(SIMILARITY, 4)
    assert everything == pytest.approx(
        [0.81 + 0.25 - 0.04, 0.81 + 0.36 + 0.01, 0.36 + 0.25 - 0.64, 0.01 - 0.04 - 0.64]
    )


def test_isolation_by_hand():
    assert isolate(SIMILARITY, 0).tolist() == [False] * 4
    assert isolate(SIMILARITY, 1).tolist() == [True, False, False, False]
    assert isolate(SIMILARITY, 2).tolist() == [True, True, False, False]
    assert isolate(SIMILARITY, 3).tolist() == [True, True, True, False]
    assert isolate(SIMILARITY, 4).tolist() == [True] * 4


def test_a_tie_goes_to_the_better_rank():
    similarity = np.eye(4)
    similarity[2, 3] = similarity[3, 2] = 0.9
    assert isolate(similarity, 1).tolist() == [False, False, True, False]


@given(seeds, st.integers(0, 9), st.data(), st.sampled_from([1.0, 2.0, 3.0]))
def test_isolation_equals_the_slow_reference(seed, n, data, p):
    n_adv = data.draw(st.integers(0, n))
    similarity = random_similarity(seed, n)
    listed = similarity.tolist()
    assert frequency_scores(similarity, n_adv, p) == pytest.approx(
        slow_frequency_scores(listed, n_adv, p)
    )
    assert set(np.flatnonzero(isolate(similarity, n_adv, p))) == slow_isolate(listed, n_adv, p)


@pytest.mark.slow
@given(st.integers(1, 7), st.data())
def test_isolation_equals_the_slow_reference_where_everything_ties(n, data):
    values = data.draw(st.lists(st.sampled_from([-0.5, 0.0, 0.5]), min_size=n * n, max_size=n * n))
    half = np.array(values).reshape(n, n)
    similarity = np.triu(half) + np.triu(half, 1).T
    n_adv = data.draw(st.integers(0, n))
    marked = set(np.flatnonzero(isolate(similarity, n_adv)))
    assert marked == slow_isolate(similarity.tolist(), n_adv, 2)


@given(seeds, st.integers(0, 12), st.data())
def test_exactly_n_adv_are_marked_and_exactly_n_pairs_counted(seed, n, data):
    n_adv = data.draw(st.integers(0, n))
    similarity = random_similarity(seed, n)
    assert isolate(similarity, n_adv).sum() == n_adv
    rows, columns = top_pairs(similarity, pair_count(n_adv))
    assert len(rows) == min(pair_count(n_adv), comb(n, 2))
    assert (rows < columns).all()
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    inside = similarity[rows, columns]
    assert (np.diff(inside) <= 0).all()


@given(seeds, st.integers(2, 10), st.data())
def test_isolation_does_not_depend_on_the_order_where_nothing_ties(seed, n, data):
    n_adv = data.draw(st.integers(2, n))
    similarity = random_similarity(seed, n)
    scores = np.sort(frequency_scores(similarity, n_adv))[::-1]
    assume(n_adv == n or scores[n_adv - 1] - scores[n_adv] > 1e-9)
    order = np.random.default_rng(seed).permutation(n)
    turned = isolate(similarity[np.ix_(order, order)], n_adv)
    assert (turned == isolate(similarity, n_adv)[order]).all()


@given(seeds, st.integers(2, 10), st.data(), st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_isolation_does_not_depend_on_the_scale(seed, n, data, factor):
    n_adv = data.draw(st.integers(0, n))
    similarity = random_similarity(seed, n)
    assert (isolate(factor * similarity, n_adv) == isolate(similarity, n_adv)).all()


@given(seeds, st.integers(2, 6), st.integers(1, 6))
def test_a_tight_group_among_strangers_is_isolated(seed, group, strangers):
    n = group + strangers
    order = np.random.default_rng(seed).permutation(n)
    similarity = np.where(np.eye(n) > 0, 1.0, 0.1)
    similarity[:group, :group] = 0.9
    marked = isolate(similarity[np.ix_(order, order)], group)
    assert (marked == (order < group)).all()
