"""An attribution as a plot: where each passage in scope lies in ES, SC, GC and RS, and the cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragguard.attribution.result import Attribution, PassageScore

__all__ = ["Axis", "Point", "axes", "cut"]

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
class Point:
    """One passage on an axis.

    Attributes:
        x: Where, in percent of the plot's width.
        lane: How many points near it stand below it.
        rank: Its place in the scope, from 1.
        responsible: Whether it is held responsible.
        value: Its score, as it is written.
    """

    x: float
    lane: int
    rank: int
    responsible: bool
    value: str


@dataclass(frozen=True)
class Axis:
    """One score of all passages in scope.

    Attributes:
        short: "ES", "SC", "GC" or "RS".
        name: In words.
        unit: What it measures.
        low: The lowest value, as it is written.
        high: The highest value.
        points: The passages; the responsible ones last, so that they are drawn on top.
        cut: Where the responsible ones begin, in percent, or None.
        cut_value: The same, as it is written.
    """

    short: str
    name: str
    unit: str
    low: str
    high: str
    points: list[Point]
    cut: float | None = None
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
    parted = cut(scores) if short == "RS" else None
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    span = high - low

    def place(value: float) -> float:
        if not math.isfinite(value):  # likelihoods of what a model rules out
            return _LEFT + _WIDE if value > 0 else _LEFT
        return _LEFT + _WIDE * ((value - low) / span if span else 0.5)

    ends = [-math.inf] * _LANES  # where the last point of each lane stands
    points = []
    for row in sorted(range(len(values)), key=lambda row: place(values[row])):
        x = place(values[row])
        lane = next((lane for lane in range(_LANES) if x - ends[lane] >= _NEAR), row % _LANES)
        ends[lane] = x
        points.append(
            Point(round(x, 2), lane, row + 1, scores[row].responsible, f"{values[row]:.3g}")
        )
    points.sort(key=lambda point: (point.responsible, point.rank))
    at = None if parted is None else round(place(parted), 2)
    written = "" if parted is None else f"{parted:.2f}"
    return Axis(short, name, unit, f"{low:.2f}", f"{high:.2f}", points, at, written)
