"""The benchmarks of the Influence Score, of RAGForensics and of scale, on data of our own."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress

from benchmarks import influence
from benchmarks.influence_rows import rank_shares
from benchmarks.metrics.says import says
from benchmarks.targets import OWN, load_targets


@pytest.fixture
def progress():
    with Progress(console=Console(file=io.StringIO())) as shown:
        yield shown


class TestRankShares:
    @pytest.mark.parametrize(
        ("scores", "shares"),
        [
            ([3.0, 1.0, 2.0], [1.0, 1.0, 1.0]),
            ([1.0, 3.0, 2.0, 0.0], [0.0, 0.0, 1.0]),
            ([1.0, 1.0, 1.0, 1.0], [0.25, 0.5, 0.75]),
            ([1.0, 2.0, 1.0, 1.0], [0.0, 1 / 3, 2 / 3]),
        ],
    )
    def test_by_hand(self, scores, shares):
        assert rank_shares(scores, 0).tolist() == pytest.approx(shares)

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    def test_somebody_ranks_first(self, scores):
        shares = [rank_shares(scores, i) for i in range(len(scores))]
        expected = [min(depth, len(scores)) for depth in (1, 2, 3)]
        assert np.sum(shares, axis=0).tolist() == pytest.approx(expected)


def test_one_of_the_first_five_is_planted():
    ((name, (target, *_)),) = load_targets(None, (), half=1, limit=1)
    assert name == OWN
    for form, event in influence.events(target, seed=0):
        planted = event.passages[event.poisoned].text
        assert says(planted, target.wrong)
        assert (target.question in planted) is (form == "prepend")
        assert sum(passage.text in target.hits for passage in event.passages[:5]) == 4


@pytest.mark.slow
def test_influence_is_measured_on_both_generators(progress):
    found = influence.run(
        None, half=1, limit=2, samples=8, temperatures=[0.1], seed=0, progress=progress
    )
    rows = {(row["generator"], row["form"], row["method"]): row for row in found["ranks"]}
    best = rows["two answers", "prepend", "influence"]
    assert best["found"] == 1.0
    assert best["top_1"] > rows["two answers", "prepend", influence.PRINTED]["top_1"]
    assert best["calls"] == 8 * 7
    assert best["words_read"] == pytest.approx(found["accounting"]["here, k + 2: words read"], 0.3)
    assert found["accounting"]["paper, 2k + 1: sets"] == 11
    assert {row["generator"] for row in found["events"]} == {"reader", "two answers"}
