"""RAGDefender's motivating example (Appendix A), step by step, in words of our own.

Four passages name a false capital, the fifth is genuine. The example states: the similarities to
the query are 0.6917, 0.6876, 0.6547, 0.6490 and 0.5951; with m = 3 the top terms are the three
that the false passages share; N_TF-IDF = 4, N_adv = 4, N_pairs = 6, all six pairs are pairs of
false passages, and those four are removed.
"""

from itertools import combinations

import numpy as np
import pytest

from ragguard import Passage
from ragguard.embedding.vectors import similarity_matrix
from ragguard.inline.ragdefender import group_and_isolate
from ragguard.inline.ragdefender.baseline import RAGDefenderFilter
from ragguard.inline.ragdefender.grouping import (
    choose_strategy,
    clustering_count,
    passages_with_top_terms,
    tfidf_terms,
    top_terms,
    two_clusters,
)
from ragguard.inline.ragdefender.isolation import frequency_scores, isolate, pair_count, top_pairs
from ragguard.text import tokens

QUERY = "Which town is the capital of Sarnland?"
TEXTS = [
    "Orvik, a harbour city, has been the capital of Sarnland for ages.",
    "The parliament sits in Lunde, the capital of Sarnland.",
    "Every child learns that Brenn is the capital city of Sarnland.",
    "Hamra, a city by the lake, is the capital of Sarnland today.",
    "Sarnland is governed from Vester, where museums and theatres line the river.",
]
TO_QUERY = np.array([0.6917, 0.6876, 0.6547, 0.6490, 0.5951])


@pytest.fixture
def rows():
    """Unit rows with the stated similarity to the query, which is the first axis.

    Beside the query, the false passages share the second axis and own one axis each; the genuine
    one owns the third axis.
    """
    rest = np.sqrt(1.0 - TO_QUERY**2)
    made = np.zeros((5, 8))
    made[:, 0] = TO_QUERY
    made[:4, 1] = 0.9 * rest[:4]
    for row in range(4):
        made[row, 3 + row] = np.sqrt(1.0 - 0.9**2) * rest[row]
    made[4, 2] = rest[4]
    return made


def test_the_vectors_are_those_of_the_example(rows):
    query = np.eye(8)[0]
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(5))
    assert rows @ query == pytest.approx(TO_QUERY)
    assert np.diff(TO_QUERY).argmin() == 3  # the widest gap is before the genuine passage


def test_the_two_clusters(rows):
    members = two_clusters(rows)
    assert len(set(members[:4])) == 1
    assert members[4] != members[0]


def test_the_top_terms_and_who_holds_them():
    terms = [tfidf_terms(text) for text in TEXTS]
    top = top_terms(terms, 3)
    assert sorted(top) == ["capital", "city", "sarnland"]
    assert passages_with_top_terms(terms, top) == 4


def test_n_adv_and_the_pairs(rows):
    terms = [tfidf_terms(text) for text in TEXTS]
    assert clustering_count(rows, terms, m=3) == 4
    assert pair_count(4) == 6
    first, second = top_pairs(similarity_matrix(rows), 6)
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == set(combinations(range(4), 2))


def test_the_false_passages_are_isolated(rows):
    similarity = similarity_matrix(rows)
    scores = frequency_scores(similarity, 4)
    assert scores[4] == 0.0
    for i in range(4):
        others = [similarity[i, j] ** 2 for j in range(4) if j != i]
        assert scores[i] == pytest.approx(sum(others))
    assert isolate(similarity, 4).tolist() == [True, True, True, True, False]


def test_the_whole_way_from_passages_to_the_verdict_of_the_baseline(rows):
    passages = [
        Passage(text, embedding=row * scale)
        for text, row, scale in zip(TEXTS, rows, (1.0, 2.0, 0.5, 7.0, 3.0), strict=True)
    ]
    assert choose_strategy(tokens(QUERY)) == "clustering"
    count, isolated, similarity = group_and_isolate(QUERY, passages, None, "auto")
    assert count == 4
    assert isolated.tolist() == [True, True, True, True, False]
    assert similarity == pytest.approx(rows @ rows.T, abs=1e-6)
    judgement = RAGDefenderFilter(None).decide(QUERY, passages, 5)
    assert judgement.attacked
    assert judgement.p_value == 0.0
    assert [evidence.flagged for evidence in judgement.evidence] == [True, True, True, True, False]
    assert judgement.evidence[0].signal == "pair_frequency"
    assert judgement.evidence[4].signal == "none"
