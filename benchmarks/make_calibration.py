"""Makes the shipped calibration: `python -m benchmarks.make_calibration --data DIR --out FILE`.

Scores of clean traffic: the choosing half of the data, retrieved with both embedders.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.data import Dataset, load_folder
from benchmarks.embedders import both_embedders
from benchmarks.fit_suspicion import signals_of
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, retrieve
from ragguard.embedding import Embedder
from ragguard.inline.suspicion import SCORER, nonconformity, suspicions

__all__ = ["calibrate", "main"]

SIZES = (5, 10, 20)
_SOURCE = "shipped: choosing half of public retrieval results, two retrievers"
# A passage is judged by its place in the tail, so the tail is kept finely and the rest coarsely.
_LEVELS = np.r_[np.linspace(0, 0.9, 91)[:-1], np.linspace(0.9, 1, 401)]


def calibrate(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder]
) -> Iterator[dict[str, Any]]:
    """Yield one calibration for every size, without and with reference passages."""
    ranked = [
        retrieve(record, embedder, OVER_FETCH * max(SIZES))
        for embedder in embedders
        for dataset in datasets
        for record in dataset.choosing
    ]
    for size in SIZES:
        for with_reference in (False, True):
            scores, passages = _scored(ranked, size, with_reference=with_reference)
            quantiles = np.quantile(passages, _LEVELS, method="inverted_cdf")
            yield {
                "format": 1,
                "size": size,
                "with_reference": with_reference,
                "scorer": SCORER,
                "source": _SOURCE,
                "scores": np.round(np.sort(scores), 5).tolist(),
                "passage_scores": np.round(quantiles, 5).tolist(),
            }


def _scored(
    ranked: Sequence[RetrievedSet], size: int, *, with_reference: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    found = [
        suspicions(
            signals_of(retrieved.first(OVER_FETCH * size), size, with_reference=with_reference)
        )
        for retrieved in ranked
    ]
    return np.array([nonconformity(suspicion) for suspicion in found]), np.concatenate(found)


def compared(made: Sequence[dict[str, Any]]) -> Table:
    """Return by how much the made calibrations differ from the shipped ones."""
    file = resources.files("ragguard.inline") / "default_calibration.json"
    shipped = {
        (entry["size"], entry["with_reference"]): entry
        for entry in json.loads(file.read_text(encoding="utf-8"))
    }
    table = Table(
        "size", "reference", "queries", "shipped", "99 % score", "shipped", "largest difference"
    )
    for entry in made:
        other = shipped[entry["size"], entry["with_reference"]]
        pairs = [(entry[name], other[name]) for name in ("scores", "passage_scores")]
        same_size = all(len(mine) == len(theirs) for mine, theirs in pairs)
        gaps = [np.abs(np.subtract(*pair)).max() for pair in pairs] if same_size else [np.nan]
        table.add_row(
            str(entry["size"]),
            str(entry["with_reference"]),
            str(len(entry["scores"])),
            str(len(other["scores"])),
            f"{np.quantile(entry['scores'], 0.99):.3f}",
            f"{np.quantile(other['scores'], 0.99):.3f}",
            f"{max(gaps):.5f}",
        )
    return table


def main() -> None:
    """Make the calibrations, compare them with the shipped ones, and write them if asked to."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.make_calibration", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets")
    parser.add_argument("--out", type=Path, help="write the calibrations here")
    arguments = parser.parse_args()
    made = list(calibrate(load_folder(arguments.data), both_embedders()))
    Console().print(compared(made))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    main()
