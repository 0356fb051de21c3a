"""What the page draws: drops, p-values and drift by day, and the scope of an attribution.

An attribution is drawn as where each passage in scope lies in ES, SC, GC and RS, and the cut.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit.records import AuditStore, ScoredQuery
from ragguard.audit.verdicts import KEPT_VERDICTS, VerdictRecord
from ragguard.inline.drift import Drift, drift
from ragguard.review.request import Settings, Visit
from ragguard.score_records import recent_p_values

_AT_ONCE = 500  # verdicts

DAYS = 30
"""How many days the charts show, today the last."""

_LEFT, _WIDE = 3.0, 94.0  # where the lowest value is drawn, and how far from it the highest, in %
_NEAR = 2.2  # points nearer to each other are drawn one above the other, in %
_LANES = 4

_NAMES = (
    ("ES", "embedding_similarity", "embedding similarity", "cosine of question and passage"),
    ("SC", "semantic_correlation", "semantic correlation", "question given the passage, nats"),
    ("GC", "generation_influence", "generation influence", "answer given the passage, nats"),
    ("RS", "responsibility", "responsibility", "the three together, standard deviations"),
)


@dataclass(frozen=True)
class Day:
    """What the record of one day, in UTC, says."""

    day: date
    dropped: int  # passages, of the verdicts that are kept
    marked: int
    failed: int  # verdicts that could not be given, or not whole
    compared: Drift  # the day's queries against the calibration
    # The p-value that a tenth, half and nine tenths of the queries recorded are below.
    low: float | None
    middle: float | None
    high: float | None


def by_day(
    verdicts: Iterable[VerdictRecord],
    scores: Sequence[ScoredQuery],
    today: date,
    settings: Settings,
) -> list[Day]:
    """Return the last `DAYS` days up to `today`, UTC, oldest first as the scores are."""
    alpha = settings.alpha
    told: dict[date, list[VerdictRecord]] = defaultdict(list)
    scored: dict[date, list[ScoredQuery]] = defaultdict(list)
    for verdict in verdicts:
        told[verdict.recorded_at.date()].append(verdict)
    for record in scores:
        scored[record.recorded_at.date()].append(record)
    found = []
    for day in [today - timedelta(days=ago) for ago in reversed(range(DAYS))]:
        outcomes = [passage.outcome for verdict in told[day] for passage in verdict.passages]
        p_values, calibrated = recent_p_values(scored[day], settings.calibration, alpha=alpha)
        spread = np.quantile(p_values, (0.1, 0.5, 0.9)).tolist() if len(p_values) else [None] * 3
        counts = outcomes.count("dropped"), outcomes.count("marked")
        failed = sum(verdict.error is not None for verdict in told[day])
        found.append(Day(day, *counts, failed, drift(p_values, calibrated, alpha), *spread))
    return found


def _since(store: AuditStore, day: date) -> Iterator[VerdictRecord]:
    """Yield the verdicts since a day, the newest first: not all of their texts at once."""
    moment, left = None, KEPT_VERDICTS
    while left > 0:
        found = store.verdicts(limit=min(left, _AT_ONCE), before=moment)
        yield from found
        if len(found) < _AT_ONCE or found[-1].recorded_at.date() < day:
            return
        moment, left = found[-1].recorded_at, left - len(found)


def charts(visit: Visit) -> dict[str, Any]:
    """The charts, and their figures as a table."""
    settings, today = visit.settings, datetime.now(UTC).date()
    verdicts = _since(visit.store, today - timedelta(days=DAYS))
    days = by_day(verdicts, visit.store.scores(), today, settings)
    most = max([day.dropped + day.marked for day in days] + [1])
    shares = [day.compared.above / day.compared.queries for day in days if day.compared.queries]
    top = max([*shares, 4 * settings.alpha])
    return {"days": days, "most": most, "top": top, "alpha": settings.alpha}


@dataclass(frozen=True)
class Point:
    """One passage on an axis."""

    x: float  # in percent of the plot's width
    lane: int  # how many points near it stand below it
    rank: int  # its place in the scope, from 1
    responsible: bool
    value: str  # its score, as it is written


@dataclass(frozen=True)
class Axis:
    """One score of all passages in scope."""

    short: str  # "ES", "SC", "GC" or "RS"
    name: str
    unit: str  # what it measures
    low: str  # the lowest value, as it is written
    high: str
    points: list[Point]  # the responsible ones last, so that they are drawn on top
    cut: float | None = None  # where the responsible ones begin, in percent
    cut_value: str = ""


def cut(scores: Sequence[PassageScore]) -> float | None:
    """Return the responsibility that parts who is held responsible from the rest.

    That is the middle between the two, where there is one: what else decides, such as the question
    within a text, may hold a passage responsible that has less than one that is not.
    """
    high = [one.responsibility for one in scores if one.responsible]
    low = [one.responsibility for one in scores if not one.responsible]
    if not high or not low or not max(low) < min(high):
        return None
    return (max(low) + min(high)) / 2.0


def axes(found: Attribution) -> list[Axis]:
    """Return the four axes of an attribution, or none where nothing is in scope."""
    return [_axis(*names, found.scores) for names in _NAMES] if found.scores else []


def _axis(short: str, field: str, name: str, unit: str, scores: Sequence[PassageScore]) -> Axis:
    values = [float(getattr(one, field)) for one in scores]
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    span = high - low

    def place(value: float) -> float:
        if not math.isfinite(value):  # likelihoods of what a model rules out
            return _LEFT + _WIDE if value > 0 else _LEFT
        return _LEFT + _WIDE * ((value - low) / span if span else 0.5)

    ends = [-math.inf] * _LANES  # where the last point of each lane stands
    points = []
    for x, row in sorted((place(value), row) for row, value in enumerate(values)):
        lane = next((lane for lane in range(_LANES) if x - ends[lane] >= _NEAR), row % _LANES)
        ends[lane] = x
        held = scores[row].responsible
        points.append(Point(round(x, 2), lane, row + 1, held, f"{values[row]:.3g}"))
    points.sort(key=lambda point: (point.responsible, point.rank))
    parted = cut(scores) if short == "RS" else None
    at, written = (None, "") if parted is None else (round(place(parted), 2), f"{parted:.2f}")
    return Axis(short, name, unit, f"{low:.2f}", f"{high:.2f}", points, at, written)
