from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ragguard.attribution.influence_score import (
    abstentions_apart,
    cluster_by_equivalence,
    cluster_by_similarity,
    gist,
    semantic_entropy,
    states,
)
from ragguard.errors import InvalidInputError

QUERY = "In which year was the Tarn Vale lighthouse first lit?"
RESPONSE = "The Tarn Vale lighthouse was first lit in 1911."


class TestSemanticEntropy:
    @pytest.mark.parametrize(
        ("labels", "bits"),
        [
            ([0], 0.0),
            ([3, 3, 3], 0.0),
            ([0, 1], 1.0),
            ([0, 1, 2, 3], 2.0),
            ([0, 0, 1, 2], 1.5),
            ([0, 0, 0, 1], 2.0 - 0.75 * math.log2(3)),
        ],
    )
    def test_by_hand(self, labels, bits):
        assert semantic_entropy(labels) == pytest.approx(bits, abs=1e-12)

    def test_no_sample(self):
        with pytest.raises(InvalidInputError):
            semantic_entropy([])

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
    def test_is_the_entropy_of_the_counts(self, labels):
        shares = [count / len(labels) for count in Counter(labels).values()]
        expected = -math.fsum(p * math.log2(p) for p in shares)
        assert semantic_entropy(labels) == pytest.approx(expected, abs=1e-9)
        assert 0.0 <= semantic_entropy(labels) <= math.log2(len(set(labels))) + 1e-9

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.randoms())
    def test_order_and_names_of_clusters_do_not_count(self, labels, random):
        renamed = [label * 7 - 3 for label in labels]
        random.shuffle(renamed)
        assert semantic_entropy(renamed) == pytest.approx(semantic_entropy(labels), abs=1e-12)


def slow_clusters(same):
    """Label by searching each component from its first member."""
    labels = [-1] * len(same)
    fresh = itertools.count()
    for start in range(len(same)):
        if labels[start] >= 0:
            continue
        label, stack = next(fresh), [start]
        while stack:
            here = stack.pop()
            if labels[here] < 0:
                labels[here] = label
                stack += [there for there in range(len(same)) if same[here][there]]
    return labels


class TestClusters:
    def test_by_hand(self):
        half = math.sqrt(0.5)
        vectors = [[1, 0], [0, 3], [half, half], [-1, 0]]
        assert cluster_by_similarity(vectors, 0.9).tolist() == [0, 1, 2, 3]
        # The diagonal is at a cosine of 0.707 to both axes and joins them.
        assert cluster_by_similarity(vectors, 0.7).tolist() == [0, 0, 0, 1]

    def test_zero_rows_are_like_no_other(self):
        assert cluster_by_similarity([[0, 0], [1, 0], [0, 0]], 0.5).tolist() == [0, 1, 2]

    def test_equal_rows_meet_at_a_threshold_of_one(self):
        row = np.array([0.1, 0.7, 0.3], dtype=np.float32)
        assert cluster_by_similarity([row, row * 3], 1.0).tolist() == [0, 0]

    @given(st.data())
    def test_by_equivalence_matches_the_slow_search(self, data):
        n = data.draw(st.integers(1, 9))
        pairs = data.draw(st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8))))
        same = [[i == j or (i, j) in pairs or (j, i) in pairs for j in range(n)] for i in range(n)]
        texts = [str(i) for i in range(n)]
        labels = cluster_by_equivalence(texts, lambda a, b: same[int(a)][int(b)])
        assert labels.tolist() == slow_clusters(same)

    @given(
        arrays.arrays(
            np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(-1, 1)
        ),
        st.floats(0.05, 0.95),
        st.randoms(),
    )
    def test_by_similarity_does_not_depend_on_the_order(self, vectors, threshold, random):
        order = list(range(len(vectors)))
        random.shuffle(order)
        labels = cluster_by_similarity(vectors, threshold)
        shuffled = cluster_by_similarity(vectors[order], threshold)
        for i, j in itertools.combinations(range(len(order)), 2):
            assert (shuffled[i] == shuffled[j]) == (labels[order[i]] == labels[order[j]])
        assert sorted(dict.fromkeys(labels.tolist())) == list(dict.fromkeys(labels.tolist()))

    def test_equivalence_is_asked_once_for_each_pair_of_distinct_texts(self):
        asked = []

        def equivalent(a, b):
            asked.append((a, b))
            return False

        labels = cluster_by_equivalence(["x", "y", "x", "z", "y"], equivalent)
        assert labels.tolist() == [0, 1, 0, 2, 1]
        assert asked == [("x", "y"), ("x", "z"), ("y", "z")]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1911", True),
        ("In 1911", True),
        ("first lit in 1911", True),
        ("1874", False),
        ("191", False),
        ("lit 1911", False),
        ("...", False),
        ("It is said: " + RESPONSE, True),
    ],
)
def test_states(answer, expected):
    assert states(RESPONSE, answer) is expected


@pytest.mark.parametrize(
    ("query", "answer", "expected"),
    [
        (QUERY, RESPONSE, "1911"),
        (QUERY, "It was not lit.", "not"),
        ("Which is older, Rome or Paris?", "Rome", "rome"),
        ("Which is older, Rome or Paris?", "Rome is older.", "rome is older"),
        (QUERY, "!", ""),
    ],
)
def test_gist(query, answer, expected):
    assert gist(query, answer) == expected


class TestAbstentions:
    @given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
    def test_each_is_a_meaning_of_its_own_and_the_rest_stays(self, samples):
        labels, abstained = zip(*samples, strict=True)
        found = abstentions_apart(labels, abstained).tolist()
        kept = [label for label, apart in samples if not apart]
        assert [
            label for label, (_, apart) in zip(found, samples, strict=True) if not apart
        ] == kept
        assert len(set(found)) == len(set(kept)) + sum(abstained)

    def test_ten_samples_that_abstain_are_as_unsure_as_can_be(self):
        labels = [0] * 8
        assert semantic_entropy(abstentions_apart(labels, [True] * 8)) == pytest.approx(3.0)
        assert semantic_entropy(abstentions_apart(labels, [False] * 8)) == 0.0
