"""What each signal is worth: `python -m benchmarks.signal_worth --data DIR --json FILE`.

One signal is left out, and the weights, the offsets and the gate's threshold are chosen anew on the
choosing half; what the gate then detects is counted on the report half, over k = 5 and 10, with and
without three times as many passages fetched. With the built-in embedder.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import fmean

import numpy as np

from benchmarks import samples
from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import load_with_reading
from benchmarks.embedders import built_in
from benchmarks.fit_manner import fit_folds
from benchmarks.fit_suspicion import cross_scores, fit_detectors, offsets, score
from benchmarks.forms import FITTED_FORMS, HELD_OUT_FORMS
from benchmarks.metrics.outcomes import Counts
from benchmarks.report.table import Row, Sections, Table, as_is
from benchmarks.samples import ALPHA, COUNTS, PLANS, Floats, Plan, Samples, Setting
from ragguard.inline.conformal import Calibration
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import BY_HAND, SCORER, Detector

Detectors = tuple[Mapping[str, Plan], Mapping[str, Detector]]  # to fit, and set by hand

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
) -> Iterator[Row]:
    """Yield what is detected after each change, by form and number of planted texts."""
    for name, (plans, by_hand) in changes:
        fitted = fit_detectors(choosing, plans)
        cross = cross_scores(choosing, plans)
        shift = offsets(choosing, cross, {key: one.bias for key, one in fitted.items()})
        chosen = [cross[key] + shift[key] for key in plans]
        seen = [report.highest(score(fitted[key], report)) + shift[key] for key in plans]
        for one in by_hand.values():
            chosen.append(choosing.highest(score(one, choosing)))
            seen.append(report.highest(score(one, report)))
        lines = _lines(choosing, np.max(chosen, axis=0))
        rows = Counts("sets", "detected")
        for sample, reached in zip(report.found, np.max(seen, axis=0).tolist(), strict=True):
            place = {"without": name, "form": sample.form, "planted": sample.count}
            rows.add(place, {"sets": 1, "detected": reached >= lines[sample.setting]})
        yield from rows.rows()


def _lines(choosing: Samples, scores: Floats) -> dict[Setting, float]:
    """Return at which score the gate fires, by setting."""
    lines = {}
    for setting in dict.fromkeys(sample.setting for sample in choosing.found):
        own = [sample.setting == setting and not sample.count for sample in choosing.found]
        calibration = Calibration(scores[own], scores[own], *setting, SCORER, "choosing half")
        calibration.require(ALPHA)
        lines[setting] = calibration.threshold(ALPHA, setting[0])
    return lines


def tables(sections: Sections) -> list[Table]:
    """Return the table of a result: shares with all signals, then differences in points."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    for row in sections["signal_worth"]:
        shares = found.setdefault(row["without"], {})
        shares[row["form"], row["planted"]] = 100 * row["detected"] / row["sets"]
    lines = []
    for name, shares in found.items():
        line = {"signal": name or "all", "clean touched, %": f"{shares['clean', 0]:.2f}"}
        for group, forms in _GROUPS.items():
            cells = []
            for count in COUNTS:
                here = [key for form in forms if (key := (form, count)) in shares]
                lost = fmean(shares[key] - found[""][key] for key in here) if here else 0.0
                whole = f"{fmean(shares[key] for key in here):.1f}" if here else "-"
                cells.append(f"{lost:+.1f}" if name and here else whole)
            line[f"{group}, M = 1 / 5"] = " / ".join(cells)
        lines.append(line)
    return [as_is("One signal left out", lines)]


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = [one.limited(limit) for one in load_with_reading(data)]
    embedder = built_in()
    choosing = list(samples.samples(datasets, [embedder], fit_folds(data, datasets)))
    report: list[samples.Sample] = []
    forms = (*FITTED_FORMS, *HELD_OUT_FORMS)
    for dataset in datasets:
        for position, record in enumerate(tracked(dataset.report, f"report: {dataset.name}")):
            report += samples.drawn(dataset.name, position, record, embedder, forms)
    changes = iter(tracked(list(left_out()), "signals"))
    return {"signal_worth": list(detected(Samples(choosing), Samples(report), changes))}, datasets
