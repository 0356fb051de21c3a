"""What is felt of stores that fail halfway: `python -m benchmarks.outages [--postgres URL]`.

A guard answers queries without pause while its store is held, listed, deleted, or behind a network
that fails: a proxy between the two forgets connections, hangs or cuts them. A second table gives
the time of the first queries after a change of a large quarantine.
"""

from __future__ import annotations

import argparse
import json
import logging
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.outage import PASSAGES, QUESTION, Felt, Outage, nothing
from benchmarks.tcp_proxy import Proxy
from ragguard import Guard
from ragguard.audit import Event, QuarantineEntry, open_store
from ragguard.passage import Passage

__all__ = ["large_quarantines", "main", "on_postgres", "on_sqlite"]

LISTED = 3_000
KEYS = (100, 1_000, 10_000, 50_000)
_FAULT_S = 15.0
_AFTER_CHANGE_S = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outages", description=__doc__)
    parser.add_argument(
        "--postgres", metavar="URL", help="an empty schema; without it, SQLite only"
    )
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--seconds", type=float, default=_FAULT_S, help="of the longer outages")
    arguments = parser.parse_args(argv)
    # Every outage is one that a guard logs.
    logging.getLogger("ragguard").setLevel(logging.CRITICAL)
    felt: list[Felt] = []
    with tempfile.TemporaryDirectory() as folder:
        for outage in on_sqlite(Path(folder), arguments.seconds):
            felt.append(outage.felt())
        if arguments.postgres is not None:
            with on_postgres(arguments.postgres, arguments.seconds) as outages:
                felt += [outage.felt() for outage in outages]
        large = large_quarantines(Path(folder), KEYS)
    _show(felt, large)
    if arguments.json is not None:
        result = {"outages": [asdict(row) for row in felt], "large_quarantines": large}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def on_sqlite(folder: Path, seconds: float, listed: int = LISTED) -> Iterator[Outage]:
    """Yield the outages of a SQLite file, each on a file of its own."""

    def outage(name: str, fault: str, **how: Any) -> Outage:
        url = str(folder / f"{name}.db")
        open_store(url).close()
        return Outage("SQLite", fault, url, url, **how)

    yield outage("well", "none")

    holder: sqlite3.Connection

    def hold(_: Guard) -> None:
        nonlocal holder
        holder = sqlite3.connect(folder / "held.db", isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")

    def let_go() -> None:
        holder.rollback()
        holder.close()

    held = {"begin": hold, "end": let_go, "seconds": seconds, "for_all": True}
    yield outage("held", "held by another process", **held)

    def delete(_: Guard) -> None:
        for path in folder.glob("deleted.db*"):
            path.unlink()
        open_store(str(folder / "deleted.db")).close()

    yield outage("deleted", "deleted, made anew by another process", begin=delete)

    full = outage("listed", f"{listed:,} events listed over and over")
    _fill(full.url, listed)
    stop = threading.Event()

    def list_all(guard: Guard) -> None:
        def work() -> None:
            while not stop.is_set():
                guard.store.events(limit=listed)

        threading.Thread(target=work, daemon=True).start()

    yield replace(full, begin=list_all, end=stop.set, seconds=min(seconds, 5.0))


@contextmanager
def on_postgres(url: str, seconds: float) -> Iterator[Iterator[Outage]]:
    """Give the outages of PostgreSQL behind a proxy, one after the other on the same tables."""
    from sqlalchemy import create_engine, make_url, text

    where = make_url(url)
    store = open_store(url)
    engine = create_engine(where.set(drivername="postgresql+psycopg"))

    def emptied() -> None:
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM ragguard_quarantine"))

    with Proxy(where.host or "127.0.0.1", where.port or 5432) as proxy:
        proxied = where.set(host="127.0.0.1", port=proxy.port)

        def outage(fault: str, begin: Any = nothing, **how: Any) -> Outage:
            emptied()
            through = proxied.render_as_string(hide_password=False)
            return Outage("PostgreSQL", fault, through, url, begin, **how)

        def faults() -> Iterator[Outage]:
            yield outage("none")
            yield outage("old connections dead, new ones work", lambda _: proxy.forget())
            for fault, begin in (("hangs", proxy.hang), ("cuts and refuses", proxy.cut)):
                yield outage(fault, lambda _, b=begin: b(), end=proxy.recover, seconds=seconds)
            yield outage(
                "hangs while the guard is closed",
                lambda _: proxy.hang(),
                end=proxy.recover,
                close_in_it=True,
            )
            holder = engine.connect()
            yield outage(
                "tables locked by a migration",
                lambda _: holder.execute(text("LOCK TABLE ragguard_meta, ragguard_counters")),
                end=holder.close,
                seconds=seconds,
                for_all=True,
            )

        yield faults()
    engine.dispose()
    store.close()


def large_quarantines(folder: Path, sizes: Sequence[int]) -> list[dict[str, float]]:
    """Return for each number of keys the slowest query after a change, the median of ten."""
    rows = []
    for size in sizes:
        url = str(folder / f"keys-{size}.db")
        other = open_store(url)
        other.add_quarantine([QuarantineEntry(f"{i:064x}", "p", "t", "r") for i in range(size)])
        with Guard(store=url) as guard:
            slowest = []
            for i in range(10):
                other.add_quarantine([QuarantineEntry(f"new {i}", "p", "t", "r")])
                end, worst = time.monotonic() + _AFTER_CHANGE_S, 0.0
                while time.monotonic() < end:
                    started = time.perf_counter()
                    guard.filter(QUESTION, PASSAGES)
                    worst = max(worst, time.perf_counter() - started)
                slowest.append(worst)
        other.close()
        rows.append({"keys": size, "slowest_query_ms": 1e3 * statistics.median(slowest)})
    return rows


def _fill(url: str, events: int) -> None:
    store = open_store(url)
    passages = tuple(Passage(f"{text} " * 20) for text in PASSAGES)
    for i in range(events):
        store.add_event(Event(f"{i}", QUESTION, "1911", passages, status="done"))
    store.close()


def _show(felt: Sequence[Felt], large: Sequence[dict[str, float]]) -> None:
    console = Console()
    table = Table(title="Outages")
    for column in ("store", "fault", "queries", "p99 ms", "max ms", "seen s", "stored", "close s"):
        table.add_column(column)
    for row in felt:
        seen = "not seen" if row.seen_s is None else f"{row.seen_s:.2f}"
        table.add_row(
            row.store,
            row.fault,
            f"{row.queries}",
            f"{row.p99_ms:.1f}",
            f"{row.max_ms:.1f}",
            seen,
            f"{row.stored} of {row.filed}",
            "not back" if row.close_s is None else f"{row.close_s:.1f}",
        )
    console.print(table)
    keys = Table("keys", "slowest query ms", title="After changes of a large quarantine")
    for one in large:
        keys.add_row(f"{one['keys']:,}", f"{one['slowest_query_ms']:.1f}")
    console.print(keys)


if __name__ == "__main__":
    sys.exit(main())
