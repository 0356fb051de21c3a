"""The plot of an attribution, computed by hand."""

from __future__ import annotations

import math

import pytest

from ragguard.attribution import Attribution
from ragguard.attribution.result import PassageScore
from ragguard.passage import Passage
from ragguard.review.plots import axes, cut


def attribution(*rows):
    scores = [
        PassageScore(Passage(f"text {n}"), es, sc, gc, rs, responsible)
        for n, (es, sc, gc, rs, responsible) in enumerate(rows)
    ]
    held = [one.passage for one in scores if one.responsible]
    return Attribution("q", "r", "ragorigin", held, scores, len(scores), "poisoning", "why")


def test_points_lie_between_the_lowest_and_the_highest():
    found = attribution(
        (0.0, -4.0, -8.0, -1.0, False), (1.0, -2.0, -2.0, 2.0, True), (0.5, -3.0, -5.0, 0.0, False)
    )
    drawn = axes(found)
    assert [axis.short for axis in drawn] == ["ES", "SC", "GC", "RS"]
    es = drawn[0]
    assert (es.low, es.high) == ("0.00", "1.00")
    # From 3 to 97 %, the responsible one last.
    assert [(p.rank, p.x, p.responsible) for p in es.points] == [
        (1, 3.0, False), (3, 50.0, False), (2, 97.0, True),
    ]  # fmt: skip
    rs = drawn[3]
    assert (rs.cut, rs.cut_value) == (pytest.approx(3 + 94 * 2 / 3, abs=0.01), "1.00")
    assert all(axis.cut is None for axis in drawn[:3])


def test_points_at_one_place_stand_above_each_other():
    found = attribution(*[(0.5, -1.0, -1.0, 0.0, False)] * 6)
    assert [point.lane for point in axes(found)[0].points][:4] == [0, 1, 2, 3]
    assert {point.x for point in axes(found)[0].points} == {50.0}


def test_what_is_not_finite_stands_at_an_end():
    found = attribution(
        (0.0, -1.0, -math.inf, 0.0, False),
        (1.0, -2.0, -3.0, 1.0, True),
        (1.0, -2.0, math.nan, 1.0, True),
    )
    assert [point.x for point in sorted(axes(found)[2].points, key=lambda p: p.rank)] == [
        3.0,
        50.0,
        3.0,
    ]


@pytest.mark.parametrize(
    ("rows", "at"),
    [
        ([(0.0, 0.0, 0.0, 1.0, False), (0.0, 0.0, 0.0, 3.0, True)], 2.0),
        ([(0.0, 0.0, 0.0, 3.0, False), (0.0, 0.0, 0.0, 1.0, True)], None),
        ([(0.0, 0.0, 0.0, 1.0, False)], None),
        ([(0.0, 0.0, 0.0, 1.0, True)], None),
        ([], None),
    ],
)
def test_the_cut_is_in_the_middle_where_there_is_one(rows, at):
    assert cut(attribution(*rows).scores) == at


def test_an_empty_scope_has_no_axes():
    assert axes(attribution()) == []
