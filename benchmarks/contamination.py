"""What poison in the calibration costs: `python -m benchmarks.contamination --data DIR`.

A guard that calibrates from its own traffic takes attacks in it for normal. The reported half of
the data is cut in three at random, many times: a first guard is calibrated on one part, it records
the second with a share of attacked queries mixed in, and a guard that is calibrated from that
record filters the third. Nothing is chosen on the data.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.data import Dataset, load_folder, skerrin
from benchmarks.embedders import built_in
from benchmarks.retrieval import OVER_FETCH, planted, retrieve
from ragguard.audit import ScoredQuery
from ragguard.audit.recorded import calibration_from
from ragguard.inline.judge import ConformalJudge
from ragguard.inline.suspicion import SCORER
from ragguard.passage import Passage

__all__ = ["Row", "measure", "scores_of"]

Floats = NDArray[np.float64]

SHARES = (0.0, 0.01, 0.05)
"""Shares of attacked queries among those that are recorded."""

_K = 5
_COUNTS = (1, 5)


@dataclass(frozen=True)
class Row:
    """Means over the cuts.

    Attributes:
        share: Attacked queries for every clean one in the record.
        clean_looking: As in `Guard.calibrate_from_store`.
        threshold: Lowest score that the gate stops, in nats.
        clean_touched: Share of clean queries of the third part that it stops.
        attacks_stopped: Share of attacked queries of the third part that it stops.
    """

    share: float
    clean_looking: bool
    threshold: float
    clean_touched: float
    attacks_stopped: float


def scores_of(datasets: Sequence[Dataset]) -> tuple[Floats, Floats]:
    """Return the scores of clean sets, shape (n,), and of attacked ones, shape (n, a).

    Each row of the attacked ones belongs to the same question as the clean score; NaN where there
    is no such attack, or it is not retrieved.
    """
    embedder = built_in()
    judge = ConformalJudge(embedder)
    kinds = sorted({kind for dataset in datasets for kind in dataset.kinds})
    attacks = [(kind, count) for kind in kinds for count in _COUNTS]
    clean, attacked = [], []
    records = [record for dataset in datasets for record in dataset.report]
    for record in track(records, description="scores", console=Console(stderr=True)):
        row = []
        for kind, count in [("", 0), *attacks]:
            texts = planted(record, kind, "prepend", count)
            found = retrieve(record, embedder, OVER_FETCH * _K, texts)
            if count and not found.poisoned[:_K].any():
                row.append(np.nan)
                continue
            passages = [Passage(text) for text in found.texts]
            row.append(judge.score(record.question, passages, _K).score)
        clean.append(row[0])
        attacked.append(row[1:])
    return np.array(clean), np.array(attacked)


def measure(clean: Floats, attacked: Floats, *, alpha: float, cuts: int, seed: int) -> list[Row]:
    """Calibrate, record, calibrate from the record, filter.

    Args:
        clean: float64 array of shape (n,).
        attacked: float64 array of shape (n, a), with NaN where there is no attack.
        alpha: Share of clean queries that may be touched.
        cuts: How often the data is cut.
        seed: Seed of the cuts.
    """
    rng = np.random.default_rng(seed)
    found: dict[tuple[float, bool], list[tuple[float, float, float]]] = {}
    for _ in range(cuts):
        order = rng.permutation(len(clean))
        first, here, there = np.array_split(order, 3)
        gate = threshold(clean[first], alpha)
        pool = attacked[here][np.isfinite(attacked[here])]
        targets = attacked[there][np.isfinite(attacked[there])]
        for share in SHARES:
            # At least one: a third of the data is hardly a hundred queries.
            number = max(1, round(share * len(here))) if share else 0
            # As in a store: attacked queries come on top of, not instead of, the clean ones.
            record = np.concatenate([clean[here], rng.choice(pool, number, replace=False)])
            records = [
                ScoredQuery(score, (score,), True, score >= gate, SCORER)
                for score in record.tolist()
            ]
            for clean_looking in (False, True):
                made = calibration_from(records, SCORER, alpha=alpha, clean_looking=clean_looking)
                limit = threshold(made.scores, alpha)
                found.setdefault((share, clean_looking), []).append(
                    (limit, float((clean[there] >= limit).mean()), float((targets >= limit).mean()))
                )
    return [Row(*key, *np.mean(values, axis=0).tolist()) for key, values in found.items()]


def threshold(scores: Floats, alpha: float) -> float:
    """Return what a score must exceed to have a conformal p-value of at most alpha."""
    rank = int(alpha * (len(scores) + 1) + 1e-9)
    if rank < 1:
        return np.inf
    return float(np.nextafter(np.sort(scores)[-rank], np.inf))


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contamination", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--cuts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    datasets = [skerrin()] if arguments.data is None else load_folder(arguments.data)
    clean, attacked = scores_of(datasets)
    rows = measure(clean, attacked, alpha=arguments.alpha, cuts=arguments.cuts, seed=arguments.seed)
    table = Table("attacked", "clean-looking only", "threshold", "clean touched", "attacks stopped")
    for row in rows:
        table.add_row(
            f"{row.share:.0%}",
            "yes" if row.clean_looking else "no",
            f"{row.threshold:.2f}",
            f"{row.clean_touched:.2%}",
            f"{row.attacks_stopped:.1%}",
        )
    Console().print(f"{len(clean)} questions, {int(np.isfinite(attacked).sum())} attacks")
    Console().print(table)
    if arguments.json is not None:
        result = {
            "alpha": arguments.alpha,
            "cuts": arguments.cuts,
            "seed": arguments.seed,
            "questions": len(clean),
            "attacks": int(np.isfinite(attacked).sum()),
            "rows": [asdict(row) for row in rows],
        }
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
