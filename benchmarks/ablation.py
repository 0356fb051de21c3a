"""What each signal and each detector is worth: `python -m benchmarks.ablation --data DIR`.

One signal or detector is left out, or one candidate that was tried and dropped is given to every
detector. Each time the weights, the offsets and the threshold of the gate are chosen anew on the
choosing half, and what the gate detects is counted on the report half, over k = 5 and 10 with and
without three times as many passages fetched. With the built-in embedder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.ablation_tables import tables
from benchmarks.candidates import CANDIDATES, with_candidates
from benchmarks.command import run_built_in
from benchmarks.datasets import Dataset, Record
from benchmarks.fit_manner import FOLDS, fit_folds, under
from benchmarks.fitting.detectors import (
    fit_detector,
    left_out_scores,
    score,
    with_manner,
)
from benchmarks.fitting.offsets import ALPHA, offsets
from benchmarks.fitting.plans import PLANS, Plan
from benchmarks.fitting.samples import (
    COUNTS,
    KINDS,
    Sample,
    Samples,
    drawn,
    sets_of,
    thinned,
)
from benchmarks.forms import FITTED_FORMS, HELD_OUT_FORMS
from ragguard.embedding import Embedder
from ragguard.inline.conformal import Calibration
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import BY_HAND, SCORER, Detector

__all__ = ["SOUPS", "Change", "Refits", "changes", "main", "run", "soup"]

Floats = NDArray[np.float64]

SOUPS: Mapping[str, int] = {"soup": 20, "long_soup": 50}
"""Forms that only the signal `gibberish` is for: how many words are put in front."""

_REPORTED = (*FITTED_FORMS, *HELD_OUT_FORMS)


@dataclass(frozen=True)
class Change:
    """One change to the detectors.

    Attributes:
        kind: "none", "without signal", "without detector" or "with candidate".
        name: Of what is left out or added.
        plans: The detectors to fit.
        by_hand: Those that are not fitted.
    """

    kind: str
    name: str
    plans: Mapping[str, Plan]
    by_hand: Mapping[str, Detector]


def changes() -> Iterator[Change]:
    """Yield no change, then every change."""
    yield Change("none", "", PLANS, BY_HAND)
    for signal in SIGNALS:
        plans = {name: _without(plan, signal) for name, plan in PLANS.items()}
        yield Change(
            "without signal",
            signal,
            {name: plan for name, plan in plans.items() if plan.signals},
            {name: one for name, one in BY_HAND.items() if signal not in one.weights},
        )
    for left_out in (*PLANS, *BY_HAND):
        yield Change(
            "without detector",
            left_out,
            {name: plan for name, plan in PLANS.items() if name != left_out},
            {name: one for name, one in BY_HAND.items() if name != left_out},
        )
    for candidate in CANDIDATES:
        plans = {
            name: replace(plan, signals=(*plan.signals, candidate)) for name, plan in PLANS.items()
        }
        yield Change("with candidate", candidate, plans, BY_HAND)


def _without(plan: Plan, signal: str) -> Plan:
    return replace(plan, signals=tuple(name for name in plan.signals if name != signal))


class Refits:
    """Detectors fitted on the choosing half, each plan once however many changes leave it alone.

    Args:
        choosing: The choosing half.
        report: The report half.
    """

    def __init__(self, choosing: Samples, report: Samples) -> None:
        self._choosing = choosing
        self._report = report
        self._known: dict[tuple[str, tuple[str, ...], int | None], Detector] = {}

    def rows(self, change: Change) -> list[dict[str, Any]]:
        """Return what is detected after a change: one row a form and number of planted texts.

        "detected" is by the threshold of the choosing half, as a guard would have it;
        "detected_own" by that of the report half's own clean sets, of which every change then
        touches as many.
        """
        chosen, reported = self._scores(change)
        hit, hit_own = np.zeros((2, len(reported)), dtype=bool)
        for setting in dict.fromkeys(sample.setting for sample in self._choosing.found):
            here = _in(setting, self._report)
            clean = chosen[_in(setting, self._choosing) & self._choosing.clean]
            hit[here] = reported[here] >= _threshold(clean, setting)
            own = reported[here & self._report.clean]
            hit_own[here] = reported[here] >= _threshold(own, setting)
        counts: dict[tuple[str, int], list[tuple[bool, bool]]] = {}
        for sample, *both in zip(self._report.found, hit.tolist(), hit_own.tolist(), strict=True):
            counts.setdefault((sample.form, sample.count), []).append((both[0], both[1]))
        return [
            {
                "change": change.kind,
                "name": change.name,
                "form": form,
                "planted": planted,
                "sets": len(found),
                "detected": sum(detected for detected, _ in found),
                "detected_own": sum(detected for _, detected in found),
            }
            for (form, planted), found in counts.items()
        ]

    def _scores(self, change: Change) -> tuple[Floats, Floats]:
        """Return the sets' suspicions in both halves: cross-fitted (s,), and reported (r,)."""
        fitted = self._fit(change.plans)
        shift = offsets(self._choosing, {name: cross for name, (cross, _) in fitted.items()})
        pairs = [
            (cross + shift[name], seen + shift[name]) for name, (cross, seen) in fitted.items()
        ]
        for detector in change.by_hand.values():
            halves = (self._choosing, self._report)
            cross, seen = (half.highest(score(detector, half)) for half in halves)
            pairs.append((cross, seen))
        chosen, reported = zip(*pairs, strict=True)
        return np.max(chosen, axis=0), np.max(reported, axis=0)

    def _fit(self, plans: Mapping[str, Plan]) -> dict[str, tuple[Floats, Floats]]:
        """Return every detector's scores of the sets: cross-fitted (s,), and reported (r,)."""
        folds = np.unique(self._choosing.folds).tolist()
        by_part = {
            part: with_manner(
                {name: self._fitted(name, plan, part) for name, plan in plans.items()}
            )
            for part in (None, *folds)
        }
        return {
            name: (
                left_out_scores(self._choosing, {fold: by_part[fold][name] for fold in folds}),
                self._report.highest(score(by_part[None][name], self._report)),
            )
            for name in plans
        }

    def _fitted(self, name: str, plan: Plan, without: int | None) -> Detector:
        key = (name, plan.signals, without)
        if key not in self._known:
            folds = self._choosing.folds
            kept = self._choosing if without is None else self._choosing.where(folds != without)
            self._known[key] = fit_detector(plan, kept)
        return self._known[key]


