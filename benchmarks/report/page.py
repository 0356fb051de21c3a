"""One page of HTML that needs nothing beside it: heat map, charts and tables of a suite."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log10
from pathlib import Path
from statistics import median_high
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader

from benchmarks.report.figures import Shown, pivot, rows_by, share, title_of
from benchmarks.report.table import Table

_MEASURES = {"dacc": "DACC", "fpr": "FPR", "fnr": "FNR"}
_ALPHAS = (0.01, 0.05)  # where the gate is marked: what it may touch of clean traffic
_SHARES = ((0.0, "0"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %"))
_TOUCHED = ((0.001, "0.1 %"), (0.01, "1 %"), (0.05, "5 %"), (0.2, "20 %"), (1.0, "100 %"))
_TIMES = ((0.1, "0.1"), (1.0, "1"), (10.0, "10"), (100.0, "100"))
_LEVELS = 3  # fewer different p-values are no scale


@dataclass(frozen=True)
class Axis:
    """One direction of a chart, from the first of its ticks to the last: values, and their names.

    Where it is `log`, what is below the first tick is drawn there.
    """

    title: str
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies, in [0, 1]."""
        low, high = self.ticks[0][0], self.ticks[-1][0]
        if self.log:
            low, high, value = log10(low), log10(high), log10(max(value, low))
        return float(np.interp(value, (low, high), (0.0, 1.0)))


@dataclass(frozen=True)
class Line:
    """Points (x, y) in the order in which they are joined; grey is what others are held against.

    `marks` get a dot and a name; without them all points do, if they are few.
    """

    name: str
    points: Sequence[tuple[float, float]]
    marks: Sequence[tuple[float, float, str]] = ()
    grey: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines between two axes, with a caption, which the page's template draws."""

    title: str
    note: str
    lines: Sequence[Line]
    x: Axis
    y: Axis


def charts(found: Sequence[Shown]) -> list[Chart]:
    defended = [one for one in found if one.cell.room == "defences" and one.rows]
    by_share = [chart for reader, here in by_reader(defended) for chart in _by_share(reader, here)]
    return [chart for chart in (_roc(defended), *by_share, _by_k(defended)) if chart.lines]


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
    return [(0.0, 0.0), *(_at(p, clean, attacked) for p in sorted({*clean, *attacked}))]


def _at(alpha: float, clean: Sequence[float], attacked: Sequence[float]) -> tuple[float, float]:
    touched, caught = (sum(p <= alpha for p in of) / len(of) for of in (clean, attacked))
    return touched, caught


def _roc(found: Sequence[Shown]) -> Chart:
    """The gate of the first defence that has p-values, a line an attack; and all together."""
    graded = [one for one in found if len({row.get("p") for row in one.rows} - {None}) >= _LEVELS]
    method, k = (graded[0].cell.method, graded[0].cell.k) if graded else ("", 0)
    here = [one for one in found if (one.cell.method, one.cell.k) == (method, k)]
    by_attack = rows_by(here, "attack")
    clean = [float(row["p"]) for row in by_attack.pop(("none",), ())]
    lines = []
    for (attack,), rows in by_attack.items():
        p = [float(row["p"]) for row in rows if row["poison"]]
        if clean and p:
            name = title_of("attacks", attack)
            marks = [(*_at(alpha, clean, p), alpha) for alpha in _ALPHAS]
            told = [(x, y, f"{name}: {y:.0%} found at {alpha:.0%}") for x, y, alpha in marks]
            lines.append(Line(name, roc(clean, p), told))
    note = (
        f"{title_of('defences', method)}, k = {k}: {len(clean)} clean sets, and attacked sets that"
        " hold poison. Dots: where it may touch 1 % and 5 % of clean traffic, as it is calibrated."
    )
    x = Axis("clean sets touched", _TOUCHED, log=True)
    return Chart("What the gate finds, and touches", note, lines, x, Axis("found", _SHARES))


