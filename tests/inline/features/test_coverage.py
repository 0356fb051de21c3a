"""Shares on a scale of their own, and the weight of words in and outside a stretch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.features.coverage import Match, idf_coverage, leads, rescale
from ragguard.inline.tokens import TokenizedPassage, tokenize_query

ends = st.tuples(st.floats(0.0, 0.5), st.floats(0.6, 1.0))
WEIGHTS = {"pier": 0.5, "lamp": 0.3, "tide": 0.2}
words = st.lists(st.sampled_from([*WEIGHTS, "wool", "the"]), max_size=8)


def outside(stretch, said, weights=WEIGHTS):
    query, passage = tokenize_query(" ".join(weights)), TokenizedPassage(tuple(said))
    return Match(query, passage, weights, 1.0).outside(stretch)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, 0.0), (0.4, 0.0), (0.5, 0.25), (0.7, 0.75), (0.8, 1.0), (9.0, 1.0)],
)
def test_a_ramp_by_hand(share, expected):
    assert rescale(share, (0.4, 0.8)) == pytest.approx(expected)


@given(st.floats(-1.0, 2.0), st.floats(-1.0, 2.0), ends)
def test_a_ramp_rises_from_0_at_its_lower_end_to_1_at_its_upper(one, other, between):
    assert 0.0 <= rescale(one, between) <= 1.0
    assert rescale(min(one, other), between) <= rescale(max(one, other), between)
    assert [rescale(end, between) for end in between] == [0.0, 1.0]
    assert rescale(sum(between) / 2, between) == pytest.approx(0.5)


def test_the_weight_of_a_stretch_by_hand():
    assert idf_coverage(["pier", "wool", "pier"], WEIGHTS) == 0.5
    assert idf_coverage(("lamp", "tide"), WEIGHTS) == 0.5
    assert idf_coverage([], WEIGHTS) == idf_coverage(["pier"], {}) == 0.0


def test_outside_a_stretch_by_hand():
    said = ["pier", "lamp", "pier"]
    assert outside([], said) == 0.8
    assert outside(["pier"], said) == 0.8
    assert outside(["pier", "pier"], said) == 0.3
    assert outside(("pier", "lamp", "pier", "the"), said) == 0.0


@given(words, words, words)
def test_what_stands_outside_a_stretch_is_what_is_said_before_or_after_it(before, stretch, after):
    said = before + stretch + after
    assert outside(stretch, said) == idf_coverage(before + after, WEIGHTS)
    assert idf_coverage(said, WEIGHTS) == pytest.approx(sum(WEIGHTS.get(one, 0) for one in {*said}))


def test_rounding_makes_no_share_larger_than_1():
    tenths = {f"word{number}": 0.1 + 1e-12 for number in range(10)}
    assert idf_coverage(list(tenths), tenths) == 1.0
    assert outside([], tenths, tenths) == 1.0


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=14))
def test_a_lead_is_over_the_mean_of_the_first_others(coverage):
    expected = []
    for row, held in enumerate(coverage):
        others = [other for at, other in enumerate(coverage[:10]) if at != row]
        expected.append(held - sum(others) / len(others) if others else 0.0)
    assert leads(coverage) == pytest.approx(expected)
