"""Reports by the thousand: `python -m benchmarks.floods --json FILE`.

Measured on one guard over the project's own corpus, with the attributor that a guard has by
default, in this process:

- what a call of `report` costs its caller;
- 20,000 reports of one reporter as fast as they can be filed, and then 20 of others: how long until
  these are attributed, and how many of either are lost;
- 100,000 reports of one claim: how many events they become;
- a query's time at rest, beside a stream of attributions in a thread, beside one in a process of
  its own (`ragguard.attribution.Apart`), and beside a burst of reports. The phases alternate, so
  that whatever else the machine does falls on all alike; what counts are their ratios.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.throughput import traffic
from ragguard import Guard, Passage
from ragguard.attribution import Apart
from ragguard.demo.corpus import load_corpus
from ragguard.knowledge.memory import KnowledgeBase

__all__ = ["main"]

_FLOOD = 20_000
_OTHERS = 20
_SAME = 100_000
_QUIET_S = 0.003  # between two queries, as a service that is not at its limit has it

Query = tuple[str, list[Passage]]


@contextmanager
def _guard(store: str | None, attributor: Apart | None = None) -> Iterator[Guard]:
    retriever = KnowledgeBase(load_corpus().passages)
    with Guard(store=store, retrieve=retriever.retrieve, attributor=attributor) as guard:
        yield guard


def _reporting(store: str | None, queries: list[Query]) -> dict[str, float]:
    with _guard(store) as guard:
        guard._parts.reports._worker.start = lambda: None  # type: ignore[method-assign]
        times = []
        for number in range(1000):
            query, passages = queries[number % len(queries)]
            started = time.perf_counter()
            guard.report(f"{query} {number}", "Marek Dove", passages=passages, reporter="m")
            times.append(time.perf_counter() - started)
    return {"report_us": 1e6 * float(np.median(times))}


def _flood(store: str | None, queries: list[Query]) -> dict[str, Any]:
    with _guard(store) as guard:
        started = time.perf_counter()
        for number in range(_FLOOD):
            query, passages = queries[number % len(queries)]
            guard.report(f"{query} {number}", "Marek Dove", passages=passages, reporter="m")
        filed = time.perf_counter() - started
        others = []
        for number in range(_OTHERS):
            query, passages = queries[number % len(queries)]
            who = f"user {number % 5}"
            others.append(guard.report(query, "Ilse Tarn", passages=passages, reporter=who))
        before = guard.health().reports_lost
        started = time.perf_counter()
        for event in others:
            guard.attribution(event, timeout=600)
        took = time.perf_counter() - started
        lost = guard.health().reports_lost
    return {
        "flood": _FLOOD,
        "filed_per_s": round(_FLOOD / filed),
        "flood_lost": lost,
        "others": _OTHERS,
        "others_lost": 0,  # or their attribution would have raised
        "lost_for_others": lost - before,
        "others_attributed_s": round(took, 2),
    }


def _same(store: str | None) -> dict[str, Any]:
    with _guard(store) as guard:
        started = time.perf_counter()
        for _ in range(_SAME):
            guard.report("who built it", "Marek Dove", passages=["a text"], reporter="m")
        filed = time.perf_counter() - started
        guard.report("who built it", "Marek Dove", passages=["a text"], reporter="m", wait=60)
        events = guard.store.events()
        counted = sum(event.reports for event in events)
    return {
        "reports": _SAME + 1,
        "events": len(events),
        "counted": counted,
        "filed_per_s": round(_SAME / filed),
    }


def _query_times(guard: Guard, queries: list[Query], seconds: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        query, passages = queries[len(times) % len(queries)]
        started = time.perf_counter()
        guard.filter(query, passages)
        times.append(time.perf_counter() - started)
        time.sleep(_QUIET_S)
    return times


@contextmanager
def _beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _inline(queries: list[Query], rounds: int, seconds: float) -> dict[str, Any]:
    apart = Apart()
    phases: dict[str, list[float]] = {}
    attributed = {"thread": 0, "process": 0}
    with _guard(None) as here, _guard(None, apart) as there, _guard(None) as burst:
        numbers = iter(range(10**9))

        def stream(guard: Guard, name: str) -> Callable[[threading.Event], None]:
            def work(stop: threading.Event) -> None:
                while not stop.is_set():
                    query, passages = queries[next(numbers) % len(queries)]
                    event = guard.report(f"{query} {next(numbers)}", "Marek", passages=passages)
                    guard.attribution(event, timeout=600)
                    attributed[name] += 1

            return work

        def reports(stop: threading.Event) -> None:
            # At 5,000 a second: each millisecond what is due.
            started, filed = time.perf_counter(), 0
            while not stop.wait(0.001):
                due = int(5000 * (time.perf_counter() - started))
                while filed < due and not stop.is_set():
                    query, passages = queries[filed % len(queries)]
                    burst.report(f"{query} {next(numbers)}", "Marek", passages=passages)
                    filed += 1

        for guard in (here, there, burst):
            for query in queries:
                guard.filter(*query)
        there.attribution(there.report("warm", "up", passages=["a"]), timeout=600)
        order: list[tuple[str, Guard, Callable[[threading.Event], None] | None]] = [
            ("at rest", here, None),
            ("beside attributions in a thread", here, stream(here, "thread")),
            ("at rest, the guard with a process", there, None),
            ("beside attributions in a process", there, stream(there, "process")),
            ("beside 5,000 reports a second", burst, reports),
        ]
        for number in range(rounds):
            Random(number).shuffle(order)
            for name, guard, work in order:
                if work is None:
                    found = _query_times(guard, queries, seconds)
                else:
                    with _beside(work):
                        found = _query_times(guard, queries, seconds)
                phases.setdefault(name, []).extend(found)
    apart.close()
    rest = np.concatenate([phases["at rest"], phases["at rest, the guard with a process"]])
    rows = []
    for name, times in phases.items():
        p50, p95, p99 = (1e3 * float(np.quantile(times, q)) for q in (0.5, 0.95, 0.99))
        ratio = float(np.quantile(times, 0.99) / np.quantile(rest, 0.99))
        rows.append(
            {
                "phase": name,
                "queries": len(times),
                "p50_ms": round(p50, 2),
                "p95_ms": round(p95, 2),
                "p99_ms": round(p99, 2),
                "p99_ratio": round(ratio, 2),
            }
        )
    return {"rows": rows, "attributed": attributed, "seconds_each": rounds * seconds}


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floods", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="how often the phases alternate")
    parser.add_argument("--seconds", type=float, default=2.0, help="of one phase")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    logging.getLogger("ragguard").setLevel(logging.CRITICAL)
    queries = traffic()
    found: dict[str, Any] = {"python": platform.python_version(), "cpus": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("memory", "sqlite"):

            def fresh(name: str, kind: str = kind) -> str | None:
                return None if kind == "memory" else str(Path(folder) / f"{name}.db")

            found[kind] = {
                **_reporting(fresh("reporting"), queries),
                "flood": _flood(fresh("flood"), queries),
                "same": _same(fresh("same")),
            }
    found["load_average"] = [round(one, 1) for one in os.getloadavg()]
    found["inline"] = _inline(queries, arguments.rounds, arguments.seconds)
    Console().print_json(data=found)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
