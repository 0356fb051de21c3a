"""Section "attack": what a defence finds, and what it leaves, when poison was retrieved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.clean import SIZES
from benchmarks.datasets import Dataset, Record
from benchmarks.defences.contenders import Defence
from benchmarks.metrics.outcomes import add, counted
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder

COUNTS = (1, 5)
"""How many texts the attacker plants for a question (M)."""


@dataclass
class AttackRow:
    """Counts over the attacked sets of one stratum.

    Attributes:
        attempts: Questions for which poison was planted.
        sets: Those for which some of it came among the first k; the rest is counted over these.
        fired: Sets in which the defence dropped anything.
        noticed: Sets in which it dropped or marked anything.
        poison: Poison passages among the first k.
        poison_removed: Those of them that were dropped.
        benign: Other passages among the first k.
        benign_removed: Those of them that were dropped.
        poison_left: Sets of which poison still reaches the generator.
    """

    dataset: str
    embedder: str
    kind: str
    form: str
    planted: int
    k: int
    defence: str
    attempts: int = 0
    sets: int = 0
    fired: int = 0
    noticed: int = 0
    poison: int = 0
    poison_removed: int = 0
    benign: int = 0
    benign_removed: int = 0
    poison_left: int = 0


def run(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    defences: Sequence[Defence],
    forms: Sequence[str],
    advance: Callable[[], object],
) -> list[dict[str, Any]]:
    """Run every defence on every attack; `advance` is called once a record and embedder.

    Attacks of which nothing is retrieved harm nobody and are only counted as attempts.
    """
    rows: list[dict[str, Any]] = []
    for embedder in embedders:
        for dataset in datasets:
            strata: dict[tuple[str, str, int, int, str], AttackRow] = {}
            for record in dataset.report:
                for kind, form, count, ranked in _attacks(record, embedder, dataset.kinds, forms):
                    for k in SIZES:
                        for defence in defences:
                            key = (kind, form, count, k, defence.name)
                            if key not in strata:
                                strata[key] = AttackRow(dataset.name, embedder.name, *key)
                            add(strata[key], {"attempts": 1})
                            if ranked.poisoned[:k].any():
                                add(strata[key], {**counted(defence, ranked, k), "sets": 1})
                advance()
            rows += [asdict(row) for row in strata.values()]
    return rows


def _attacks(
    record: Record, embedder: Embedder, kinds: Sequence[str], forms: Sequence[str]
) -> list[tuple[str, str, int, RetrievedSet]]:
    limit = OVER_FETCH * max(SIZES)
    return [
        (kind, form, count, retrieve(record, embedder, limit, texts))
        for kind in kinds
        for form in forms
        for count in COUNTS
        if (texts := planted(record, kind, form, count))
    ]
