"""Comparison with the published `ragdefender` 0.2.0 on the same embeddings.

Where the package follows its paper the answers must be equal. Where it does not, a test states
the difference, so that nobody takes one for the other.
"""

import logging
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

# Both log where no network is; neither needs one.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = pytest.importorskip("torch", reason="the ragdefender package needs torch")
pytest.importorskip("sentence_transformers", reason="the ragdefender package needs it")
ragdefender = pytest.importorskip("ragdefender", reason="needs ragdefender==0.2.0")

from ragdefender.grouping import (  # noqa: E402
    ClusteringBasedGrouping,
    ConcentrationBasedGrouping,
)
from ragdefender.identification import IdentifyAdversarial  # noqa: E402
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: E402

import benchmarks  # noqa: E402
from benchmarks.defences.contenders import guarded, packaged  # noqa: E402
from benchmarks.protocol import beside_package, follows  # noqa: E402
from benchmarks.report.result import read  # noqa: E402
from benchmarks.retrieval import RetrievedSet  # noqa: E402
from ragguard import Guard, Passage  # noqa: E402
from ragguard.embedding.vectors import similarity_matrix  # noqa: E402
from ragguard.inline.ragdefender.grouping import (  # noqa: E402  # noqa: E402
    clustering_count,
    concentration_count,
    concentration_factors,
    passages_with_top_terms,
    tfidf_terms,
    top_terms,
    two_clusters,
)
from ragguard.inline.ragdefender.isolation import frequency_scores, isolate  # noqa: E402
from ragguard.text import STOP_WORDS  # noqa: E402

pytestmark = [
    pytest.mark.peer,
    pytest.mark.torch,
    pytest.mark.skipif(
        getattr(ragdefender, "__version__", "0.2.0") != "0.2.0",
        reason="states the behaviour of ragdefender 0.2.0",
    ),
    # Raised inside the package's own dependencies.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
logging.getLogger("sentence_transformers").setLevel(logging.WARNING)

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])

# No word is part of another, none is a stop word of either list, and none is a single letter.
WORDS = "harbour lamp gull pier wool quay bridge ferry storm anchor".split()


class FakeEmbedder:
    """Answers the rows it was made with, as a tensor."""

    def __init__(self, rows):
        self.rows = rows

    def encode(self, texts, convert_to_tensor=False):
        assert len(texts) == len(self.rows)
        return torch.tensor(self.rows) if convert_to_tensor else self.rows


def random_rows(seed, n, d=6):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def random_texts(seed, n):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, size=random.integers(1, 9))) for _ in range(n)]


def their_clustering(rows, texts, m=5):
    return ClusteringBasedGrouping(FakeEmbedder(rows), m=m).estimate_n_adv(texts)


def their_concentration(rows):
    texts = [""] * len(rows)
    return ConcentrationBasedGrouping(FakeEmbedder(rows)).estimate_n_adv(texts)


def our_terms(texts, stop_words=ENGLISH_STOP_WORDS):
    return [tfidf_terms(text, stop_words) for text in texts]


# Where the package follows the paper


@some
@given(seeds, st.integers(2, 14), st.sampled_from([3, 5, 7]))
def test_clustering_counts_are_equal(seed, n, m):
    rows, texts = random_rows(seed, n), random_texts(seed, n)
    terms = our_terms(texts)
    scores = np.sort(list(tfidf_sums(texts).values()))[::-1]
    # Which of two terms with one score is a top term is left open by the paper.
    assume(len(scores) <= m or scores[m - 1] - scores[m] > 1e-9)
    assert clustering_count(rows, terms, m) == their_clustering(rows, texts, m)


def tfidf_sums(texts):
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words=sorted(ENGLISH_STOP_WORDS))
    sums = np.asarray(vectorizer.fit_transform(texts).sum(axis=0)).ravel()
    return dict(zip(vectorizer.get_feature_names_out(), sums, strict=True))


