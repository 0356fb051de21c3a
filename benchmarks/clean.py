"""Section "clean": what a defence does to traffic that nobody attacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.datasets import Dataset
from benchmarks.defences.contenders import Defence
from benchmarks.metrics.outcomes import add, counted
from benchmarks.retrieval import OVER_FETCH, retrieve
from ragguard.embedding import Embedder

SIZES = (5, 10)
"""How many passages the generator gets."""


@dataclass
class CleanRow:
    """Counts over the clean sets of one dataset.

    Attributes:
        queries: Sets judged.
        touched: Sets from which a passage was dropped.
        noticed: Sets from which a passage was dropped, or in which one was marked.
        passages: Passages among the first k.
        removed: Those of them that were dropped.
        golden: Sets whose first k hold the passage that answers the question.
        golden_removed: Those of them that lost it.
    """

    dataset: str
    embedder: str
    k: int
    defence: str
    queries: int = 0
    touched: int = 0
    noticed: int = 0
    passages: int = 0
    removed: int = 0
    golden: int = 0
    golden_removed: int = 0


def run(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    defences: Sequence[Defence],
    advance: Callable[[], object],
) -> list[dict[str, Any]]:
    """Run every defence on every clean set; `advance` is called once a record and embedder."""
    rows: dict[tuple[str, str, int, str], CleanRow] = {}
    for embedder in embedders:
        for dataset in datasets:
            for record in dataset.report:
                ranked = retrieve(record, embedder, OVER_FETCH * max(SIZES))
                for k in SIZES:
                    for defence in defences:
                        key = (dataset.name, embedder.name, k, defence.name)
                        row = rows.setdefault(key, CleanRow(*key))
                        counts = counted(defence, ranked, k)
                        add(row, {**counts, "queries": 1, "touched": counts["fired"]})
                advance()
    return [asdict(row) for row in rows.values()]
