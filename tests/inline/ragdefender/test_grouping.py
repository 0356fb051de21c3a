"""Grouping: RAGDefender's Equations 1 to 3 by hand, by a slow reference, and by what must hold."""

from itertools import combinations
from statistics import fmean, median

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragguard.embedding.vectors import similarity_matrix
from ragguard.inline.ragdefender.grouping import (
    choose_strategy,
    clustering_count,
    concentration_count,
    concentration_factors,
    passages_with_top_terms,
    top_terms,
    two_clusters,
)
from ragguard.text import tokens

seeds = st.integers(0, 2**32 - 1)


def slow_concentration_count(similarity):
    """Equation 3, as it is written."""
    n = len(similarity)
    s_mean = [sum(similarity[i][j] for j in range(n) if j != i) / (n - 1) for i in range(n)]
    s_median = [median(similarity[i][j] for j in range(n) if j != i) for i in range(n)]
    return sum(s_mean[i] > fmean(s_mean) and s_median[i] > median(s_median) for i in range(n))


def slow_clustering_count(n_min, term_rich, n):
    """Equation 2, as it is written."""
    return n_min if term_rich <= n / 2 else n - n_min


def symmetric(n, values):
    """Return the (n, n) matrix with ones on the diagonal and `values` for the pairs in order."""
    matrix = np.eye(n)
    for (i, j), value in zip(combinations(range(n), 2), values, strict=True):
        matrix[i, j] = matrix[j, i] = value
    return matrix


# Concentration


def test_concentration_by_hand():
    # Pairs:                01   02   03   12   13   23
    similarity = symmetric(4, [0.9, 0.8, 0.1, 0.7, 0.2, 0.0])
    means, medians = concentration_factors(similarity)
    assert means == pytest.approx([0.6, 0.6, 0.5, 0.1])
    assert medians == pytest.approx([0.8, 0.7, 0.7, 0.1])
    # The mean of the means is 0.45, the median of the medians 0.7: only the first passes both.
    assert concentration_count(similarity) == 1


def test_both_factors_must_exceed_their_threshold():
    # The first's mean is the highest, but its median only equals the median of the medians.
    similarity = symmetric(5, [1.0, 1.0, 0.0, 0.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])
    means, medians = concentration_factors(similarity)
    assert means.argmax() == 0
    assert medians[0] > np.median(medians)
    assert concentration_count(similarity) == slow_concentration_count(similarity.tolist())
    lower = symmetric(5, [1.0, 1.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])
    means, medians = concentration_factors(lower)
    assert (means > means.mean()).sum() == 3
    assert concentration_count(lower) == (medians > np.median(medians)).sum() == 1


def test_the_similarity_to_itself_does_not_count():
    similarity = symmetric(3, [0.5, 0.2, 0.1])
    unequal = similarity - np.diag([1.0, -7.0, 100.0])
    assert concentration_count(similarity) == concentration_count(unequal)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_set_of_fewer_than_three_has_no_concentration(n):
    assert concentration_count(np.ones((n, n))) == 0


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, -0.3, 1.0])
@pytest.mark.parametrize("n", [3, 4, 7, 10])
def test_equal_passages_are_not_concentrated(n, value):
    assert concentration_count(np.full((n, n), value)) == 0