@some
@given(seeds, st.integers(2, 14), st.data(), st.sampled_from([1, 2, 3]))
def test_isolated_passages_are_the_same(seed, n, data, p):
    n_adv = data.draw(st.integers(0, n))
    rows = random_rows(seed, n)
    theirs = IdentifyAdversarial(FakeEmbedder(rows), p=p).select([""] * n, n_adv)
    similarity = similarity_matrix(rows)
    assert set(np.flatnonzero(isolate(similarity, n_adv, p))) == set(theirs)
    if 2 < n_adv < n:
        # Two passages of one pair tie, and their order is the order of rank in both.
        ranking = np.argsort(-frequency_scores(similarity, n_adv, p), kind="stable")[:n_adv]
        assert ranking.tolist() == theirs


@pytest.mark.slow
@some
@given(seeds, st.integers(2, 10))
def test_the_baseline_of_the_guard_drops_what_the_package_drops(seed, n):
    rows, texts = random_rows(seed, n), random_texts(seed, n)
    scores = np.sort(list(tfidf_sums(texts).values()))[::-1]
    assume(len(scores) <= 5 or scores[4] - scores[5] > 1e-9)
    defender = ragdefender.RAGDefender(
        embedder=FakeEmbedder(rows), task_type="single_hop", device="cpu"
    )
    _, removed = defender.defend("query", texts, return_indices=True)
    passages = [
        Passage(text, id=str(number), embedding=row)
        for number, (text, row) in enumerate(zip(texts, rows, strict=True))
    ]
    with Guard.ragdefender(strategy="clustering") as guard:
        verdict = guard.filter("query", passages)
    assert verdict.error is None
    assert [passage.id for passage in verdict.dropped] == [str(number) for number in removed]


@some
@given(seeds, st.integers(2, 12), st.booleans())
def test_where_the_package_counts_as_the_paper_does_the_same_passages_go(seed, n, multi_hop):
    rows, texts = random_rows(seed, n).astype(np.float32), random_texts(seed, n)
    shown = RetrievedSet("query", tuple(texts), rows, np.zeros(n, bool), np.zeros(n, bool))
    scores = np.sort(list(tfidf_sums(texts).values()))[::-1]
    assume(multi_hop or len(scores) <= 5 or scores[4] - scores[5] > 1e-9)
    assume(follows(shown, multi_hop=multi_hop))
    package = packaged("multi_hop" if multi_hop else "single_hop")
    with Guard.ragdefender(strategy="concentration" if multi_hop else "clustering") as guard:
        preset = guarded("preset", guard)
        kept = [one.outcome(one.bind(shown, n)(), n).kept for one in (preset, package)]
    assert kept[0] == kept[1]


def test_the_committed_comparison_is_within_a_point_where_the_package_follows():
    result = read(Path(benchmarks.__file__).with_name("results") / "peers.json")
    followed = [row for row in result["sections"]["defences"] if row["follows"]]
    cells = list(beside_package(followed))
    assert {cell[0] for cell, _, _ in cells} == {"nq", "msmarco", "hotpotqa"}
    assert len(cells) >= 20
    for _, preset, package in cells:
        for what in ("poison", "benign"):
            one, two = (row[f"{what}_removed"] / row[what] for row in (preset, package))
            assert abs(one - two) <= 0.01


# Differences: concentration


