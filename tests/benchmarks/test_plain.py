"""Scores from vectors by hand, and what is counted with them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import silhouette_samples

from benchmarks import plain
from benchmarks.datasets import Dataset, skerrin
from benchmarks.embedders import built_in
from benchmarks.plain_counts import OURS, SCORES, Limits, SetScores, auc, counts
from benchmarks.plain_tables import best_tables, mean_table
from benchmarks.set_scores import PASSAGE_SCORES, SET_SCORES, SetVectors, nearest, silhouettes

QUERY = np.array([1.0, 0.0])


def at(*degrees):
    """Unit vectors at these angles to the question."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def cos(degrees):
    return float(np.cos(np.radians(degrees)))


# Two passages 10 degrees apart, a third 60 degrees from the second.
SHOWN = at(20, 30, 90)
ALONE = SetVectors(("red pier", "red pier", "old mill"), QUERY, SHOWN, at())
OVER_FETCHED = replace(ALONE, reference=at(50, 60))


def test_nearest_is_never_the_passage_itself():
    assert nearest(ALONE.similarity) == pytest.approx([cos(10), cos(10), cos(60)])


def test_scores_by_hand():
    mean = [(cos(10) + cos(70)) / 2, (cos(10) + cos(60)) / 2, (cos(70) + cos(60)) / 2]
    assert PASSAGE_SCORES["s_mean"](ALONE) == pytest.approx(mean)
    assert PASSAGE_SCORES["s_mean gap"](ALONE) == pytest.approx(np.subtract(mean, np.mean(mean)))
    # The median of two is their mean.
    assert PASSAGE_SCORES["s_median gap"](ALONE) == pytest.approx(np.subtract(mean, mean[0]))
    assert PASSAGE_SCORES["query similarity"](ALONE) == pytest.approx([cos(20), cos(30), cos(90)])
    assert SET_SCORES["mean similarity"](ALONE) == pytest.approx(np.mean(mean))


def test_pair_frequency_of_a_minority_of_one():
    # No passage has more than half of five terms, so N_adv is the smaller cluster, 1: one pair.
    assert SET_SCORES["N_adv, clustering"](ALONE) == pytest.approx(1 / 3)
    expected = [cos(10) ** 2, cos(10) ** 2, 0.0]
    assert PASSAGE_SCORES["pair frequency, clustering"](ALONE) == pytest.approx(expected)


def test_gaps_are_to_the_reference_where_there_is_one():
    gap = PASSAGE_SCORES["query gap"]
    assert gap(ALONE) == pytest.approx([cos(20) - cos(30), 0.0, -cos(30)])
    assert gap(OVER_FETCHED) == pytest.approx([cos(20) - cos(50), cos(30) - cos(50), -cos(50)])
    gap = PASSAGE_SCORES["neighbour gap"]
    assert gap(ALONE) == pytest.approx([0.0, 0.0, cos(60) - cos(10)])
    assert gap(OVER_FETCHED) == pytest.approx([0.0, 0.0, cos(60) - cos(10)])
    mean = SET_SCORES["neighbour gap, mean"]
    assert mean(OVER_FETCHED) == pytest.approx((cos(60) - cos(10)) / 3)


def test_silhouettes_count_against_the_looser_cluster():
    inside, outside = 1 - cos(10), [1 - cos(70), 1 - cos(60)]
    expected = [(far - inside) / far for far in outside] + [0.0]
    members = np.array([True, True, False])
    assert silhouettes(ALONE.similarity, members) == pytest.approx(expected)
    assert PASSAGE_SCORES["silhouette"](ALONE) == pytest.approx(expected)
    two = replace(ALONE, texts=("a", "b", "c", "d"), shown=at(0, 1, 60, 75))
    signs = np.sign(PASSAGE_SCORES["silhouette"](two))
    assert signs.tolist() == [1, 1, -1, -1]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 179), min_size=2, max_size=8), st.data())
def test_silhouettes_are_sklearns(degrees, data):
    size = len(degrees)
    members = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    if members.all() or not members.any() or size < 3:
        return
    rows = at(*(one + 0.37 * place for place, one in enumerate(degrees)))
    distance = np.clip(1.0 - rows @ rows.T, 0.0, None)
    np.fill_diagonal(distance, 0.0)
    expected = silhouette_samples(distance, members, metric="precomputed")
    assert silhouettes(rows @ rows.T, members) == pytest.approx(expected, abs=1e-6)