def _by_share(reader: str, found: Sequence[Shown]) -> Iterator[Chart]:
    """Attack success and right answers by planted texts, as RAGDefender's Figure 4 has them."""
    counts = sorted({one.cell.planted for one in found if one.cell.planted})
    if len(counts) < 2:
        return
    # Attacks that all counts were run with, so that a line compares like with like.
    everywhere = set.intersection(
        *({one.cell.attack for one in found if one.cell.planted == count} for count in counts)
    )
    compared = [one for one in found if not one.cell.planted or one.cell.attack in everywhere]
    titles = ", ".join(title_of("attacks", one) for one in sorted(everywhere))
    note = f"{title_of('readers', reader)}; {titles}. At 0 nobody attacks."
    x = Axis("planted texts", [(float(count), str(count)) for count in (0, *counts)])
    by_count = rows_by(compared, "method", "planted")
    for name, said in (("attack_success", "attack success"), ("accuracy", "right answers")):
        lines = []
        for (method,) in rows_by(found, "method"):
            shares = {at: share(by_count.get((method, at), ()), name) for at in (0, *counts)}
            points = [(float(at), value) for at, value in shares.items() if value is not None]
            if len(points) > 2:
                lines.append(Line(title_of("defences", method), points, grey=method == "none"))
        yield Chart(f"{said.capitalize()} by planted texts", note, lines, x, Axis(said, _SHARES))


def _by_k(found: Sequence[Shown]) -> Chart:
    sizes = sorted({one.cell.k for one in found})
    by_size = rows_by([one for one in found if one.cell.method != "none"], "k", "method")
    lines = []
    for method in dict.fromkeys(method for _, method in by_size):
        known = [(k, by_size[k, method]) for k in sizes if (k, method) in by_size]
        points = [(float(k), median_high(float(row["ms"]) for row in rows)) for k, rows in known]
        if len(points) > 1:
            lines.append(Line(title_of("defences", method), points))
    x = Axis("passages, k", [(float(k), str(k)) for k in sizes], log=True)
    note = "Median of all sets, the model not counted; the passages' vectors are given."
    return Chart("Cost against k", note, lines, x, Axis("ms", _TIMES, log=True))


def page(
    title: str, about: Mapping[str, Any], found: Sequence[Shown], tables: Sequence[Table]
) -> str:
    folder = FileSystemLoader(Path(__file__).parent)
    templates = Environment(loader=folder, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    blamed = [one for one in found if one.cell.room == "attributors" and one.rows]
    text: str = templates.get_template("page.html").render(
        title=title,
        about={"machine": {}, **about},
        found=found,
        heat_maps=[_heat_map(reader, here) for reader, here in by_reader(found)],
        charts=charts(found),
        blamed=_blamed(blamed) if blamed else None,
        tables=tables,
    )
    return text


def _heat_map(reader: str, found: Sequence[Shown]) -> dict[str, Any]:
    planted = next((one.cell.planted for one in found if one.cell.planted), 0)
    here = [one for one in found if one.cell.planted in (0, planted)]
    attacks, methods, rows = pivot(here)
    reasons = {(one.cell.attack, one.cell.method): one.reason for one in here}

    def cell(attack: str, method: str) -> tuple[str | None, str]:
        if part := rows.get((attack, method)):
            heat, right = (share(part, name) or 0.0 for name in ("attack_success", "accuracy"))
            return f"{100 * heat:.0f}", f"{right:.0%} right answers"
        return None, reasons.get((attack, method)) or "not in the suite"

    return {
        "reader": title_of("readers", reader),
        "planted": planted,
        "methods": list(methods.values()),
        "lines": {said: [cell(attack, one) for one in methods] for attack, said in attacks.items()},
    }


def _blamed(found: Sequence[Shown]) -> dict[str, Any]:
    """Methods and measures down, attacks across, as RAGOrigin's tables are; the best are bold."""
    attacks, methods, rows = pivot(found)
    lines: dict[str, Any] = {said: defaultdict(list) for said in methods.values()}
    for (name, said), attack in product(_MEASURES.items(), attacks):
        shares = [share(rows.get((attack, method), ()), name) for method in methods]
        known = [one for one in shares if one is not None]
        best = (max if name == "dacc" else min)(known, default=None)
        for measures, value in zip(lines.values(), shares, strict=True):
            text = "-" if value is None else f"{value:.2f}"
            measures[said].append((text, value is not None and value == best))
    return {"attacks": list(attacks.values()), "lines": lines}
