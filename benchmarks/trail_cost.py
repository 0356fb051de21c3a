"""What the trail costs a decision about quarantine, and what it takes to verify it.

Runnable alone: `python -m benchmarks.trail_cost --json FILE`. Entries of a store with 1,000 texts
in quarantine are confirmed and released, with the trail and without it, turn by turn in random
order; of each the median is told. Then as many rows as `--rows` says are verified.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from rich.console import Console
from rich.table import Table

from benchmarks.kills import empty_store
from ragguard.audit import AuditStore, QuarantineEntry, open_store
from ragguard.audit.memory_trail import MemoryTrail
from ragguard.audit.trail_check import check
from ragguard.audit.trail_keys import KEY, Keys

__all__ = ["main", "measure"]

_ENTRIES, _SEED = 1_000, 0
_SECRET = "0123456789abcdef" * 4  # of nothing


@contextmanager
def _opened(kind: str) -> Iterator[AuditStore]:
    with nullcontext(None) if kind == "memory" else empty_store(kind) as url:
        store = open_store(url)
        try:
            yield store
        finally:
            store.close()


def measure(kind: str, *, decisions: int, rows: int) -> dict[str, Any]:
    """Return what a decision costs in microseconds, and a check in seconds.

    Args:
        kind: "memory", "sqlite" or "postgresql".
        decisions: How many of each kind are timed.
        rows: How many rows are checked.
    """
    draw = Random(_SEED)
    keys = [f"{n:032x}" for n in range(_ENTRIES)]

    def without(*_: object) -> None:
        """Tell nothing."""

    spent: dict[bool, list[float]] = {True: [], False: []}
    environment = mock.patch.dict(os.environ, {KEY: _SECRET})
    with environment, _opened(kind) as store:
        store.add_quarantine([QuarantineEntry(key, key, f"text {key}", "r") for key in keys])
        for told in _turns(draw, decisions):
            silent = (
                mock.patch("ragguard.audit.sql_quarantine.append", without),
                mock.patch.object(MemoryTrail, "_append", without),
            )
            with nullcontext() if told else silent[kind == "memory"]:
                key, status = draw.choice(keys), draw.choice(("confirmed", "released"))
                began = time.perf_counter()
                store.set_quarantine_status(key, status, actor="ann")  # type: ignore[arg-type]
                spent[told].append(time.perf_counter() - began)
    with environment, _opened(kind) as store:
        store.add_quarantine(
            [QuarantineEntry(f"{n:032x}", "p", f"text {n}", "r") for n in range(rows)]
        )
        began = time.perf_counter()
        found = check(store, Keys.from_environment())
        verified = time.perf_counter() - began
    with_it, without_it = (1e6 * statistics.median(spent[told]) for told in (True, False))
    return {
        "store": kind,
        "decisions": decisions,
        "with_us": round(with_it, 1),
        "without_us": round(without_it, 1),
        "trail_us": round(with_it - without_it, 1),
        "rows": found.rows,
        "findings": len(found.findings),
        "verify_s": round(verified, 3),
    }


def _turns(draw: Random, decisions: int) -> Iterable[bool]:
    for _ in range(decisions):
        yield from draw.sample((True, False), 2)


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trail_cost", description=__doc__)
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--stores", nargs="+", default=["memory", "sqlite", "postgresql"])
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    logging.getLogger("ragguard").setLevel(logging.CRITICAL)
    rows = [
        measure(kind, decisions=arguments.decisions, rows=arguments.rows)
        for kind in arguments.stores
    ]
    table = Table(*[name.replace("_", " ") for name in rows[0]])
    for row in rows:
        table.add_row(*[str(value) for value in row.values()])
    Console().print(table)
    if arguments.json is not None:
        found = {"python": platform.python_version(), "cpus": os.cpu_count(), "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
