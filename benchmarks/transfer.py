"""Clean traffic across kinds: `python -m benchmarks.transfer --data DIR --json FILE`.

A calibration promises to leave all but a share alpha of clean queries alone, as long as they are
like those it was made on. This measures what is left of the promise where they are not: calibrated
on one kind of traffic and judged on another, on all kinds but the judged one, and as shipped. A
simulation shows the promise itself: clean queries of all kinds, cut at random into those that
calibrate and those that are judged.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from scipy.stats import beta

from benchmarks.clean import SIZES
from benchmarks.command import Measured, embedders_for, new_parser, run_command
from benchmarks.datasets import Dataset, load_folder
from benchmarks.defences.contenders import GuardDefence
from benchmarks.metrics.outcomes import add, counted
from benchmarks.metrics.thresholds import threshold
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, retrieve
from benchmarks.transfer_tables import tables
from ragguard import Guard, Passage
from ragguard.embedding import Embedder
from ragguard.errors import CalibrationError
from ragguard.inline.conformal import Calibration
from ragguard.inline.pipeline import ConformalFilter

Floats = NDArray[np.float64]

ALPHAS = (0.01, 0.05)
"""A kind of fewer than 99 queries can calibrate only for the second."""

HOWS = ("own", "other", "all others", "shipped")
"""What a guard was calibrated on: the choosing half of the judged kind, one other kind, all other
kinds together, or what is shipped."""

_SETTINGS = tuple((k, factor) for k in SIZES for factor in (1, OVER_FETCH))
_CONFIDENCE = 0.95
_QUANTILES = (0.05, 0.5, 0.95)


@dataclass
class Outcomes:
    """Counts over the report half of one kind, judged by one calibration.

    Attributes:
        how: One of `HOWS`.
        calibrated: What on; for several kinds their names are joined by "+".
        calibration_queries: How many queries that were; 0 for the shipped one.
        tested: The judged kind.
        queries: Sets judged.
        touched: Those for which the gate fired.
        low, high: Clopper-Pearson interval of the touched share, 95 %.
        golden: Sets whose first k hold the passage that answers the question.
        golden_removed: Those of them that lost it.
    """

    embedder: str
    k: int
    over_fetch: int
    alpha: float
    how: str
    calibrated: str
    calibration_queries: int
    tested: str
    queries: int = 0
    touched: int = 0
    low: float = 0.0
    high: float = 1.0
    golden: int = 0
    golden_removed: int = 0


@dataclass(frozen=True)
class _Kind:
    """The clean sets of one kind, by half."""

    choosing: list[RetrievedSet]
    report: list[RetrievedSet]

    @property
    def every(self) -> list[RetrievedSet]:
        return self.choosing + self.report


def interval(part: int, whole: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper and Pearson, 1934).

    Args:
        part: Successes, 0 <= part <= whole.
        whole: Trials, at least 1.
    """
    tail = (1.0 - _CONFIDENCE) / 2.0
    low = float(beta.ppf(tail, part, whole - part + 1)) if part else 0.0
    high = float(beta.ppf(1.0 - tail, part + 1, whole - part)) if part < whole else 1.0
    return low, high


def run(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], advance: Callable[[], object]
) -> list[dict[str, Any]]:
    """Judge every kind by every calibration; `advance` is called once a setting and kind."""
    rows = []
    for embedder in embedders:
        kinds = _kinds(datasets, embedder)
        for k, factor in _SETTINGS:
            for tested in kinds:
                for how, on, traffic in _calibrations(kinds, tested):
                    made = None if traffic is None else _calibrated(traffic, k, factor)
                    size = 0 if traffic is None else len(traffic)
                    for alpha in ALPHAS:
                        row = Outcomes(embedder.name, k, factor, alpha, how, on, size, tested)
                        if _judge(row, made, kinds[tested].report):
                            rows.append(asdict(row))
                advance()
    return rows


def _kinds(datasets: Sequence[Dataset], embedder: Embedder) -> dict[str, _Kind]:
    limit = OVER_FETCH * max(SIZES)
    return {
        dataset.name: _Kind(
            *(
                [retrieve(record, embedder, limit) for record in half]
                for half in (dataset.choosing, dataset.report)
            )
        )
        for dataset in datasets
    }


def _calibrations(
    kinds: Mapping[str, _Kind], tested: str
) -> Iterator[tuple[str, str, list[RetrievedSet] | None]]:
    """Yield how, what on, and the traffic of every calibration that judges a kind."""
    yield "own", tested, kinds[tested].choosing
    others = [name for name in kinds if name != tested]
    for name in others:
        yield "other", name, kinds[name].every
    if len(others) > 1:
        yield "all others", "+".join(others), [one for name in others for one in kinds[name].every]
    yield "shipped", "shipped", None


