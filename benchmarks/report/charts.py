"""Line charts as SVG that a page holds in itself; colours are the page's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from math import log10

_WIDTH, _HEIGHT = 460, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 24, 12, 44
_COLOURS = 7  # beside grey


@dataclass(frozen=True)
class Axis:
    """One direction of a chart.

    Attributes:
        title: What it shows.
        ticks: Values with what stands at them; the first and the last are its ends.
        log: Equal ratios are equally long; what is below the first tick is drawn there.
    """

    title: str
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies, in [0, 1]."""
        low, high = self.ticks[0][0], self.ticks[-1][0]
        inside = min(max(value, low), high)
        if self.log:
            low, high, inside = log10(low), log10(high), log10(inside)
        return (inside - low) / (high - low)


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes:
        name: What the legend calls it.
        points: x and y, in the order in which they are joined.
        marks: Points that get a dot and a name.
        grey: What the others are held against.
    """

    name: str
    points: Sequence[tuple[float, float]]
    marks: Sequence[tuple[float, float, str]] = ()
    grey: bool = False


def chart(title: str, note: str, lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """Return a figure with its legend and caption; "" without lines."""
    if not lines:
        return ""
    parts, legend = [_grid(x, y)], []
    colours = count(1)
    for line in lines:
        colour = "c0" if line.grey else f"c{(next(colours) - 1) % _COLOURS + 1}"
        drawn = " ".join(f"{_x(x, a):.1f},{_y(y, b):.1f}" for a, b in line.points)
        parts.append(f"<polyline class='{colour}' points='{drawn}'/>")
        dots = line.marks or ([(*one, "") for one in line.points] if len(line.points) < 9 else ())
        for a, b, name in dots:
            at = f"cx='{_x(x, a):.1f}' cy='{_y(y, b):.1f}'"
            text = f"<title>{escape(name or f'{line.name}: {b:.3g}')}</title>"
            parts.append(f"<circle class='{colour}' {at} r='3.5'>{text}</circle>")
        legend.append(f"<li><i class='{colour}'></i>{escape(line.name)}</li>")
    return (
        f"<figure><h3>{escape(title)}</h3><svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img'"
        f" aria-label='{escape(title)}'>{''.join(parts)}</svg>"
        f"<ul class='legend'>{''.join(legend)}</ul>"
        f"<figcaption>{escape(note)}</figcaption></figure>"
    )


def _grid(x: Axis, y: Axis) -> str:
    left, right, foot = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for value, text in y.ticks:
        at = _y(y, value)
        parts.append(f"<line class='grid' x1='{left}' x2='{right}' y1='{at:.1f}' y2='{at:.1f}'/>")
        parts.append(f"<text x='{left - 6}' y='{at + 4:.1f}' text-anchor='end'>{text}</text>")
    for value, text in x.ticks:
        at = _x(x, value)
        parts.append(f"<line class='grid' x1='{at:.1f}' x2='{at:.1f}' y1='{_TOP}' y2='{foot}'/>")
        parts.append(f"<text x='{at:.1f}' y='{foot + 16}' text-anchor='middle'>{text}</text>")
    middle = (left + right) / 2
    parts.append(
        f"<text class='axis' x='{middle:.0f}' y='{_HEIGHT - 8}' text-anchor='middle'>"
        f"{escape(x.title)}</text><text class='axis' text-anchor='middle'"
        f" transform='translate(12 {(_TOP + foot) / 2:.0f}) rotate(-90)'>{escape(y.title)}</text>"
    )
    return "".join(parts)


def _x(axis: Axis, value: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * axis.place(value)


def _y(axis: Axis, value: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * axis.place(value)
