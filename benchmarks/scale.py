"""What an attribution takes against the size of the knowledge base, search apart.

Runnable alone: `python -m benchmarks.scale --json FILE`. Needs faiss; no data.

Vectors and texts are made up: for each of some questions, five planted passages closest to it, five
on its subject next, and the rest at random, in FAISS indices of 10^3 to 10^6 passages. RAGOrigin
attributes a wrong answer with the lexical proxy and the built-in embedder. Attribution asks for the
scope alone, so its own time should not grow; the search's does, as the index's does.

Times are of the processor, in one thread, median over the events; sizes take turns, so that what
else the machine does falls on all alike.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.report.result import describe_run, write
from benchmarks.synthetic import KINDS, PLANTED, Event, Texts, faiss_index, vectors
from ragguard.attribution import RAGOrigin
from ragguard.attribution.search import as_retrieve
from ragguard.passage import Passage

__all__ = ["main", "run"]

SIZES = (10**3, 10**4, 10**5, 10**6)


@dataclass
class _Clock:
    """A search that counts its calls and its seconds."""

    search: Any
    seconds: float = 0.0
    calls: int = 0

    def __call__(self, query: str, limit: int) -> Sequence[Passage]:
        began = time.process_time()
        found: Sequence[Passage] = self.search(query, limit)
        self.seconds += time.process_time() - began
        self.calls += 1
        return found


@dataclass
class _Row:
    search: list[float] = field(default_factory=list)
    rest: list[float] = field(default_factory=list)
    calls: int = 0
    scope: int = 0
    found: int = 0


def run(
    sizes: Sequence[int],
    kinds: Sequence[str],
    *,
    dimension: int,
    events: int,
    rounds: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Return one row for each kind of index and size.

    Args:
        sizes: Passages of a knowledge base; each holds at least the events' own.
        kinds: Of `benchmarks.synthetic.KINDS`.
        dimension: Of the vectors.
        events: How many there are.
        rounds: How often each is attributed.
        progress: Told about every index and round.
    """
    import faiss

    faiss.omp_set_num_threads(1)
    asked = [Event.made_up(number) for number in range(events)]
    first, embedder = vectors(asked, dimension)
    out: list[dict[str, Any]] = []
    for kind in kinds:
        bar = progress.add_task(kind, total=len(sizes) + rounds)
        searches = {}
        for size in sizes:
            index = faiss_index(kind, first, size)
            searches[size] = as_retrieve(index, texts=Texts(asked, size), embedder=embedder)
            progress.advance(bar)
        rows = {size: _Row() for size in sizes}
        for _ in range(rounds):
            for event in asked:
                for size, row in rows.items():
                    _measure(event, searches[size], row)
            progress.advance(bar)
        least = median(rows[sizes[0]].rest)
        out += [
            {
                "index": kind,
                "passages": size,
                "events": len(row.rest),
                "search_ms": round(1e3 * median(row.search), 3),
                "attribution_ms": round(1e3 * median(row.rest), 3),
                "against_smallest": round(median(row.rest) / least, 3),
                "searches": round(row.calls / len(row.rest), 2),
                "scope": round(row.scope / len(row.rest), 2),
                "planted_found": round(row.found / len(row.rest) / PLANTED, 4),
            }
            for size, row in rows.items()
        ]
    return out


def _measure(event: Event, search: Any, row: _Row) -> None:
    # A new one each time: it would remember the vectors of what it has read.
    origin = RAGOrigin()
    clock = _Clock(search)
    began = time.process_time()
    attribution = origin.attribute(event.question, event.wrong, clock)
    row.rest.append(time.process_time() - began - clock.seconds)
    row.search.append(clock.seconds)
    row.calls += clock.calls
    row.scope += attribution.scope_size
    planted = event.texts[:PLANTED]
    row.found += sum(passage.text in planted for passage in attribution.responsible)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument(
        "--sizes", type=lambda text: [int(n) for n in text.split(",")], default=list(SIZES)
    )
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is attributed")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    with Progress(console=Console(stderr=True)) as progress:
        rows = run(
            arguments.sizes,
            arguments.kinds,
            dimension=arguments.dimension,
            events=arguments.events,
            rounds=arguments.rounds,
            progress=progress,
        )
    table = Table("index", "passages", "search ms", "attribution ms", "x smallest", "found")
    for row in rows:
        table.add_row(
            row["index"],
            f"{row['passages']:,}",
            f"{row['search_ms']:.2f}",
            f"{row['attribution_ms']:.2f}",
            f"{row['against_smallest']:.2f}",
            f"{row['planted_found']:.0%}",
        )
    Console().print(table)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.scale"]
        command += ["--sizes", ",".join(map(str, arguments.sizes))]
        command += ["--kinds", ",".join(arguments.kinds)]
        command += ["--dimension", str(arguments.dimension), "--events", str(arguments.events)]
        command += ["--rounds", str(arguments.rounds)]
        write(arguments.json, describe_run(command, (), seed=0, limit=None), {"scale": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