def _calibrated(traffic: Sequence[RetrievedSet], k: int, factor: int) -> Calibration | None:
    """Return the calibration of clean traffic, or None if it is too little for any alpha."""
    with Guard(alpha=max(ALPHAS), on_error="raise") as guard:
        pairs = [(one.question, list(one.texts[: k * factor])) for one in traffic]
        try:
            return guard.calibrate(pairs, k=k, force=True)
        except CalibrationError:
            return None


def _judge(row: Outcomes, made: Calibration | None, sets: Sequence[RetrievedSet]) -> bool:
    """Fill in what a guard does with clean sets; False if it cannot be made for this alpha."""
    if made is None and row.how != "shipped":
        return False
    try:
        guard = Guard(alpha=row.alpha, calibration=made, on_error="raise")
    except CalibrationError:
        return False
    with guard:
        defence = GuardDefence("ragguard", guard, row.over_fetch)
        for one in sets:
            counts = counted(defence, one, row.k)
            add(row, {**counts, "queries": 1, "touched": counts["fired"]})
    if row.queries:
        row.low, row.high = (round(end, 5) for end in interval(row.touched, row.queries))
    return row.queries > 0


def simulate(scores: Floats, *, alpha: float, splits: int, seed: int) -> dict[str, Any]:
    """Cut clean scores at random into two halves, calibrate on one, judge the other.

    Args:
        scores: float64 array of shape (n,), n >= 2: scores of clean sets.
        alpha: Share of clean queries that may be touched.
        splits: How often.
        seed: Of the splits.

    Returns:
        Mean and quantiles of the share of touched queries, and "promised", the mean if no two
        scores are equal: floor(alpha (m + 1)) / (m + 1) for m calibrating scores (split conformal,
        Vovk et al., 2005).
    """
    rng = np.random.default_rng(seed)
    half = len(scores) // 2
    shares = np.empty(splits)
    for number in range(splits):
        order = rng.permutation(len(scores))
        limit = threshold(scores[order[:half]], alpha)
        shares[number] = (scores[order[half:]] >= limit).mean()
    promised = int(alpha * (half + 1) + 1e-9) / (half + 1)
    found: dict[str, Any] = {"calibrating": half, "judged": len(scores) - half}
    found |= {"promised": round(promised, 5), "mean": round(float(shares.mean()), 5)}
    found |= {f"quantile_{q:.0%}": round(float(np.quantile(shares, q)), 5) for q in _QUANTILES}
    return found


def simulations(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    *,
    splits: int,
    seed: int,
    advance: Callable[[], object],
) -> list[dict[str, Any]]:
    """Simulate on the scores of all clean sets, together and kind by kind.

    Both halves take part: whatever the weights were fitted on, records drawn at random from all of
    them are exchangeable. `advance` is called once an embedder and setting.
    """
    rows = []
    for embedder in embedders:
        kinds = _kinds(datasets, embedder)
        judge = ConformalFilter(embedder)
        for k, factor in _SETTINGS:
            by_kind = {name: _scores(judge, kind.every, k, factor) for name, kind in kinds.items()}
            for name, scores in {"all": np.concatenate([*by_kind.values()]), **by_kind}.items():
                for alpha in ALPHAS:
                    if len(scores) // 2 + 1 >= 1 / alpha:
                        place = {"embedder": embedder.name, "k": k, "over_fetch": factor}
                        made = simulate(scores, alpha=alpha, splits=splits, seed=seed)
                        rows.append({**place, "traffic": name, "alpha": alpha, **made})
            advance()
    return rows


def _scores(judge: ConformalFilter, sets: Sequence[RetrievedSet], k: int, factor: int) -> Floats:
    found = []
    for one in sets:
        passages = [Passage(text) for text in one.texts[: k * factor]]
        found.append(judge.score(one.question, passages, min(k, len(passages))).score)
    return np.array(found, dtype=np.float64)


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the sections "pairs" and "simulation"."""
    datasets = [dataset.limited(arguments.limit) for dataset in load_folder(arguments.data)]
    records = [record for dataset in datasets for record in dataset.records]
    with Progress(console=errors) as progress:
        texts = (text for record in records for text in (record.question, *record.hits))
        embedders = embedders_for(texts, progress)
        steps = len(embedders) * len(_SETTINGS)
        simulating = progress.add_task("simulation", total=steps)
        pairing = progress.add_task("pairs", total=steps * len(datasets))
        simulated = simulations(
            datasets,
            embedders,
            splits=arguments.splits,
            seed=arguments.seed,
            advance=lambda: progress.advance(simulating),
        )
        rows = run(datasets, embedders, lambda: progress.advance(pairing))
    return {"pairs": rows, "simulation": simulated}, datasets


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = new_parser("transfer", __doc__)
    parser.add_argument("--splits", type=int, default=1000, help="of the simulation")
    parser.add_argument("--seed", type=int, default=0, help="of the splits")
    return run_command(parser, argv, measure, tables)


if __name__ == "__main__":
    sys.exit(main())
