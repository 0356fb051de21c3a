"""Section "cost": what a defence adds to a query, with the embeddings given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from time import perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

from benchmarks.data import Dataset, Record
from benchmarks.defences import Defence
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder
from ragguard.inline.words import forget_passages, query_words

__all__ = ["SIZES", "run", "steps"]

SIZES = (5, 10, 20, 50, 100)
"""How many passages the generator gets."""

_SETS = 24
_ROUNDS = 6
_WARM_UPS = 2
_DATASETS = ("nq", "hotpotqa", "msmarco")
_PLANTED = 5


@dataclass
class _Contender:
    defence: Defence
    cold: bool
    wall: list[int] = field(default_factory=list)
    processor: list[int] = field(default_factory=list)
    fired: int = 0


def steps(limit: int | None) -> int:
    """Return how many times `run` calls `advance`."""
    return len(SIZES) * 2 * min(_SETS, limit or _SETS)


def run(
    datasets: Sequence[Dataset],
    embedder: Embedder,
    defences: Sequence[Defence],
    advance: Callable[[], object],
    *,
    limit: int | None,
    seed: int,
    sizes: Sequence[int] = SIZES,
) -> list[dict[str, Any]]:
    """Time every defence on the same sets in one process, turn by turn in random order.

    A guard is timed twice: "warm" after it has read every text before, as when popular passages
    are retrieved again, and "cold" with its caches of read texts emptied before every call. The
    others keep no such caches. The clocks run around the call alone. Ratios are of processor time,
    which a busy machine stretches less. `advance` is called once a set.
    """
    order = Random(seed)
    chosen = [d for d in datasets if d.name in _DATASETS] or list(datasets)
    records = [(dataset, i) for dataset in chosen for i in range(len(dataset.report))]
    order.shuffle(records)
    rows: list[dict[str, Any]] = []
    for traffic in ("clean", "attacked"):
        for k in sizes:
            contenders = _contenders(defences)
            for dataset, position in records[: min(_SETS, limit or _SETS)]:
                _time_set(contenders, dataset, position, traffic, k, embedder, order)
                advance()
            rows += _rows(contenders, traffic, k, embedder.name)
    return rows


def _contenders(defences: Sequence[Defence]) -> list[_Contender]:
    reads = [d for d in defences if d.name.startswith("ragguard")]
    timed = [d for d in defences if d.name != "none"]
    return [_Contender(d, cold=False) for d in timed] + [_Contender(d, cold=True) for d in reads]


def _time_set(
    contenders: Sequence[_Contender],
    dataset: Dataset,
    position: int,
    traffic: str,
    k: int,
    embedder: Embedder,
    order: Random,
) -> None:
    widest = k * max(contender.defence.over_fetch for contender in contenders)
    record = _with_enough_hits(dataset.report, position, widest)
    poison = planted(record, dataset.kinds[0], "prepend", _PLANTED) if traffic == "attacked" else ()
    ranked = retrieve(record, embedder, widest, poison)
    calls = [_bound(contender, ranked, k) for contender in contenders]
    for _ in range(_WARM_UPS):
        for _, call in calls:
            call()
    for _ in range(_ROUNDS):
        order.shuffle(calls)
        for contender, call in calls:
            if contender.cold:
                forget_passages()
                query_words.cache_clear()
            else:
                call()
            start, start_processor = perf_counter_ns(), process_time_ns()
            answer = call()
            contender.processor.append(process_time_ns() - start_processor)
            contender.wall.append(perf_counter_ns() - start)
            contender.fired += contender.defence.outcome(answer, k).fired


def _bound(
    contender: _Contender, ranked: RetrievedSet, k: int
) -> tuple[_Contender, Callable[[], Any]]:
    return contender, contender.defence.bind(ranked.first(k * contender.defence.over_fetch), k)


def _with_enough_hits(records: Sequence[Record], position: int, needed: int) -> Record:
    """Return a record, filled up with its neighbours' hits where its own are too few."""
    record, hits = records[position], dict.fromkeys(records[position].hits)
    for step in range(1, len(records)):
        if len(hits) >= needed:
            break
        hits |= dict.fromkeys(records[(position + step) % len(records)].hits)
    return Record(record.question, tuple(hits), record.golden, record.poison)


def _rows(
    contenders: Sequence[_Contender], traffic: str, k: int, embedder: str
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for contender in contenders:
        wall, processor = np.array(contender.wall) / 1e6, np.array(contender.processor) / 1e6
        rows.append(
            {
                "traffic": traffic,
                "embedder": embedder,
                "k": k,
                "defence": contender.defence.name,
                "caches": "cold" if contender.cold else "warm",
                "samples": len(wall),
                "fired": contender.fired,
                "median_ms": round(float(np.median(wall)), 4),
                "p99_ms": round(float(np.quantile(wall, 0.99)), 4),
                "median_cpu_ms": round(float(np.median(processor)), 4),
                "p99_cpu_ms": round(float(np.quantile(processor, 0.99)), 4),
            }
        )
    ours = {row["caches"]: row["median_cpu_ms"] for row in rows if row["defence"] == "ragguard"}
    for row in rows:
        for caches, median in ours.items():
            row[f"cpu_over_ragguard_{caches}"] = round(row["median_cpu_ms"] / median, 2)
    return rows
