"""What each signal is worth: `python -m benchmarks.signal_worth --data DIR --json FILE`.

One signal is left out, and the weights, the offsets and the gate's threshold are chosen anew on the
choosing half; what the gate then detects is counted on the report half, over k = 5 and 10, with and
without three times as many passages fetched. With the built-in embedder.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets.reading import load_with_reading
from benchmarks.embedders import built_in
from benchmarks.fit_manner import FOLDS, fit_folds
from benchmarks.fitting.detectors import fit_detector, left_out_scores, score, with_manner
from benchmarks.fitting.offsets import ALPHA, offsets
from benchmarks.fitting.samples import PLANS, Plan, Samples, drawn, samples, thinned
from benchmarks.forms import FITTED_FORMS, HELD_OUT_FORMS
from benchmarks.metrics.outcomes import Counts
from benchmarks.report.table import Table
from ragguard.inline.conformal import Calibration
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import BY_HAND, SCORER, Detector

Floats = NDArray[np.float64]
Detectors = tuple[Mapping[str, Plan], Mapping[str, Detector]]
"""Those to fit, and those that are set by hand."""

_GROUPS = {
    "question in front": ("prepend",),
    "other fitted forms": tuple(form for form in FITTED_FORMS if form not in {"prepend", "plain"}),
    "held-out forms": HELD_OUT_FORMS,
    "plain": ("plain",),
}


def left_out() -> Iterator[tuple[str, Detectors]]:
    """Yield the detectors as they are, under "", and then without each signal, under its name."""
    for signal in ("", *SIGNALS):
        plans = {
            name: replace(plan, signals=tuple(one for one in plan.signals if one != signal))
            for name, plan in PLANS.items()
        }
        kept = {name: plan for name, plan in plans.items() if plan.signals}
        yield signal, (kept, {n: one for n, one in BY_HAND.items() if signal not in one.weights})


def detected(
    choosing: Samples, report: Samples, changes: Iterator[tuple[str, Detectors]]
) -> Iterator[dict[str, Any]]:
    """Yield what is detected after each change, by form and number of planted texts."""
    folds = np.unique(choosing.folds).tolist()

    @cache  # a plan is fitted once, however many changes leave it alone
    def fitted(plan: Plan, without: int | None) -> Detector:
        kept = choosing if without is None else choosing.where(choosing.folds != without)
        return fit_detector(plan, kept)

    for name, (plans, by_hand) in changes:
        part = {
            one: with_manner({key: fitted(plan, one) for key, plan in plans.items()})
            for one in (None, *folds)
        }
        cross = {
            key: left_out_scores(choosing, {fold: part[fold][key] for fold in folds})
            for key in plans
        }
        shift = offsets(choosing, cross, {key: one.bias for key, one in part[None].items()})
        chosen = [cross[key] + shift[key] for key in plans]
        seen = [report.highest(score(part[None][key], report)) + shift[key] for key in plans]
        chosen += [choosing.highest(score(one, choosing)) for one in by_hand.values()]
        seen += [report.highest(score(one, report)) for one in by_hand.values()]
        hit = _fires(choosing, report, np.max(chosen, axis=0), np.max(seen, axis=0))
        rows = Counts("sets", "detected")
        for sample, fired in zip(report.found, hit.tolist(), strict=True):
            place = {"without": name, "form": sample.form, "planted": sample.count}
            rows.add(place, {"sets": 1, "detected": fired})
        yield from rows.rows()


def _fires(choosing: Samples, report: Samples, chosen: Floats, seen: Floats) -> NDArray[np.bool_]:
    """Return for which sets of the report half the gate fires, by the choosing half's threshold."""
    hit = np.zeros(len(seen), dtype=bool)
    for setting in dict.fromkeys(sample.setting for sample in choosing.found):
        k, with_reference = setting
        own = np.array([sample.setting == setting for sample in choosing.found])
        here = np.array([sample.setting == setting for sample in report.found])
        clean = chosen[own & choosing.clean]
        calibration = Calibration(clean, clean, k, with_reference, SCORER, "choosing half")
        calibration.require(ALPHA)
        hit[here] = seen[here] >= calibration.threshold(ALPHA, k)
    return hit


def tables(sections: Mapping[str, Any]) -> list[Table]:
    """Return the table of a result: shares with all signals, then differences in points."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    for row in sections["signal_worth"]:
        shares = found.setdefault(row["without"], {})
        shares[row["form"], row["planted"]] = 100 * row["detected"] / row["sets"]
    lines = []
    for name, shares in found.items():
        cells = [f"{shares['clean', 0]:.2f}"]
        for forms in _GROUPS.values():
            here = [[key for form in forms if (key := (form, count)) in shares] for count in (1, 5)]
            points = [_points([(found[""][key], shares[key]) for key in part]) for part in here]
            means = [fmean(shares[key] for key in part) if part else None for part in here]
            whole = ["-" if one is None else f"{one:.1f}" for one in means]
            cells.append(" / ".join(points if name else whole))
        lines.append((name or "all", *cells))
    columns = ("signal", "clean touched, %", *(f"{group}, M = 1 / 5" for group in _GROUPS))
    return [Table("One signal left out", columns, tuple(lines))]


def _points(pairs: Sequence[tuple[float, float]]) -> str:
    return f"{fmean(after - before for before, after in pairs):+.1f}" if pairs else "-"


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = [one.limited(limit) for one in load_with_reading(data)]
    embedder = built_in()
    choosing = list(samples(datasets, [embedder], fit_folds(data, datasets)))
    report = [
        sample
        for dataset in datasets
        for position, record in enumerate(tracked(dataset.report, f"report: {dataset.name}"))
        for forms in [() if thinned(dataset, position) else (*FITTED_FORMS, *HELD_OUT_FORMS)]
        for sample in drawn(record, embedder, forms, position % FOLDS)
    ]
    changes = tracked(list(left_out()), "signals")
    rows = list(detected(Samples(choosing), Samples(report), iter(changes)))
    return {"signal_worth": rows}, datasets