def _in(setting: tuple[int, bool], found: Samples) -> NDArray[np.bool_]:
    return np.array([sample.setting == setting for sample in found.found])


def _threshold(clean: Floats, setting: tuple[int, bool]) -> float:
    """Return the score from which on the gate would fire, calibrated on clean sets.

    Raises:
        CalibrationError: There are too few.
    """
    k, with_reference = setting
    calibration = Calibration(clean, clean, k, with_reference, SCORER, "choosing half")
    calibration.require(ALPHA)
    return calibration.threshold(ALPHA, k)


def soup(record: Record, text: str, length: int) -> str:
    """Put words of the record's hits in front, at random: how text chosen by search reads.

    Corpus poisoning by gradient leaves word pieces without grammar that lie close to the question
    (Zhong et al. 2023, 50 of them); words of what is retrieved for it stand in for those.
    """
    draw = Random(record.question + text)
    words = sorted({word for hit in record.hits for word in hit.split() if word.isalpha()})
    return f"{' '.join(draw.sample(words, min(length, len(words))))} {text}"


def run(
    folder: Path, datasets: Sequence[Dataset], embedder: Embedder, console: Console
) -> list[dict[str, Any]]:
    """Return the rows of every change.

    Raises:
        CalibrationError: There are too few clean sets for a threshold at `ALPHA`.
    """
    names = (*SIGNALS, *CANDIDATES)
    manners = fit_folds(folder, datasets)
    choosing: list[Sample] = []
    for dataset in datasets:
        steps = track(dataset.choosing, f"choosing: {dataset.name}", console=console)
        for position, record in enumerate(steps):
            forms = () if thinned(dataset, position) else FITTED_FORMS
            fold = position % FOLDS
            with under(manners[fold]):
                choosing += drawn(record, embedder, forms, fold, with_candidates)
    report = [
        sample
        for dataset in datasets
        for position, record in enumerate(
            track(dataset.report, f"report: {dataset.name}", console=console)
        )
        for sample in _reported(record, embedder, attacked=not thinned(dataset, position))
    ]
    refits = Refits(Samples(choosing, names), Samples(report, names))
    every = list(changes())
    return [
        row for change in track(every, "changes", console=console) for row in refits.rows(change)
    ]


def _reported(record: Record, embedder: Embedder, *, attacked: bool) -> Iterator[Sample]:
    yield from drawn(record, embedder, _REPORTED if attacked else (), 0, with_candidates)
    kinds = [kind for kind in KINDS if record.poison.get(kind)] if attacked else []
    for (form, length), kind, count in product(SOUPS.items(), kinds, COUNTS):
        texts = [soup(record, text, length) for text in record.poison[kind][:count]]
        yield from sets_of(record, embedder, form, count, texts, 0, with_candidates)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_built_in("ablation", __doc__, argv, run, tables)


if __name__ == "__main__":
    sys.exit(main())
