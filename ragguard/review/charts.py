"""Drops, p-values and drift by day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np

from ragguard.audit.records import AuditStore, ScoredQuery
from ragguard.audit.verdicts import KEPT_VERDICTS, VerdictRecord
from ragguard.inline.conformal import Calibration
from ragguard.inline.drift import Drift, drift
from ragguard.inline.scoring import SCORER
from ragguard.recorded import recent_p_values
from ragguard.review.visit import Page, Visit

__all__ = ["DAYS", "Day", "by_day", "charts"]

_AT_ONCE = 500  # verdicts

DAYS = 30
"""How many days the charts show, today the last."""


@dataclass(frozen=True)
class Day:
    """What one day's record says.

    Attributes:
        day: Which, UTC.
        dropped: Passages that were dropped, of the verdicts that are kept.
        marked: Passages that were marked.
        failed: Verdicts that could not be given, or not whole.
        compared: The day's queries against the calibration.
        low: p-value that a tenth of the queries recorded is below, or None without any.
        middle: p-value that half of them are below.
        high: p-value that nine tenths are below.
    """

    day: date
    dropped: int
    marked: int
    failed: int
    compared: Drift
    low: float | None
    middle: float | None
    high: float | None


def by_day(
    verdicts: Iterable[VerdictRecord],
    scores: Sequence[ScoredQuery],
    *,
    today: date,
    alpha: float,
    calibration: Calibration | None = None,
) -> list[Day]:
    """Return the last `DAYS` days, oldest first.

    Args:
        verdicts: Those that are kept.
        scores: What queries scored, oldest first.
        today: The last day, UTC.
        alpha: The share of clean queries that the guards may touch.
        calibration: Theirs; None: the shipped one.
    """
    days = [today - timedelta(days=ago) for ago in reversed(range(DAYS))]
    told: dict[date, list[VerdictRecord]] = {day: [] for day in days}
    scored: dict[date, list[ScoredQuery]] = {day: [] for day in days}
    for verdict in verdicts:
        told.get(verdict.recorded_at.date(), []).append(verdict)
    for record in scores:
        scored.get(record.recorded_at.date(), []).append(record)
    return [_day(day, told[day], scored[day], alpha, calibration) for day in days]


def _day(
    day: date,
    verdicts: Sequence[VerdictRecord],
    scores: Sequence[ScoredQuery],
    alpha: float,
    calibration: Calibration | None,
) -> Day:
    outcomes = [passage.outcome for verdict in verdicts for passage in verdict.passages]
    p_values, calibrated = recent_p_values(scores, SCORER, calibration, alpha=alpha)
    spread = np.quantile(p_values, (0.1, 0.5, 0.9)).tolist() if len(p_values) else [None] * 3
    return Day(
        day,
        outcomes.count("dropped"),
        outcomes.count("marked"),
        sum(verdict.error is not None for verdict in verdicts),
        drift(p_values, calibrated, alpha),
        *spread,
    )


def _since(store: AuditStore, day: date) -> Iterator[VerdictRecord]:
    """Yield the verdicts since a day, the newest first: not all of their texts at once."""
    moment, left = None, KEPT_VERDICTS
    while left > 0:
        found = store.verdicts(limit=min(left, _AT_ONCE), before=moment)
        yield from found
        if len(found) < _AT_ONCE or found[-1].recorded_at.date() < day:
            return
        moment, left = found[-1].recorded_at, left - len(found)


def charts(visit: Visit) -> Page:
    """The charts, and their figures as a table."""
    settings, today = visit.settings, datetime.now(UTC).date()
    days = by_day(
        _since(visit.store, today - timedelta(days=DAYS)),
        visit.store.scores(),
        today=today,
        alpha=settings.alpha,
        calibration=settings.calibration,
    )
    most = max([day.dropped + day.marked for day in days] + [1])
    shares = [day.compared.above / day.compared.queries for day in days if day.compared.queries]
    top = max([*shares, 4 * settings.alpha])
    shows = {"days": days, "most": most, "top": top, "alpha": settings.alpha}
    return Page("charts.html", "Charts", shows)
