"""Queries a second of one guard: `python -m benchmarks.throughput --json FILE`.

The project's own questions, each with five passages, every fifth of them attacked; all vectors are
in the cache before the clock starts, so that no embedder is measured. Threads and asyncio share one
guard, processes have one each. `cpu_us` is the processor time of a query, all threads together: a
busy machine stretches it less than it does the rate, and 1e6 / cpu_us is what a core that does
nothing else can answer. The cost of recording is what is left of a query's time when nothing is
counted and recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ragguard import Guard, Passage
from ragguard.demo.corpus import load_corpus, poison
from ragguard.knowledge.memory import KnowledgeBase

__all__ = ["main", "measure", "traffic"]

Query = tuple[str, list[Passage]]

_PASSAGES = 5
_ATTACKED = 5


def traffic() -> list[Query]:
    """Return the questions with what is retrieved for them; every fifth is attacked."""
    corpus = load_corpus()
    retriever = KnowledgeBase(corpus.passages)
    found: list[Query] = []
    for number, question in enumerate(corpus.questions):
        planted = poison(question, "statement", count=3) if number % _ATTACKED == 0 else []
        hits = [*planted, *retriever.retrieve(question.text, _PASSAGES)][:_PASSAGES]
        # Without vectors: the guard's own cache has to hold them.
        found.append((question.text, [Passage(hit.text, id=hit.id) for hit in hits]))
    return found


@contextmanager
def _warm(store: str | None, queries: Sequence[Query]) -> Iterator[Guard]:
    with Guard(store=store) as guard:
        guard.filter_batch(queries)
        yield guard


Measured = dict[str, float]


def _timed(work: Callable[[], object], count: int) -> Measured:
    started, processor = time.perf_counter(), time.process_time()
    work()
    used, took = time.process_time() - processor, time.perf_counter() - started
    return {"per_s": count / took, "cpu_us": 1e6 * used / count}


def _threads(guard: Guard, queries: Sequence[Query], workers: int) -> Measured:
    with ThreadPoolExecutor(workers) as pool:
        return _timed(lambda: list(pool.map(lambda q: guard.filter(*q), queries)), len(queries))


def _asyncio(guard: Guard, queries: Sequence[Query], at_once: int) -> Measured:
    async def work() -> None:
        gate = asyncio.Semaphore(at_once)

        async def one(query: Query) -> None:
            async with gate:
                await guard.afilter(*query)

        await asyncio.gather(*map(one, queries))

    return _timed(lambda: asyncio.run(work()), len(queries))


def _processes(store: str | None, queries: Sequence[Query], rounds: int, workers: int) -> Measured:
    context = multiprocessing.get_context("spawn")
    ready, go = context.Barrier(workers + 1), context.Barrier(workers + 1)
    used = context.Array("d", workers)
    crowd = [
        context.Process(target=_one_process, args=(store, queries, rounds, ready, go, used, number))
        for number in range(workers)
    ]
    for process in crowd:
        process.start()
    ready.wait()
    go.wait()
    started = time.perf_counter()
    ready.wait()  # passed once more when all are through
    took = time.perf_counter() - started
    for process in crowd:
        process.join()
    count = workers * rounds * len(queries)
    return {"per_s": count / took, "cpu_us": 1e6 * sum(used[:]) / count}


def _one_process(
    store: str | None,
    queries: Sequence[Query],
    rounds: int,
    ready: Any,
    go: Any,
    used: Any,
    number: int,
) -> None:
    _silence_drift()
    with _warm(store, queries) as guard:
        ready.wait()
        go.wait()
        processor = time.process_time()
        for _ in range(rounds):
            for query in queries:
                guard.filter(*query)
        used[number] = time.process_time() - processor
        ready.wait()


def _silence_drift() -> None:
    # A fifth of the queries is attacked, of which every guard would rightly warn.
    logging.getLogger("ragguard").setLevel(logging.ERROR)


def _recording(queries: Sequence[Query], rounds: int, store: str) -> dict[str, float]:
    """Return the median time of a query with and without recording, in microseconds."""
    found = {}
    with _warm(store, queries) as guard:
        add = guard._parts.counter.add
        for name, counted in (("recorded", add), ("not_recorded", lambda *_, **__: None)):
            guard._parts.counter.add = counted  # type: ignore[method-assign]
            times = []
            for _ in range(rounds):
                for query in queries:
                    started = time.perf_counter()
                    guard.filter(*query)
                    times.append(time.perf_counter() - started)
            found[f"{name}_us"] = 1e6 * statistics.median(times)
        guard._parts.counter.add = add  # type: ignore[method-assign]
    return found


def measure(rounds: int, workers: Sequence[int]) -> dict[str, Any]:
    """Measure all of it.

    Args:
        rounds: How often the questions are asked.
        workers: Numbers of threads, of concurrent calls and of processes.
    """
    queries = traffic()
    many = queries * rounds
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, store in (("memory", None), ("sqlite", str(Path(folder) / "audit.db"))):
            with _warm(store, queries) as guard:
                alone = _timed(lambda: [guard.filter(*query) for query in many], len(many))
                rows.append({"how": "one by one", "workers": 1, "store": kind, **alone})
                batch = _timed(lambda: guard.filter_batch(many), len(many))
                rows.append({"how": "filter_batch", "workers": 1, "store": kind, **batch})
                for number in workers:
                    for how, run in (("threads", _threads), ("asyncio", _asyncio)):
                        found = run(guard, many, number)
                        rows.append({"how": how, "workers": number, "store": kind, **found})
            for number in workers:
                found = _processes(store, queries, rounds, number)
                rows.append({"how": "processes", "workers": number, "store": kind, **found})
        recording = _recording(queries, rounds, str(Path(folder) / "recording.db"))
    return {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "questions": len(queries),
        "passages_per_query": _PASSAGES,
        "attacked": sum(number % _ATTACKED == 0 for number in range(len(queries))),
        "rounds": rounds,
        "rates": rows,
        "recording": recording,
    }


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how often the questions are asked")
    parser.add_argument(
        "--workers", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4]
    )
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    _silence_drift()
    result = measure(arguments.rounds, arguments.workers)
    table = Table("how", "workers", "store", "queries per second", "processor time of one, us")
    for row in result["rates"]:
        cells = (row["how"], str(row["workers"]), row["store"], f"{row['per_s']:,.0f}")
        table.add_row(*cells, f"{row['cpu_us']:.0f}")
    Console().print(table)
    costs = result["recording"]
    Console().print(
        f"one query: {costs['recorded_us']:.0f} us, "
        f"without counting and recording {costs['not_recorded_us']:.0f} us"
    )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
