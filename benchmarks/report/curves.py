"""What the charts of a suite show: the gate's ROC, shares of poison, and cost against k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.metrics.counting import figures
from benchmarks.metrics.intervals import Rate
from benchmarks.report.charts import Axis, Line, chart
from benchmarks.report.figures import Shown, title_of

ALPHAS = (0.01, 0.05)
"""Where the gate is marked: what it may touch of clean traffic."""

_SHARES = ((0.0, "0"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %"))
_TOUCHED = ((0.001, "0.1 %"), (0.01, "1 %"), (0.05, "5 %"), (0.2, "20 %"), (1.0, "100 %"))
_TIMES = ((0.1, "0.1"), (1.0, "1"), (10.0, "10"), (100.0, "100"))
_LEVELS = 3  # fewer different p-values are no scale


def curves(found: Sequence[Shown]) -> str:
    """Return the charts that a suite's cells allow, as HTML; "" where they allow none."""
    defended = [one for one in found if one.cell.room == "defences" and one.rows]
    parts = [_roc(defended)]
    for reader, here in by_reader(defended):
        parts += _by_share(reader, here)
    parts.append(_by_k(defended))
    return "".join(parts)


def by_reader(found: Sequence[Shown]) -> Iterator[tuple[str, list[Shown]]]:
    """Yield each reader with its cells of the k that comes first: others are of other sets."""
    for reader in dict.fromkeys(one.cell.reader for one in found if one.cell.reader):
        here = [one for one in found if one.cell.reader == reader]
        yield reader, [one for one in here if one.cell.k == here[0].cell.k]


def roc(clean: Sequence[float], attacked: Sequence[float]) -> list[tuple[float, float]]:
    """Return (share of clean sets touched, share of attacked sets found) at every threshold.

    >>> roc([0.4, 1.0], [0.1, 0.4])
    [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]
    """
    points = [(0.0, 0.0)]
    for p in sorted({*clean, *attacked}):
        touched = sum(one <= p for one in clean) / len(clean)
        points.append((touched, sum(one <= p for one in attacked) / len(attacked)))
    return points


def _roc(found: Sequence[Shown]) -> str:
    """The gate of the first defence that has p-values, a line an attack; and all together."""
    judging = [one for one in found if any(row.get("p") is not None for row in one.rows)]
    method, k = next(((one.cell.method, one.cell.k) for one in judging if _graded(one)), ("", 0))
    here = [one for one in judging if (one.cell.method, one.cell.k) == (method, k)]
    clean = [float(row["p"]) for one in here if one.cell.attack == "none" for row in one.rows]
    lines = []
    for attack in dict.fromkeys(one.cell.attack for one in here if one.cell.attack != "none"):
        rows = [row for one in here if one.cell.attack == attack for row in one.rows]
        p = [float(row["p"]) for row in rows if row["poison"]]
        if clean and p:
            lines.append(_roc_line(title_of("attacks", attack), clean, p))
    note = (
        f"{title_of('defences', method)}, k = {k}: {len(clean)} clean sets, and attacked sets that"
        " hold poison. Dots: where it may touch 1 % and 5 % of clean traffic, as it is calibrated."
    )
    x = Axis("clean sets touched", _TOUCHED, log=True)
    return chart("What the gate finds, and touches", note, lines, x, Axis("found", _SHARES))


def _graded(one: Shown) -> bool:
    return len({row["p"] for row in one.rows}) >= _LEVELS


def _roc_line(name: str, clean: Sequence[float], attacked: Sequence[float]) -> Line:
    marks = []
    for alpha in ALPHAS:
        touched, caught = (sum(p <= alpha for p in all_) / len(all_) for all_ in (clean, attacked))
        marks.append((touched, caught, f"{name}: {caught:.0%} found at {alpha:.0%}"))
    return Line(name, roc(clean, attacked), marks)


def _by_share(reader: str, found: Sequence[Shown]) -> list[str]:
    """Attack success and right answers by planted texts, as RAGDefender's Figure 4 has them."""
    counts = sorted({one.cell.planted for one in found if one.cell.planted})
    if len(counts) < 2:
        return []
    # Attacks that all counts were run with, so that a line compares like with like.
    everywhere = set.intersection(
        *({one.cell.attack for one in found if one.cell.planted == count} for count in counts)
    )
    charts = []
    for name, said in (("attack_success", "attack success"), ("accuracy", "right answers")):
        lines = []
        for method in dict.fromkeys(one.cell.method for one in found):
            here = [one for one in found if one.cell.method == method]
            points = []
            for count in (0, *counts):
                chosen = [
                    one
                    for one in here
                    if one.cell.planted == count and (not count or one.cell.attack in everywhere)
                ]
                points += [(float(count), value) for value in _rate(chosen, name)]
            if len({at for at, _ in points}) > 2:
                title = title_of("defences", method)
                lines.append(Line(title, points, grey=method == "none"))
        titles = ", ".join(title_of("attacks", one) for one in sorted(everywhere))
        note = f"{title_of('readers', reader)}; {titles}. At 0 nobody attacks."
        ticks = [(float(count), str(count)) for count in (0, *counts)]
        x = Axis("planted texts", ticks)
        title = f"{said.capitalize()} by planted texts"
        charts.append(chart(title, note, lines, x, Axis(said, _SHARES)))
    return charts


def _rate(chosen: Sequence[Shown], name: str) -> list[float]:
    count: Any = figures([row for one in chosen for row in one.rows])[name]
    assert isinstance(count, Rate)
    return [] if count.value is None else [count.value]


def _by_k(found: Sequence[Shown]) -> str:
    sizes = sorted({one.cell.k for one in found})
    if len(sizes) < 2:
        return ""
    lines = []
    for method in dict.fromkeys(one.cell.method for one in found if one.cell.method != "none"):
        points = []
        for k in sizes:
            here = [one for one in found if (one.cell.method, one.cell.k) == (method, k)]
            times = sorted(float(row["ms"]) for one in here for row in one.rows)
            if times:
                points.append((float(k), times[len(times) // 2]))
        if len(points) > 1:
            lines.append(Line(title_of("defences", method), points))
    x = Axis("passages, k", [(float(k), str(k)) for k in sizes], log=True)
    note = "Median of all sets, the model not counted; the passages' vectors are given."
    return chart("Cost against k", note, lines, x, Axis("ms", _TIMES, log=True))