@given(seeds, st.integers(2, 12))
def test_concentration_equals_the_slow_reference(seed, n):
    values = np.random.default_rng(seed).uniform(-1, 1, size=n * (n - 1) // 2)
    similarity = symmetric(n, values)
    assert concentration_count(similarity) == slow_concentration_count(similarity.tolist())


@given(seeds, st.integers(0, 12), st.integers(1, 6))
def test_concentration_counts_fewer_than_all_and_does_not_depend_on_the_order(seed, n, d):
    random = np.random.default_rng(seed)
    similarity = similarity_matrix(random.normal(size=(n, d)) / 4)
    count = concentration_count(similarity)
    assert 0 <= count <= max(0, n - 1)
    order = random.permutation(n)
    means, _ = concentration_factors(similarity) if n > 1 else (np.ones(1), np.ones(1))
    # A sum in another order may differ in its last digit and so cross a threshold it lies on.
    assume(np.abs(means - means.mean()).min() > 1e-12)
    assert concentration_count(similarity[np.ix_(order, order)]) == count


@given(seeds, st.integers(2, 10), st.sampled_from([0.25, 0.5, 2.0]))
def test_concentration_does_not_depend_on_the_scale(seed, n, factor):
    similarity = symmetric(n, np.random.default_rng(seed).uniform(-1, 1, n * (n - 1) // 2))
    assert concentration_count(factor * similarity) == concentration_count(similarity)


# Clusters


def same_partition(one, other):
    one, other = np.asarray(one, dtype=bool), np.asarray(other, dtype=bool)
    return bool((one == other).all() or (one != other).all())


def test_two_far_groups_are_the_two_clusters():
    rows = np.array([[0.0, 0.0], [9.0, 9.0], [0.1, 0.0], [9.0, 9.1], [0.0, 0.1]])
    assert same_partition(two_clusters(rows), [0, 1, 0, 1, 0])


def test_ward_joins_by_the_growth_of_the_variance():
    # On a line at 0, 2, 4.5 and 7.5: Ward joins 0-2 (cost 2), then 4.5-7.5 (cost 4.5) rather than
    # 4.5 with 0-2 (cost 2/3 * 3.5^2 = 8.2), though single linkage would do that (2.5 < 3).
    rows = np.array([[0.0], [2.0], [4.5], [7.5]])
    assert same_partition(two_clusters(rows), [0, 0, 1, 1])


@given(seeds, st.integers(2, 40), st.integers(1, 8))
def test_clusters_equal_those_of_scikit_learn(seed, n, d):
    from sklearn.cluster import AgglomerativeClustering

    rows = np.random.default_rng(seed).normal(size=(n, d))
    labels = AgglomerativeClustering(n_clusters=2).fit_predict(rows)
    assert same_partition(two_clusters(rows), labels)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=12))
def test_clusters_equal_those_of_scikit_learn_on_duplicates_and_ties(points):
    from sklearn.cluster import AgglomerativeClustering

    rows = 1.0 + np.array(points)
    labels = AgglomerativeClustering(n_clusters=2).fit_predict(rows)
    assert same_partition(two_clusters(rows), labels)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_rows_that_look_like_distances_are_rows(n):
    assert 1 <= two_clusters(np.zeros((n, n))).sum() <= n - 1
    hollow = np.ones((n, n)) - np.eye(n)
    assert same_partition(two_clusters(hollow), two_clusters(hollow + 1.0))


@given(seeds, st.integers(2, 20), st.floats(0.1, 10))
def test_clusters_depend_neither_on_the_order_nor_on_the_scale(seed, n, factor):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, 3))
    members = two_clusters(rows)
    assert 1 <= members.sum() <= n - 1
    order = random.permutation(n)
    assert same_partition(two_clusters(rows[order]), members[order])
    assert same_partition(two_clusters(factor * rows), members)


# Clustering grouping


FAR = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.05, 1.0]])


def test_where_few_hold_the_top_terms_the_minority_is_adversarial():
    terms = [["pier"], ["gull"], ["tide"], ["sand"], ["wind"]]
    assert passages_with_top_terms(terms, top_terms(terms)) == 0
    assert clustering_count(FAR, terms) == 1


def test_where_most_hold_the_top_terms_the_majority_is_adversarial():
    shared = ["pier", "lamp", "tide"]
    terms = [["gull"], shared, shared, shared, shared]
    assert passages_with_top_terms(terms, top_terms(terms)) == 4
    assert clustering_count(FAR, terms) == 4


def test_exactly_half_is_not_most():
    shared = ["pier", "lamp", "tide"]
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    terms = [["gull"], ["sand"], shared, shared]
    assert passages_with_top_terms(terms, top_terms(terms)) == 2
    assert clustering_count(rows, terms) == 1


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_passages_have_no_minority(n):
    assert clustering_count(np.ones((n, 3)), [["pier"]] * n) == 0


def test_two_passages_have_one_adversarial_whatever_the_terms():
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert clustering_count(rows, [["pier"], ["gull"]]) == 1
    assert clustering_count(rows, [["pier"], ["pier"]]) == 1


@given(seeds, st.integers(2, 12), st.integers(1, 7))
def test_clustering_count_equals_equation_2(seed, n, m):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, 4))
    terms = [list(random.choice(list("abcdef"), size=random.integers(0, 6))) for _ in range(n)]
    size = int(two_clusters(rows).sum())
    top = top_terms(terms, m)
    rich = sum(sum(term in passage for term in top) > len(top) / 2 for passage in terms)
    count = clustering_count(rows, terms, m)
    assert count == slow_clustering_count(min(size, n - size), rich, n)
    assert 1 <= count <= n - 1
    order = random.permutation(n)
    assert clustering_count(rows[order], [terms[i] for i in order], m) == count


# Strategy


@pytest.mark.parametrize(
    ("question", "strategy"),
    [
        ("Who designed the Hallan Point lighthouse?", "clustering"),
        ("Where is the capital of France?", "clustering"),
        ("", "clustering"),
        ("Who?", "clustering"),
        ("Were Ada Brill and Tom Hoyle of the same nationality?", "concentration"),
        ("Which is older, the pier or the mill?", "concentration"),
        ("Is the mill taller than the church?", "concentration"),
        ("Who is the mother of the director of The Long Tide?", "concentration"),
        ("When was the town where Ada Brill's brother lived founded?", "concentration"),
    ],
)
def test_the_question_chooses_the_strategy(question, strategy):
    assert choose_strategy(tokens(question)) == strategy


def test_a_question_word_at_the_start_is_no_link():
    assert choose_strategy(["who", "lives", "there", "of"]) == "clustering"
    assert choose_strategy(["is", "who", "lives", "there", "of"]) == "concentration"
