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
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from scipy.stats import beta

from benchmarks.command import Command, Measured, embedders_for, option
from benchmarks.datasets import Dataset, load_folder
from benchmarks.defences.contenders import GuardDefence
from benchmarks.inline import SIZES
from benchmarks.metrics.outcomes import Counts, counted
from benchmarks.metrics.thresholds import threshold
from benchmarks.report.table import Row, Table, as_is, crossed, grouped, share, summed
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, retrieve
from ragguard import Guard, Passage
from ragguard.embedding import Embedder
from ragguard.errors import CalibrationError
from ragguard.inline.conformal import Calibration
from ragguard.inline.pipeline import ConformalFilter

Floats = NDArray[np.float64]
Kinds = Mapping[str, tuple[list[RetrievedSet], list[RetrievedSet]]]
"""The clean sets of each kind of traffic, those of the choosing half first."""

ALPHAS = (0.01, 0.05)
"""A kind of fewer than 99 queries can calibrate only for the second."""

_SETTINGS = tuple((k, factor) for k in SIZES for factor in (1, OVER_FETCH))
_ORDER = ("other", "own", "all others", "shipped")
_SIMULATED = {
    **{"promised": "promised", "mean": "mean", "5 % quantile": "quantile_5%"},
    **{"median": "quantile_50%", "95 % quantile": "quantile_95%"},
}
_CONFIDENCE = 0.95
_QUANTILES = (0.05, 0.5, 0.95)


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
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], errors: Console
) -> list[dict[str, Any]]:
    """Judge every kind by every calibration; `errors` shows how far it is."""
    rows: list[dict[str, Any]] = []
    for embedder in embedders:
        kinds = _kinds(datasets, embedder)
        for k, factor in track(_SETTINGS, "pairs", console=errors):
            for tested in kinds:
                for how, on, traffic in _calibrations(kinds, tested):
                    made = None if traffic is None else _calibrated(traffic, k, factor)
                    size = 0 if traffic is None else len(traffic)
                    for alpha in ALPHAS if made is not None or how == "shipped" else ():
                        place = {"embedder": embedder.name, "k": k, "over_fetch": factor}
                        place |= {"alpha": alpha, "how": how, "calibrated": on}
                        place |= {"calibration_queries": size, "tested": tested}
                        rows += _judged(place, made, kinds[tested][1])
    return rows


def _kinds(datasets: Sequence[Dataset], embedder: Embedder) -> Kinds:
    limit = OVER_FETCH * max(SIZES)
    return {
        dataset.name: (
            [retrieve(record, embedder, limit) for record in dataset.choosing],
            [retrieve(record, embedder, limit) for record in dataset.report],
        )
        for dataset in datasets
    }


def _calibrations(
    kinds: Kinds, tested: str
) -> Iterator[tuple[str, str, list[RetrievedSet] | None]]:
    """Yield how, what on, and the traffic of every calibration that judges a kind.

    On the choosing half of the kind itself, one other kind, all others together, or as shipped.
    """
    yield "own", tested, kinds[tested][0]
    others = {name: [*first, *second] for name, (first, second) in kinds.items() if name != tested}
    for name, sets in others.items():
        yield "other", name, sets
    if len(others) > 1:
        yield "all others", "+".join(others), [one for sets in others.values() for one in sets]
    yield "shipped", "shipped", None


def _calibrated(traffic: Sequence[RetrievedSet], k: int, factor: int) -> Calibration | None:
    """Return the calibration of clean traffic, or None if it is too little for any alpha."""
    with Guard(alpha=max(ALPHAS), on_error="raise") as guard:
        pairs = [(one.question, list(one.texts[: k * factor])) for one in traffic]
        try:
            return guard.calibrate(pairs, k=k, force=True)
        except CalibrationError:
            return None


