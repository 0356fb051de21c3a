"""Section "cost": what a defence adds to a query, with the embeddings given."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, product
from math import log
from random import Random
from time import perf_counter_ns, process_time_ns

import numpy as np

from benchmarks.command import tracked
from benchmarks.datasets import Dataset, Record
from benchmarks.defences.contenders import NONE, Defence
from benchmarks.report.table import Row, Rows, Sections, Table, grouped, listed, number, ratio
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder
from ragguard.embedding.vectors import similarity_matrix
from ragguard.lru import forget_all

SIZES = (5, 10, 20, 50, 100, 200)  # how many passages the generator gets
GRAM = "gram matrix"  # its row times the similarity of every pair, which every grouping needs
_SETS = 24
_ROUNDS = 6
_DATASETS = ("nq", "hotpotqa", "msmarco")
_PLANTED = 5
_TIMES = ("median", "p99", "median cpu", "p99 cpu")


@dataclass
class _Contender:
    defence: Defence
    cold: bool
    times: list[tuple[int, int]] = field(default_factory=list)  # wall and processor, nanoseconds
    fired: int = 0


def run(
    datasets: Sequence[Dataset],
    embedder: Embedder,
    defences: Sequence[Defence],
    *,
    limit: int | None,
    seed: int,
    sizes: Sequence[int] = SIZES,
) -> Iterator[Row]:
    """Time every defence on the same sets, turn by turn in random order; a guard also "cold"."""
    order = Random(seed)
    chosen = [d for d in datasets if d.name in _DATASETS] or list(datasets)
    records = [(dataset, i) for dataset in chosen for i in range(len(dataset.report))]
    order.shuffle(records)
    timed = records[: min(_SETS, limit or _SETS)]
    gram = Defence(
        GRAM,
        lambda found, k: partial(similarity_matrix, found.embeddings[:k]),
        lambda _, k: NONE.outcome([False] * k, k),
    )
    ways = [(one, False) for one in (*defences, gram) if one.name != "none"]
    ways += [(one, True) for one in defences if one.name.startswith("ragguard")]
    for traffic, k in product(("clean", "attacked"), sizes):
        contenders = [_Contender(*way) for way in ways]
        widest = k * max(one.defence.over_fetch for one in contenders)
        for dataset, position in tracked(timed, f"cost: {traffic}, k = {k}"):
            record = _with_enough_hits(dataset.report, position, widest)
            kinds = dataset.kinds[:1] if traffic == "attacked" else ()
            poison = [text for one in kinds for text in planted(record, one, "prepend", _PLANTED)]
            _time(contenders, retrieve(record, embedder, widest, poison), k, order)
        yield from _rows(contenders, traffic, k, embedder.name)


def _time(contenders: Sequence[_Contender], ranked: RetrievedSet, k: int, order: Random) -> None:
    calls = [
        (one, one.defence.bind(ranked.first(k * one.defence.over_fetch), k)) for one in contenders
    ]
    for _, call in calls * 2:  # to warm up
        call()
    for _ in range(_ROUNDS):
        order.shuffle(calls)
        for contender, call in calls:
            if contender.cold:
                forget_all()
            else:
                call()
            start, start_processor = perf_counter_ns(), process_time_ns()
            answer = call()
            processor = process_time_ns() - start_processor
            contender.times.append((perf_counter_ns() - start, processor))
            contender.fired += contender.defence.outcome(answer, k).fired


def _with_enough_hits(records: Sequence[Record], position: int, needed: int) -> Record:
    """Return a record, filled up with its neighbours' hits where its own are too few."""
    hits: dict[str, None] = {}
    for one in (*records[position:], *records[:position]):
        if len(hits) < needed:
            hits |= dict.fromkeys(one.hits)
    return replace(records[position], hits=tuple(hits))


def _rows(contenders: Sequence[_Contender], traffic: str, k: int, embedder: str) -> Rows:
    rows: Rows = []
    for one in contenders:
        row = {"traffic": traffic, "embedder": embedder, "k": k, "defence": one.defence.name}
        caches = "cold" if one.cold else "warm"
        row |= {"caches": caches, "samples": len(one.times), "fired": one.fired}
        for unit, times in zip(("ms", "cpu_ms"), np.array(one.times).T / 1e6, strict=True):
            median, p99 = np.quantile(times, (0.5, 0.99)).round(4).tolist()
            row |= {f"median_{unit}": median, f"p99_{unit}": p99}
        rows.append(row)
    ours = {row["caches"]: row["median_cpu_ms"] for row in rows if row["defence"] == "ragguard"}
    for row in rows:
        for caches, median in ours.items():
            row[f"cpu_over_ragguard_{caches}"] = round(row["median_cpu_ms"] / median, 2)
    return rows


def growth(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield how the processor time of each defence grows with k, and last how k log k does.

    `less_gram` is the exponent without the similarity of every pair, where a defence needs it.
    """
    gram = {(r["traffic"], r["k"]): r["median_cpu_ms"] for r in rows if r["defence"] == GRAM}
    for (traffic, name, caches), chosen in grouped(rows, "traffic", "defence", "caches").items():
        times = {row["k"]: row["median_cpu_ms"] for row in chosen}
        rest = dict(times)
        for row in chosen if not name.startswith("ragguard") else ():
            if 2 * row["fired"] > row["samples"]:
                rest[row["k"]] -= gram[traffic, row["k"]]
        place = {"traffic": traffic, "defence": name, "caches": caches}
        yield {**place, **_grown(times, rest)}
    law = {row["k"]: row["k"] * log(row["k"]) for row in rows}
    yield {"traffic": "", "defence": "k log k", "caches": "", **_grown(law, law)}


def _grown(times: Mapping[int, float], rest: Mapping[int, float]) -> Row:
    ratios = {f"{a} to {b}": round(times[b] / times[a], 2) for a, b in pairwise(sorted(times))}
    return {"exponent": _slope(times), "less_gram": _slope(rest), **ratios}


def _slope(times: Mapping[int, float]) -> float | None:
    """Return the exponent by least squares of logs, or None where fewer than two can be fitted."""
    fitted = [(log(k), log(t)) for k, t in times.items() if k >= 10 and t > 0.0]
    if len(fitted) < 2:
        return None
    sizes, taken = np.array(fitted).T
    return round(float(np.polyfit(sizes, taken, deg=1)[0]), 3)


def tables(sections: Sections) -> Iterator[Table]:
    rows = sections["cost"]
    for traffic in ("clean", "attacked"):
        yield listed(
            f"Cost of a query in milliseconds, {traffic} sets, embeddings given",
            [row for row in rows if row["traffic"] == traffic],
            {
                **{"k": "k", "defence": "defence", "caches": _caches},
                "fired": ratio("fired", "samples"),
                **{head: number(f"{head.replace(' ', '_')}_ms", ".3g") for head in _TIMES},
                "cpu / cold": number("cpu_over_ragguard_cold", ".2f"),
                "cpu / warm": number("cpu_over_ragguard_warm", ".2f"),
            },
        )
    if any(row["defence"] == GRAM for row in rows):
        grown = list(growth(rows))
        steps = [name for name in grown[0] if " to " in name]
        yield listed(
            "Growth of the processor time with k",
            grown,
            {
                **{"sets": "traffic", "defence": "defence", "caches": _caches},
                "exponent": number("exponent", ".2f"),
                "less gram": number("less_gram", ".2f"),
                **{step: number(step, ".2f") for step in steps},
            },
        )


def _caches(row: Row) -> str:
    """Return whether texts were read before; only the guard remembers them."""
    return str(row["caches"]) if row["defence"].startswith("ragguard") else "none"
