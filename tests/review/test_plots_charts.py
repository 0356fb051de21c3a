"""The figures of the charts, by day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from ragguard.audit.records import ScoredQuery
from ragguard.audit.verdicts import JudgedPassage, VerdictRecord
from ragguard.inline.scoring import SCORER
from ragguard.review.plots import DAYS, by_day
from ragguard.review.request import Settings

TODAY = date(2030, 3, 1)
NOON = datetime(2030, 3, 1, 12, tzinfo=UTC)


def passage(outcome):
    return JudgedPassage("id", "0" * 32, outcome, "verbatim_question", 1.0, 5.0, "why")


def verdict(ago, *outcomes, error=None):
    passages = tuple(map(passage, outcomes))
    return VerdictRecord(
        f"v{ago}{outcomes}", "q", True, 0.01, "filter", error, 5, 5 - len(outcomes), passages, "c",
        SCORER, "1", NOON - timedelta(days=ago),
    )  # fmt: skip


def scored(ago, score):
    moment = NOON - timedelta(days=ago)
    return ScoredQuery(score, (score,) * 5, False, score > 5.0, SCORER, moment)


def test_each_day_has_its_own():
    days = by_day(
        [
            verdict(0, "dropped", "dropped", "marked"),
            verdict(0, "undecided", error="out of time"),
            verdict(2, "dropped", "flagged"),
            verdict(DAYS, "dropped"),
        ],
        [],
        TODAY,
        Settings(),
    )
    assert [day.day for day in days] == [TODAY - timedelta(days=n) for n in reversed(range(DAYS))]
    told = {day.day: (day.dropped, day.marked, day.failed) for day in days}
    assert told.pop(TODAY) == (2, 1, 1)
    assert told.pop(TODAY - timedelta(days=2)) == (1, 0, 0)
    assert set(told.values()) == {(0, 0, 0)}


def test_a_day_on_which_the_gate_fires_too_often_has_drifted():
    quiet = [scored(1, -5.0) for _ in range(60)]
    loud = [scored(0, 50.0) for _ in range(20)] + [scored(0, -5.0) for _ in range(40)]
    other = replace(scored(0, 50.0), scorer="another")
    days = by_day([], [*quiet, *loud, other], TODAY, Settings())
    yesterday, today = days[-2:]
    assert (yesterday.compared.queries, yesterday.compared.above) == (60, 0)
    assert not yesterday.compared.drifted
    assert (today.compared.queries, today.compared.above) == (60, 20)
    assert today.compared.drifted
    assert today.low <= 0.01 < today.middle <= today.high <= 1.0
    assert yesterday.middle == pytest.approx(today.high)


def test_a_day_without_queries_has_no_p_values():
    [*_, today] = by_day([], [], TODAY, Settings())
    assert (today.low, today.middle, today.high) == (None, None, None)
    assert (today.compared.queries, today.compared.drifted) == (0, False)
