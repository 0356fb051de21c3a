"""A fuzzer of all that reads what others write: `python -m benchmarks.fuzz --json FILE`.

Needs no data. Set number n is the same on every machine: `--first n --sets 1` repeats it, and
`--first` goes on after the last number of an earlier run. Of twenty sets eight are judged by guards
of every make and must come back as a proper verdict, the same from `filter`, `afilter` and
`filter_batch`; six are poison that is found among honest passages, and must still be held back
when hostile passages join it; three are responses to attribute, three files to read. Nothing but a
`RagguardError` may leave.

The poison has the question in front, word for word, and lies far above the line. Poison near the
line may pass in other company for good reasons: which words are rare depends on the other passages.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.command import positive
from benchmarks.hostile.events import check_event
from benchmarks.hostile.filters import Guards
from benchmarks.hostile.findings import Findings
from benchmarks.hostile.lines import check_file
from benchmarks.report.result import describe_run, write
from benchmarks.tables import Table, as_rich

__all__ = ["main", "run", "tables", "tried"]

_SETS = 300_000
_CHUNK = 250
_KINDS = (*("filter",) * 8, *("company",) * 6, *("attribute",) * 3, *("files",) * 3)


def tried(numbers: range) -> Findings:
    """Try the sets of these numbers in this process."""
    # A guard logs every attack and every failure, which is all that it is given here.
    logging.getLogger("ragguard").setLevel(logging.CRITICAL + 1)
    found = Findings()
    with Guards() as guards, tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            kind, start = _KINDS[number % len(_KINDS)], process_time()
            broken = list(_broken(kind, Random(f"set {number}"), guards, Path(folder)))
            found.add(kind, number, broken, 1000 * (process_time() - start))
    return found


def _broken(kind: str, draw: Random, guards: Guards, folder: Path) -> Iterator[str]:
    match kind:
        case "filter":
            return guards.check_any(draw)
        case "company":
            return guards.check_company(draw)
        case "attribute":
            return check_event(draw)
        case _:
            return check_file(draw, folder)


def run(numbers: range, jobs: int, progress: Progress) -> Findings:
    """Try the sets of these numbers in several processes."""
    bar = progress.add_task("sets", total=len(numbers))
    chunks = [numbers[at : at + _CHUNK] for at in range(0, len(numbers), _CHUNK)]
    found = Findings()
    if jobs == 1:
        for chunk in chunks:
            found.join(tried(chunk))
            progress.advance(bar, len(chunk))
        return found
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting = {pool.submit(tried, chunk): chunk for chunk in chunks}
        for done in as_completed(waiting):
            found.join(done.result())
            progress.advance(bar, len(waiting[done]))
            progress.update(bar, description=f"sets, {len(found.broken)} findings")
    return found


def _sections(found: Findings, seconds: float) -> dict[str, list[dict[str, Any]]]:
    return {
        "fuzz": [
            {
                "kind": kind,
                "sets": count,
                "broken": sum(one.count for (of, _), one in found.broken.items() if of == kind),
                "slowest_cpu_ms": round(found.slowest[kind][0], 1),
                "slowest": found.slowest[kind][1],
                "seconds": round(seconds, 1),
            }
            for kind, count in sorted(found.tried.items())
        ],
        "broken": [
            {"kind": kind, "what": what, "sets": one.count, "first": one.first}
            for (kind, what), one in sorted(found.broken.items(), key=lambda pair: -pair[1].count)
        ],
    }


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the counts, and what was broken if anything was.

    Args:
        sections: Of the result.
    """
    yield Table(
        "Hostile sets",
        ("kind", "sets", "that break a promise", "slowest, ms", "its number"),
        tuple(
            (
                row["kind"],
                f"{row['sets']:,}",
                f"{row['broken']:,}",
                f"{row['slowest_cpu_ms']:.0f}",
                str(row["slowest"]),
            )
            for row in sections["fuzz"]
        ),
    )
    if sections["broken"]:
        yield Table(
            "Promises broken",
            ("kind", "what", "sets", "first"),
            tuple(
                (row["kind"], row["what"], f"{row['sets']:,}", str(row["first"]))
                for row in sections["broken"]
            ),
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 1 if anything was broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--sets", type=positive, default=_SETS, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    numbers = range(arguments.first, arguments.first + arguments.sets)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    start = perf_counter()
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        found = run(numbers, arguments.jobs, progress)
    sections = _sections(found, perf_counter() - start)
    for table in tables(sections):
        Console().print(as_rich(table))
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.fuzz", "--sets", str(arguments.sets)]
        command += ["--first", str(arguments.first), "--jobs", str(arguments.jobs)]
        write(arguments.json, describe_run(command, [], seed=0, limit=None), sections)
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
