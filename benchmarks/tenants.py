"""What many tenants cost one guard, against one tenant with as many texts in quarantine.

Runnable alone: `python -m benchmarks.tenants --json FILE`. In a SQLite store 50,000 texts are in
quarantine: of one tenant, or 50 of each of 1,000, with an allow-list each. Measured are how long a
watch takes to load them, the memory that they take then, how long it takes to see a change, and the
processor time of a query of ten passages that were read before, whose tenant has them or has none.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.command import positive
from benchmarks.report.result import describe_run, write
from benchmarks.tables import Table, as_rich
from ragguard import Guard
from ragguard.audit import AuditStore, QuarantineEntry, QuarantineWatch, open_store
from ragguard.audit.allowing import allowance
from ragguard.content import content_key

__all__ = ["main", "run", "tables"]

_TENANTS, _ENTRIES = 1_000, 50_000
_LETTERS, _CHARS = "abcdefghijklmnopqrstuvwxyz ", 500
_SETS, _ROUNDS, _CHANGES, _SEED = 100, 20, 20, 0


def run(tenants: int, entries: int) -> list[dict[str, Any]]:
    """Return a row for one tenant and one for so many, with so many texts in all."""
    with TemporaryDirectory() as folder:
        return [
            _measured(open_store(Path(folder) / f"{count}.db"), count, entries)
            for count in (1, tenants)
        ]


def _measured(store: AuditStore, tenants: int, entries: int) -> dict[str, Any]:
    draw = Random(_SEED)

    def text() -> str:
        return "".join(draw.choices(_LETTERS, k=_CHARS))

    def entry() -> QuarantineEntry:
        one = text()
        return QuarantineEntry(content_key(one), "p", one, "because")

    for number in range(tenants):
        mine = store.of_tenant(f"tenant {number}")
        mine.add_quarantine([entry() for _ in range(entries // tenants)])
        mine.allow(allowance("handbook", why="ours"))
    tracemalloc.start()
    watch = QuarantineWatch(store, interval_s=3600)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    watch.close()
    loading = _seconds(lambda: QuarantineWatch(store, interval_s=3600).close())
    watch = QuarantineWatch(store, interval_s=3600)
    watch.place = ""  # as in another process: it is not told at once
    mine = store.of_tenant("tenant 0")
    seen = []
    for _ in range(_CHANGES):
        mine.add_quarantine([entry()])
        seen.append(_seconds(watch.refresh))
    watch.close()
    sets = [(text(), [text() for _ in range(10)]) for _ in range(_SETS)]
    with Guard(store=store) as guard:
        queries = {
            name: _query_ms(guard, sets, tenant)
            for name, tenant in (("own_ms", "tenant 0"), ("none_ms", "made up"))
        }
    store.close()
    return {
        "tenants": tenants,
        "entries": entries,
        "load_s": loading,
        "mib": held / 2**20,
        "seen_ms": 1000.0 * median(seen),
        **queries,
    }


def _query_ms(guard: Guard, sets: Sequence[tuple[str, list[str]]], tenant: str) -> float:
    least = [float("inf")] * len(sets)
    for _ in range(_ROUNDS):
        for place, (question, passages) in enumerate(sets):
            began = time.thread_time()
            guard.filter(question, passages, tenant=tenant)
            least[place] = min(least[place], time.thread_time() - began)
    return 1000.0 * sum(least) / len(least)


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yield the table of the rows of `run`."""
    columns = (
        *("tenants", "texts", "loaded in (s)", "MiB", "a change is seen in (ms)"),
        *("a query of one who has some (ms)", "of one who has none (ms)"),
    )
    lines = [
        (
            *(f"{row['tenants']:,}", f"{row['entries']:,}", f"{row['load_s']:.1f}"),
            *(f"{row['mib']:.0f}", f"{row['seen_ms']:.1f}"),
            *(f"{row['own_ms']:.3f}", f"{row['none_ms']:.3f}"),
        )
        for row in rows
    ]
    yield Table("Texts in quarantine, of one tenant and of many", columns, tuple(lines))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tenants", description=__doc__)
    parser.add_argument("--tenants", type=positive, default=_TENANTS)
    parser.add_argument("--entries", type=positive, default=_ENTRIES)
    parser.add_argument("--json", type=Path, help="write the result here")
    given = parser.parse_args(argv)
    rows = run(given.tenants, given.entries)
    for table in tables(rows):
        Console().print(as_rich(table))
    if given.json is not None:
        described = describe_run(sys.argv, [], seed=_SEED, limit=None)
        write(given.json, described, {"tenants": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
