"""The search for the slowest text: `python -m tests.hostile.slowest --json FILE`.

Needs no data. Texts of every hostile kind (`tests.hostile`) and mixtures of them, which a
small evolutionary search makes worse and worse, are judged by guards that have read nothing yet and
have no limit of time, with and without something in quarantine. Measured are the processor time of
the worst passage of 10 and of 100 kB, how the time of every kind grows from 1 kB to 1 MB, the
memory at its peak, a question of 10 kB against ten passages of 10 kB that hold it, and for how long
the event loop stands still while a guard as it comes judges the worst of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.command import without_warnings
from benchmarks.report.result import describe_run, write
from tests.hostile.corpus import GENERATORS, asked, made
from tests.hostile.costs import QUESTIONS, milliseconds, peak_bytes, standstill_ms
from tests.hostile.mixtures import Candidate, search, worst_of

__all__ = ["TARGETS", "Extent", "main", "run", "summary"]

Row = dict[str, Any]

TARGETS = {
    "passage of 10 kB, ms": 20.0,
    "passage of 100 kB, ms": 150.0,
    "growth, exponent": 1.1,
    "memory, times the text": 50.0,
    "question of 10 kB against ten passages of 10 kB, ms": 300.0,
    "standstill of the loop, ms": 20.0,
}
"""What nothing should exceed."""

_PASSAGES = 10
_QUERY = 10_000  # bytes, and of each passage beside it
_MEMORY = 100_000
_SURE = 3  # times as many repeats for what is reported
_TOO_SLOW = 2_000.0  # ms: larger texts of that kind are left out


@dataclass(frozen=True)
class Extent:
    """How far the search goes.

    Attributes:
        names: The kinds, of `GENERATORS`.
        sizes: Bytes for which the growth is measured, ascending.
        budgets: Bytes of the worst passage that is searched for.
        evaluations: Mixtures that are tried for each budget.
        repeats: How often what counts is measured; the fastest time is taken.
    """

    names: tuple[str, ...] = tuple(GENERATORS)
    sizes: tuple[int, ...] = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    budgets: tuple[int, ...] = (10_000, 100_000)
    evaluations: int = 250
    repeats: int = 3


QUICK = Extent(("emoji", "prose", "document"), (1_000, 3_000), (1_000,), evaluations=20, repeats=1)
"""A few seconds, to see that it works."""


def run(extent: Extent, seed: int, progress: Progress) -> dict[str, list[Row]]:
    """Measure all of it and return the sections of the result.

    Args:
        extent: How far the search goes.
        seed: Of all that is random.
        progress: Where it is shown.
    """
    found = [
        one
        for size in extent.budgets
        for quarantine in (False, True)
        for one in _searched(extent, size, quarantine, Random(seed), progress)
    ]
    sections = {
        "growth": _growth(extent, seed, progress),
        "memory": _memory(extent, seed, progress),
        "queries": _queries(extent, seed, progress),
        "standstill": _standstill(extent, seed, progress),
    }
    rounds = _SURE * extent.repeats
    tick = _ticks(progress, "the worst, once more", rounds)
    return {"slowest": worst_of(found, rounds, tick), **sections}


def _searched(
    extent: Extent, size: int, quarantine: bool, draw: Random, progress: Progress
) -> list[Candidate]:
    kept = "something" if quarantine else "nothing"
    tick = _ticks(progress, f"{size:,} bytes, {kept} in quarantine", extent.evaluations)
    return search(extent.names, size, quarantine, extent.evaluations, draw, tick)


def _ticks(progress: Progress, name: str, total: int) -> Callable[[], None]:
    bar = progress.add_task(name, total=total)
    return lambda: progress.advance(bar)


def _growth(extent: Extent, seed: int, progress: Progress) -> list[Row]:
    tick = _ticks(progress, "growth", len(extent.names) * 2)
    rows = []
    for name in extent.names:
        for quarantine in (False, True):
            times: dict[int, float] = {}
            errors: set[str] = set()
            for size in extent.sizes:
                text = made(name, Random(seed), QUESTIONS[0], size)
                repeats = extent.repeats if size <= _MEMORY else 1
                times[size], verdict = milliseconds(
                    QUESTIONS[0], [text], quarantine=quarantine, repeats=repeats, enough=100.0
                )
                if verdict.error is not None:
                    errors.add(verdict.error)
                if times[size] > _TOO_SLOW:
                    break
            rows.append(
                {
                    "kind": name,
                    "quarantine": quarantine,
                    "ms": {str(size): round(time, 3) for size, time in times.items()},
                    "exponent": _exponent(times),
                    "errors": sorted(errors),
                }
            )
            tick()
    return rows


def _exponent(times: dict[int, float]) -> float | None:
    """Return the slope of log(time) against log(size), from a tenth of the largest size on.

    Below, what a call costs however short the text is hides it.
    """
    largest = max(times)
    fitted = {size: time for size, time in times.items() if 10 * size >= largest and time > 0}
    if len(fitted) < 2:
        return None
    slope = np.polyfit(np.log(list(fitted)), np.log(list(fitted.values())), 1)[0]
    return round(float(slope), 2)


def _memory(extent: Extent, seed: int, progress: Progress) -> list[Row]:
    tick = _ticks(progress, "memory", len(extent.names))
    size = min(_MEMORY, 10 * max(extent.budgets))
    rows = []
    for name in extent.names:
        text = made(name, Random(seed), QUESTIONS[0], size)
        peaks = [
            peak_bytes(QUESTIONS[0], [text], quarantine=quarantine) for quarantine in (False, True)
        ]
        rows.append({"kind": name, "size": size, "times_the_text": round(max(peaks) / size, 1)})
        tick()
    return rows


def _queries(extent: Extent, seed: int, progress: Progress) -> list[Row]:
    tick = _ticks(progress, "long questions", len(extent.names))
    size = min(_QUERY, max(extent.budgets))
    rows = []
    for name in extent.names:
        times = [
            milliseconds(
                *asked(name, seed, QUESTIONS[0], size, _PASSAGES, same=same),
                quarantine=True,
                repeats=2,
            )[0]
            for same in (True, False)
        ]
        rows.append(
            {
                "kind": name,
                "size": size,
                "passages": _PASSAGES,
                "held_ms": round(times[0], 1),
                "alike_ms": round(times[1], 1),
            }
        )
        tick()
    return rows


def _standstill(extent: Extent, seed: int, progress: Progress) -> list[Row]:
    rounds = _SURE * extent.repeats
    tick = _ticks(progress, "standstill", rounds * len(extent.names))
    size = 10 * max(extent.budgets)
    shortest = {name: (float("inf"), float("inf")) for name in extent.names}
    # Round by round, so that a machine that is slow for a while spoils one round of all. Many
    # rounds, since a host that takes one of two processors away stops the loop as well.
    for _ in range(rounds):
        for name, (passage, query) in shortest.items():
            texts = [made(name, Random(seed), QUESTIONS[0], size)]
            long = asked(name, seed, QUESTIONS[0], min(_QUERY, size), _PASSAGES, same=True)
            shortest[name] = (
                min(passage, standstill_ms(QUESTIONS[0], texts, quarantine=True)),
                min(query, standstill_ms(*long, quarantine=True)),
            )
            tick()
    return [
        {"kind": name, "size": size, "passage_ms": round(passage, 1), "query_ms": round(query, 1)}
        for name, (passage, query) in shortest.items()
    ]


def summary(sections: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, float, str]]:
    """Yield (what is aimed at, the worst that was found, by which kind of text)."""
    for name, size in (("passage of 10 kB, ms", 10_000), ("passage of 100 kB, ms", 100_000)):
        here = [row for row in sections["slowest"] if row["size"] == size]
        worst = max(here or sections["slowest"], key=lambda row: float(row["cpu_ms"]))
        yield name, worst["cpu_ms"], worst["kinds"]
    for what, section, names in (
        ("growth, exponent", "growth", ("exponent",)),
        ("memory, times the text", "memory", ("times_the_text",)),
        (
            "question of 10 kB against ten passages of 10 kB, ms",
            "queries",
            ("held_ms", "alike_ms"),
        ),
        ("standstill of the loop, ms", "standstill", ("passage_ms", "query_ms")),
    ):
        value, kind = max(
            (max(row[name] or 0.0 for name in names), row["kind"]) for row in sections[section]
        )
        yield what, value, kind


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.slowest", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    arguments = parser.parse_args(argv)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    errors = Console(stderr=True)
    with without_warnings(), Progress(*columns, TimeElapsedColumn(), console=errors) as progress:
        sections = run(QUICK if arguments.quick else Extent(), arguments.seed, progress)
    table = Table("what", "worst found", "aimed at most at", "by", title="The slowest texts")
    for what, value, kind in summary(sections):
        table.add_row(what, f"{value:.3g}", f"{TARGETS[what]:g}", kind)
    Console().print(table)
    if arguments.json is not None:
        command = ["python", "-m", "tests.hostile.slowest", "--seed", str(arguments.seed)]
        command += ["--quick"] if arguments.quick else []
        run_of = describe_run(command, [], seed=arguments.seed, limit=None)
        write(arguments.json, run_of, sections)
    return 0


if __name__ == "__main__":
    sys.exit(main())
