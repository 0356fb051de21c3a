"""Which honest calibrations are refused: `python -m benchmarks.honest_calibrations --data DIR`.

Clean traffic of the report half is recorded under the shipped calibration, a random part of it is
calibrated on, and what is refused without force is counted by its reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from benchmarks.command import Command, Measured
from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.datasets.records import record_of, values
from benchmarks.embedders import built_in
from benchmarks.report.table import Row, Table, listed, ratio, share
from benchmarks.retrieval import OVER_FETCH, retrieve
from ragguard import Guard, Passage
from ragguard.audit import MemoryStore, ScoredQuery
from ragguard.calibrator import Calibrator
from ragguard.embedding import HashedEmbedder
from ragguard.errors import CalibrationError

REASONS = {
    "attacked": "looks attacked",
    "step": "threshold would rise",
    "reference": "reference attacks",
}
"""Reasons for a refusal, and what the message then holds."""

_OTHERS = ("machine_written", "keyword_traffic", "languages")
_SIZES = (100, 200, 300)
_DRAWS = 50
_K = 5


def traffic(folder: Path, limit: int | None) -> Iterator[tuple[str, Sequence[Record]]]:
    """Yield the kinds of clean traffic that a folder holds."""
    public = [one.limited(limit) for one in load_folder(folder)]
    yield "public retrieval results", [record for one in public for record in one.report]
    for name in _OTHERS:
        records = tuple(record_of(line, name) for line in values(folder, name))
        if records:
            yield name, Dataset(name, records, split=True).limited(limit).report


def recorded(records: Sequence[Record], over_fetch: int) -> list[ScoredQuery]:
    """Return what a guard records of questions and the passages that are retrieved for them."""
    store, embedder = MemoryStore(), built_in()
    with Guard(store=store, mode="monitor", on_error="raise") as guard:
        for record in records:
            found = retrieve(record, embedder, over_fetch * _K)
            guard.filter(record.question, [Passage(text) for text in found.texts], k=_K)
        guard._parts.counter.flush()
    # Some questions are in two sets of data, and a few have no more than k hits.
    kept = [one for one in store.scores() if one.with_reference == (over_fetch > 1)]
    return list({record.question: record for record in kept}.values())


def measure(kind: str, scored: Sequence[ScoredQuery], over_fetch: int) -> Iterator[dict[str, Any]]:
    """Calibrate on random parts of a record."""
    for size in _SIZES:
        if size > len(scored):
            return
        reasons: Counter[str] = Counter()
        for draw in range(_DRAWS):
            part = Random(draw).sample(list(scored), size)
            calibrator = Calibrator(HashedEmbedder(), strategy="auto", alpha=0.01, calibration=None)
            try:
                calibrator.adopt_recorded(part)
            except CalibrationError as refusal:
                named = [name for name, words in REASONS.items() if words in str(refusal)]
                reasons[named[0]] += 1
        yield {
            "kind": kind,
            "over_fetch": over_fetch,
            "queries": size,
            "draws": _DRAWS,
            "fires": sum(record.attacked for record in scored) / len(scored),
            **{name: reasons[name] for name in REASONS},
        }


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the table of the section "honest_calibrations"."""

    def accepted(row: Row) -> str:
        return share(row["draws"] - sum(row[name] for name in REASONS), row["draws"], 0)

    said = ("looks attacked", "step too large", "reference attacks missed")
    yield listed(
        "Honest calibrations",
        sections["honest_calibrations"],
        {
            "clean traffic": "kind",
            "passages fetched": lambda row: str(_K * row["over_fetch"]),
            "the shipped gate fires": lambda row: f"{100 * row['fires']:.1f} %",
            **{"queries": "queries", "accepted": accepted},
            **{head: ratio(name, "draws", 0) for head, name in zip(said, REASONS, strict=True)},
        },
    )


def calibrations(arguments: argparse.Namespace, _: Console) -> Measured:
    """Return the rows of all clean traffic, in the section "honest_calibrations"."""
    rows = [
        row
        for kind, records in traffic(arguments.data, arguments.limit)
        for over_fetch in (1, OVER_FETCH)
        for row in measure(kind, recorded(records, over_fetch), over_fetch)
    ]
    datasets = [one.limited(arguments.limit) for one in load_folder(arguments.data)]
    return {"honest_calibrations": rows}, datasets


main = Command("honest_calibrations", __doc__, calibrations, tables)

if __name__ == "__main__":
    sys.exit(main())
