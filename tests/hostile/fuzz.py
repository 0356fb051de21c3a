"""A fuzzer of all that reads what others write: `python -m tests.hostile.fuzz`.

Needs no data. Set number n is the same on every machine: `--first n --sets 1` repeats it, and
`--first` goes on after the last number of an earlier run. Of twenty sets eight are judged by guards
of every make and must come back as a proper verdict, the same from `filter`, `afilter` and
`filter_batch`; six are poison that is found among honest passages, and must still be held back
when hostile passages join it; three are responses to attribute, three files to read. Nothing but a
`RagguardError` may leave.

The poison has the question in front, word for word, and lies far above the line. Poison near the
line may pass in other company for good reasons: which words are rare depends on the other passages.
And it may pass among passages of which two ask or have headings: there the question may be one.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from random import Random
from time import process_time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.hostile.events import check_event
from tests.hostile.filters import Guards
from tests.hostile.findings import Findings
from tests.hostile.lines import check_file

__all__ = ["main", "run", "tried"]

_SETS = 300_000
_JOBS = os.cpu_count() or 1
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


def main(
    sets: Annotated[int, typer.Option(min=1, help="how many")] = _SETS,
    first: Annotated[int, typer.Option(help="number of the first")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="processes")] = _JOBS,
) -> None:
    """Run the command; the exit status is 1 if anything was broken."""
    numbers = range(first, first + sets)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        found = run(numbers, jobs, progress)
    table = Table("kind", "sets", "slowest, ms", "its number", title="Hostile sets")
    for kind, count in sorted(found.tried.items()):
        slowest, number = found.slowest[kind]
        table.add_row(kind, f"{count:,}", f"{slowest:.0f}", str(number))
    Console().print(table)
    broken = Table("kind", "what", "sets", "first", title="Promises broken")
    for (kind, what), one in sorted(found.broken.items(), key=lambda pair: -pair[1].count):
        broken.add_row(kind, what, f"{one.count:,}", str(one.first))
    Console().print(broken)
    raise typer.Exit(1 if found.broken else 0)


if __name__ == "__main__":
    typer.run(main)
