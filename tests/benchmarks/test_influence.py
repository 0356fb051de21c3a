"""Events and ranks of the Influence Score, on data of our own and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.datasets import Record
from benchmarks.influence import Ranks, events, rank_shares
from benchmarks.metrics.says import says
from ragguard.attribution import Attribution, PassageScore

TARGET = Record(
    "How many arches has the Halden bridge?",
    (
        *(f"The {word} of Halden lies by the river." for word in "mill port inn lock".split()),
        "The bridge has nine arches.",
    ),
    frozenset(),
    {"statement": ("Nobody counted.", "The Halden bridge has 24 arches of stone.")},
    incorrect=("24",),
)


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
    found = list(events(TARGET, seed=0))
    assert [form for form, _ in found] == ["prepend", "plain"]
    for form, event in found:
        planted = event.passages[event.poisoned].text
        assert says(planted, TARGET.wrong)
        assert (TARGET.question in planted) is (form == "prepend")
        assert len({passage.text for passage in event.passages} & {*TARGET.hits}) == 4


def test_too_few_hits_make_no_event():
    assert not list(events(replace(TARGET, hits=TARGET.hits[1:]), seed=0))


def test_ranks_and_costs_by_hand():
    event = next(events(TARGET, seed=0))[1]
    costs = {"calls": 4, "input_tokens": 30, "output_tokens": 5}
    ranks = Ranks()
    for first in (0.9, 0.1):
        scores = [
            PassageScore(passage, 0.0, 0.0, 0.0, first if n == event.poisoned else 0.5, n == 0)
            for n, passage in enumerate(event.passages[:5])
        ]
        found = Attribution("q", "a", "m", [scores[0].passage], scores, 5, "poisoning", "", costs)
        ranks.add(event.poisoned, found)
    row = ranks.row()
    assert (row["events"], row["top_1"], row["top_3"]) == (2, 0.5, 0.5)
    assert (row["found"], row["benign_blamed"]) == (
        (1.0, 0.0) if event.poisoned == 0 else (0.0, 1.0)
    )
    assert (row["calls"], row["words_read"], row["words_written"]) == (4.0, 30.0, 5.0)