def _judged(
    place: Mapping[str, Any], made: Calibration | None, sets: Sequence[RetrievedSet]
) -> list[dict[str, Any]]:
    """Return the row of what a guard does with clean sets; none if alpha is too strict for it.

    `touched` are the sets for which the gate fired, with the Clopper-Pearson interval of their
    share; `golden` those that hold the passage that answers, and may lose it.
    """
    try:
        guard = Guard(alpha=place["alpha"], calibration=made, on_error="raise")
    except CalibrationError:
        return []
    found = Counts("queries", "touched", "golden", "golden_removed")
    with guard:
        defence = GuardDefence("ragguard", guard, place["over_fetch"])
        for one in sets:
            counts = counted(defence, one, place["k"])
            found.add(place, {**counts, "queries": 1, "touched": counts["fired"]})
    rows = []
    for row in found.rows():
        low, high = (round(end, 5) for end in interval(row["touched"], row["queries"]))
        golden = {name: row.pop(name) for name in ("golden", "golden_removed")}
        rows.append({**row, "low": low, "high": high, **golden})
    return rows


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
    errors: Console,
) -> list[dict[str, Any]]:
    """Simulate on the scores of all clean sets, together and kind by kind.

    Both halves take part: whatever the weights were fitted on, records drawn at random from all of
    them are exchangeable.
    """
    rows = []
    for embedder in embedders:
        kinds = _kinds(datasets, embedder)
        judge = ConformalFilter(embedder)
        for k, factor in track(_SETTINGS, "simulation", console=errors):
            by_kind = {
                name: _scores(judge, [*first, *second], k, factor)
                for name, (first, second) in kinds.items()
            }
            for name, scores in {"all": np.concatenate([*by_kind.values()]), **by_kind}.items():
                for alpha in ALPHAS:
                    if len(scores) // 2 + 1 >= 1 / alpha:
                        place = {"embedder": embedder.name, "k": k, "over_fetch": factor}
                        made = simulate(scores, alpha=alpha, splits=splits, seed=seed)
                        rows.append({**place, "traffic": name, "alpha": alpha, **made})
    return rows


def _scores(judge: ConformalFilter, sets: Sequence[RetrievedSet], k: int, factor: int) -> Floats:
    found = []
    for one in sets:
        passages = [Passage(text) for text in one.texts[: k * factor]]
        found.append(judge.score(one.question, passages, min(k, len(passages))).score)
    return np.array(found, dtype=np.float64)


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the pairs for every alpha, and the simulation.

    Shares are over all embedders, k and over-fetch together: the same queries several times, so
    only single rows have an interval.
    """
    pairs = sections["pairs"]
    for (alpha,), rows in sorted(grouped(pairs, "alpha").items()):
        tested = list(dict.fromkeys(row["tested"] for row in rows))

        def place(row: Row, names: list[str] = tested) -> tuple[int, int]:
            # Kinds first, in the order of the data; then what judges every kind.
            other = row["how"] == "other" and row["calibrated"] in names
            at = names.index(row["calibrated"]) if other else len(names)
            return _ORDER.index(row["how"]), at

        yield crossed(
            f"Clean queries touched (golden passage lost), alpha {alpha:.0%}; judged kind in "
            "columns",
            sorted(rows, key=place),
            {"calibrated on": lambda row: row["calibrated" if row["how"] == "other" else "how"]},
            "tested",
            _touched,
            order=tested,
            empty="-",
        )
    lines = []
    for (traffic, alpha), rows in grouped(sections["simulation"], "traffic", "alpha").items():
        # Means over embedders, k and over-fetch of what single settings give.
        means = {
            head: f"{fmean(row[name] for row in rows):.2%}" for head, name in _SIMULATED.items()
        }
        of = {"traffic": traffic, "alpha": f"{alpha:.0%}"}
        largest = f"{max(row['mean'] for row in rows):.2%}"
        calibrating = {"calibrating": rows[0]["calibrating"]}
        lines.append({**of, **calibrating, **means, "largest mean": largest})
    yield as_is("Random halves of clean traffic: share touched", lines)


def _touched(rows: list[Row]) -> str:
    n = summed(rows)
    lost = f" ({share(n['golden_removed'], n['golden'])})" if n["golden"] else ""
    return f"{share(n['touched'], n['queries'])}{lost}".replace(" %", "%")


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the sections "pairs" and "simulation"."""
    datasets = [dataset.limited(arguments.limit) for dataset in load_folder(arguments.data)]
    records = [record for dataset in datasets for record in dataset.records]
    texts = (text for record in records for text in (record.question, *record.hits))
    embedders = embedders_for(texts, errors)
    simulated = simulations(
        datasets, embedders, splits=arguments.splits, seed=arguments.seed, errors=errors
    )
    return {"pairs": run(datasets, embedders, errors), "simulation": simulated}, datasets


main = Command(
    "transfer",
    __doc__,
    measure,
    tables,
    [
        option("--splits", type=int, default=1000, help="of the simulation"),
        option("--seed", type=int, default=0, help="of the splits"),
    ],
)


if __name__ == "__main__":
    sys.exit(main())