def slow_published_concentration(rows):
    """What the package computes, in plain Python."""
    similarity = similarity_matrix(rows).tolist()
    n = len(similarity)
    mean = [sum(row) / n for row in similarity]  # with the 1 of the diagonal
    lower_middle = [sorted(row)[(n - 1) // 2] for row in similarity]
    mean_of_means = sum(mean) / n
    middle = sorted(lower_middle)[(n - 1) // 2]
    found = sum(
        mean[i] > mean_of_means or lower_middle[i] > (middle + mean_of_means) / 2 for i in range(n)
    )
    return found if found > 0 and mean_of_means < middle else n - found


def far_from_every_threshold(rows):
    similarity = similarity_matrix(rows)
    n = len(similarity)
    mean = similarity.mean(axis=1)
    lower = np.sort(similarity, axis=1)[:, (n - 1) // 2]
    middle = np.sort(lower)[(n - 1) // 2]
    gaps = [
        np.abs(mean - mean.mean()).min(),
        np.abs(lower - (middle + mean.mean()) / 2).min(),
        abs(middle - mean.mean()),
    ]
    return min(gaps) > 1e-9


@some
@given(seeds, st.integers(2, 12))
def test_their_concentration_is_what_the_tests_below_say_it_is(seed, n):
    rows = random_rows(seed, n)
    assume(far_from_every_threshold(rows))
    assert their_concentration(rows) == slow_published_concentration(rows)


def rows_of(similarity):
    """Return rows whose cosines are the given matrix, which must be positive semidefinite."""
    values, vectors = np.linalg.eigh(similarity)
    assert values.min() > -1e-12
    return vectors * np.sqrt(np.clip(values, 0, None))


def pairs(n, values, otherwise):
    matrix = np.full((n, n), otherwise) + (1 - otherwise) * np.eye(n)
    for (i, j), value in values.items():
        matrix[i, j] = matrix[j, i] = value
    return matrix


def test_difference_either_factor_is_enough_for_them_both_are_needed_here():
    # The first two have a high mean for their one close pair, and a median like everybody's.
    similarity = pairs(6, {(0, 1): 0.9}, 0.3)
    similarity[2, 3] = similarity[3, 2] = 0.31
    means, medians = concentration_factors(similarity)
    assert set(np.flatnonzero(means > means.mean())) == {0, 1}
    assert set(np.flatnonzero(medians > np.median(medians))) == set()
    assert concentration_count(similarity) == 0
    rows = rows_of(similarity)
    assert slow_published_concentration(rows) == 6 - 2  # found two by the mean, then flipped
    assert their_concentration(rows) == 4


def test_difference_their_diagonal_counts_as_a_similarity():
    similarity = pairs(4, {(0, 1): 0.8, (2, 3): 0.1}, 0.2)
    means, _ = concentration_factors(similarity)
    theirs = similarity.mean(axis=1)
    assert theirs == pytest.approx((3 * means + 1) / 4)


def test_difference_their_median_is_the_lower_middle():
    values = torch.tensor([0.1, 0.2, 0.6, 1.0])
    assert torch.median(values).item() == pytest.approx(0.2)
    assert np.median(values.numpy()) == pytest.approx(0.4)


def test_difference_their_median_threshold_is_halfway_to_the_mean():
    # Passage 0 lies above the median of the medians and below the halfway point to the mean.
    found = None
    for seed in range(2000):
        rows = random_rows(seed, 7, d=3)
        similarity = similarity_matrix(rows)
        mean = similarity.mean(axis=1)
        lower = np.sort(similarity, axis=1)[:, 3]
        middle = np.sort(lower)[3]
        between = (lower > middle) & (lower < (middle + mean.mean()) / 2) & (mean < mean.mean())
        if between.any() and far_from_every_threshold(rows):
            found = rows, int(between.sum())
            break
    assert found is not None
    rows, below_halfway = found
    similarity = similarity_matrix(rows)
    mean, lower = similarity.mean(axis=1), np.sort(similarity, axis=1)[:, 3]
    at_the_median = ((mean > mean.mean()) | (lower > np.sort(lower)[3])).sum()
    counted = their_concentration(rows)
    counted = 7 - counted if mean.mean() >= np.sort(lower)[3] else counted
    assert counted == at_the_median - below_halfway


def test_difference_their_count_is_flipped_when_the_mean_is_not_below_the_median():
    # Three of seven are a tight group. They find those three too, and answer the other four.
    similarity = pairs(7, {(0, 1): 0.91, (0, 2): 0.92, (1, 2): 0.93}, 0.1)
    similarity[:3, 3:] = similarity[3:, :3] = 0.2
    rows = rows_of(similarity)
    assert concentration_count(similarity) == 3
    assert their_concentration(rows) == 7 - 3


def test_difference_a_set_of_equal_passages():
    # Nothing stands out, so nothing is adversarial here; there, all or nothing is, by rounding.
    assert concentration_count(np.ones((5, 5))) == 0
    assert their_concentration(np.tile([1.0, 0.0], (5, 1))) == 5


# Differences: terms


def test_difference_they_look_for_terms_inside_of_words():
    texts = [
        "art gallery art",
        "art school art",
        "a departed party started",
        "gallery",
        "school",
    ]
    terms = our_terms(texts)
    top = top_terms(terms, 1)
    assert top == ["art"]
    assert passages_with_top_terms(terms, top) == 2
    assert ClusteringBasedGrouping(None, m=1)._n_tfidf(texts) == 3


def test_difference_they_look_for_terms_in_the_letters_as_given():
    texts = ["Pier Pier", "Pier", "Gull"]
    terms = our_terms(texts)
    assert passages_with_top_terms(terms, top_terms(terms, 1)) == 2
    assert ClusteringBasedGrouping(None, m=1)._n_tfidf(texts) == 0


def test_difference_the_stop_words():
    assert {"bill", "fire", "system"} <= set(ENGLISH_STOP_WORDS) - STOP_WORDS
    assert {"doesn", "just", "ll"} <= STOP_WORDS - set(ENGLISH_STOP_WORDS)
    texts = ["fire fire fire", "fire pier", "fire gull"]
    assert top_terms(our_terms(texts), 1) != ["fire"]
    assert top_terms(our_terms(texts, STOP_WORDS), 1) == ["fire"]


def test_difference_a_set_without_terms_is_an_error_for_them():
    rows = random_rows(0, 3)
    assert clustering_count(rows, our_terms(["the", "of", ""])) == 1
    with pytest.raises(ValueError, match="empty vocabulary"):
        their_clustering(rows, ["the", "of", ""])


def test_difference_one_passage_is_an_error_for_them():
    rows = random_rows(0, 1)
    assert clustering_count(rows, our_terms(["pier"])) == 0
    with pytest.raises(ValueError, match="minimum of 2"):
        their_clustering(rows, ["pier"])


def test_difference_they_remove_passages_from_every_set_that_two_clusters_split():
    # The reason for a gate: with the same grouping, clean sets lose passages every time.
    for seed in range(20):
        rows, texts = random_rows(seed, 5), random_texts(seed, 5)
        defender = ragdefender.RAGDefender(
            embedder=FakeEmbedder(rows), task_type="single_hop", device="cpu"
        )
        assert len(defender.defend("query", texts)) < 5
        passages = [Passage(text, embedding=row) for text, row in zip(texts, rows, strict=True)]
        with Guard(strategy="clustering") as guard:
            assert guard.filter("Where was the treaty signed?", passages).dropped == []


def test_n_pairs_agree():
    from ragdefender.similarity import n_pairs_for

    from ragguard.inline.ragdefender.isolation import pair_count

    assert [pair_count(n) for n in range(1, 30)] == [n_pairs_for(n) for n in range(1, 30)]


def test_two_clusters_agree_with_the_labels_they_count():
    from sklearn.cluster import AgglomerativeClustering

    for seed in range(20):
        rows = random_rows(seed, 9)
        labels = AgglomerativeClustering(n_clusters=2).fit_predict(rows)
        together = {(i, j) for i, j in combinations(range(9), 2) if labels[i] == labels[j]}
        ours = two_clusters(rows)
        assert together == {(i, j) for i, j in combinations(range(9), 2) if ours[i] == ours[j]}