NUMBERS = st.lists(st.integers(-4, 4), min_size=1, max_size=12)


@given(NUMBERS, NUMBERS)
def test_auc_is_the_share_of_pairs(positive, negative):
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    found = auc(np.array(positive, dtype=float), np.array(negative, dtype=float))
    assert found == pytest.approx(np.mean(pairs))


def scored(value, poisoned=(False, False)):
    """A set of two passages in which every score is `value`, one passage being 1 lower."""
    passages = np.tile([value, value - 1.0], (1 + len(PASSAGE_SCORES), 1))
    return SetScores(np.full(len(SCORES), value), passages, np.array(poisoned))


def test_counts_with_thresholds_of_clean_sets():
    # 99 sets from 0 to 98: at 1 % a score must exceed 98, at 5 % (rank 5) it must exceed 94.
    limits = Limits.of({"a": [scored(float(value)) for value in range(99)]})
    attacked = [scored(value, (True, False)) for value in (94.0, 95.0, 98.0, 98.5)]
    row = counts("a", attacked, limits, poisoned=True)[0]
    assert row["score"] == OURS
    assert (row["sets"], row["sets_at_1%"], row["sets_at_5%"]) == (4, 1, 3)
    assert (row["own_at_1%"], row["own_at_5%"]) == (1, 3)
    # 198 passages, -1 once, 0 to 97 twice, 98 once: at 1 % (rank 1) more than 98.
    assert (row["passages"], row["passages_at_1%"]) == (4, 1)
    assert counts("a", attacked, limits, poisoned=True)[-1]["passages"] == 0


def test_own_units_take_the_level_of_a_dataset_away():
    quiet = [scored(float(value)) for value in range(50)]
    loud = [scored(1000.0 + value) for value in range(50)]
    limits = Limits.of({"quiet": quiet, "loud": loud})
    row = counts("quiet", [scored(60.0, (True, False))], limits, poisoned=True)[0]
    assert (row["sets_at_5%"], row["own_at_5%"]) == (0, 1)


@pytest.fixture(scope="module")
def sections():
    records = skerrin().records
    datasets = [Dataset(name, records[part], split=True) for name, part in PARTS.items()]
    return plain.run(datasets, [built_in()], ["plain"], lambda: None)


PARTS = {"first": slice(0, 6), "second": slice(6, 12)}


@pytest.mark.slow
def test_every_stratum_has_every_score(sections):
    rows = sections["attack"]
    strata = {
        (r["dataset"], r["kind"], r["planted"], r["k"], r["over_fetch"], r["score"]) for r in rows
    }
    assert len(strata) == len(rows)
    assert {score for *_, score in strata} == set(SCORES)
    for row in rows:
        assert 0 <= row["sets_at_1%"] <= row["sets_at_5%"] <= row["sets"]
        assert 0 <= row["auc"] <= 1
        assert (row["passage_auc"] is None) == (row["passages"] == 0)


@pytest.mark.slow
def test_clean_rows_are_of_the_report_half(sections):
    assert {(row["dataset"], row["sets"]) for row in sections["clean"]} == {
        ("first", 3),
        ("second", 3),
    }


@pytest.mark.slow
def test_tables(sections):
    table = mean_table("plain", sections["attack"], sections["clean"])
    assert [row[0] for row in table.rows] == list(SCORES)
    assert all(len(row) == len(table.columns) for row in table.rows)
    for cut in best_tables("plain", sections["attack"]):
        assert cut.rows
        assert all(len(row) == len(cut.columns) for row in cut.rows)


def test_the_best_vector_score_is_not_ours_and_not_fitted():
    rows = [
        {
            "score": score,
            "planted": 1,
            "sets": 10,
            "own_at_1%": caught,
            "own_at_5%": caught,
            **dict.fromkeys(("dataset", "kind", "embedder", "k", "over_fetch"), "x"),
        }
        for score, caught in ((OURS, 9), ("s_mean", 2), ("query gap", 4), ("fitted: all", 8))
    ]
    table = next(best_tables("plain", rows))
    assert table.rows[0][2:5] == ("90.0%", "40.0% (query gap)", "80.0%")
