"""Workers that are killed in the midst of it: `python -m benchmarks.kills --json FILE`.

Worker processes attribute the events of one store, while one of them after the other gets SIGKILL
and another takes its place. In the end each event must be done, with its attribution stored and
its passage quarantined, once: the version of the quarantine counts every change of it, so two
effects of one event would show there. Attributions sleep, as a model that computes elsewhere would;
what is tested is the bookkeeping.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import platform
import random
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.table import Table

from ragguard import Passage
from ragguard.attribution.result import Attribution
from ragguard.audit import AuditStore, Event, open_store
from ragguard.background import Worker
from ragguard.background.attribute_event import EventAttributor
from ragguard.background.policy import Policy
from ragguard.content import content_key

__all__ = ["empty_store", "main", "measure"]

_ATTRIBUTION_S = 0.02
_PAUSE_S = (0.02, 0.3)  # between two kills
_PATIENCE_S = 300.0


@contextmanager
def empty_store(kind: str) -> Iterator[str]:
    """Yield the URL of an empty database, "sqlite" or "postgresql", which is removed then."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder) / "audit.db")
        return
    import psycopg

    default = "postgresql://postgres@127.0.0.1:5432/test"
    server = os.environ.get("RAGGUARD_TEST_POSTGRES", default)
    schema = f"ragguard_kills_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        mark = "&" if "?" in server else "?"
        try:
            yield f"{server}{mark}options={quote(f'-csearch_path={schema}', safe='')}"
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


_POLICY = Policy("auto", per_reporter=10**6, per_hour=10**6)  # no limit comes in the way


class _BlamesAll(EventAttributor):
    """Takes a while, and blames every passage."""

    def attribute(self, event: Event) -> Attribution:
        time.sleep(_ATTRIBUTION_S)
        found = list(event.passages)
        evidence = {"marks": {content_key(one.text): 0.0 for one in found}, "counterfactual": True}
        return Attribution(
            event.query, event.response, "all", found, [], 1, "poisoning", "so", evidence
        )


def _work(url: str, lease_s: float) -> None:
    store = open_store(url)
    worker = Worker(store, _BlamesAll(store, policy=_POLICY), lease_s=lease_s, poll_s=0.05)
    worker.run_forever(threading.Event())


def _file(store: AuditStore, events: int) -> None:
    store.add_events(
        [
            Event(f"e{n}", "who?", f"{n}", (Passage(f"text number {n}"),), reporter=f"{n % 7}")
            for n in range(events)
        ]
    )


def measure(
    kind: str, *, events: int, kills: int, workers: int, lease_s: float, seed: int = 0
) -> dict[str, Any]:
    """Kill workers until `kills` are dead, let the others finish, and look at what is there.

    Args:
        kind: "sqlite" or "postgresql".
        events: How many there are to attribute.
        kills: How many workers get SIGKILL.
        workers: How many work at once.
        lease_s: Seconds after which a dead worker's event is taken up.
        seed: Of whom it hits and when.
    """
    context = multiprocessing.get_context("fork")
    chance = random.Random(seed)
    with empty_store(kind) as url:
        store = open_store(url)
        _file(store, events)
        version = store.quarantine_version()
        store.close()  # no connection is open when a worker forks off

        def start() -> Any:
            process = context.Process(target=_work, args=(url, lease_s))
            process.start()
            return process

        started = time.monotonic()
        crowd = [start() for _ in range(workers)]
        killed = 0
        while killed < kills:
            time.sleep(chance.uniform(*_PAUSE_S))
            victim = crowd.pop(chance.randrange(workers))
            victim.kill()
            victim.join()
            killed += 1
            crowd.append(start())
        store = open_store(url)
        while store.events(status="pending", limit=1) or store.events(status="running", limit=1):
            if time.monotonic() - started > _PATIENCE_S:
                break
            time.sleep(0.2)
        took = time.monotonic() - started
        for process in crowd:
            process.kill()
            process.join()
        found = store.events(limit=events + 1)
        entries = store.quarantine()
        result = {
            "store": kind,
            "events": events,
            "workers": workers,
            "kills": killed,
            "kills_in_an_attempt": sum(event.attempts - event.failures - 1 for event in found),
            "lease_s": lease_s,
            "seconds": round(took, 1),
            "done": sum(event.status == "done" for event in found),
            "with_attribution": sum(store.attribution(event.id) is not None for event in found),
            "failed": sum(event.status == "failed" for event in found),
            "lost": events - len(found),
            "quarantined": len({entry.event_id for entry in entries}),
            "changes_of_the_quarantine": store.quarantine_version() - version,
            "most_starts_of_one": max(event.attempts for event in found),
        }
        store.close()
    return result


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--lease", type=float, default=3.0, help="seconds")
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    logging.getLogger("ragguard").setLevel(logging.CRITICAL)
    rows = [
        measure(
            kind,
            events=arguments.events,
            kills=arguments.kills,
            workers=arguments.workers,
            lease_s=arguments.lease,
        )
        for kind in arguments.stores
    ]
    table = Table("", *[row["store"] for row in rows])
    for name in list(rows[0])[1:]:
        table.add_row(name.replace("_", " "), *[str(row[name]) for row in rows])
    Console().print(table)
    if arguments.json is not None:
        found = {"python": platform.python_version(), "cpus": os.cpu_count(), "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
