"""Worker processes that get SIGKILL in the midst of it: no event is lost, none takes effect twice.

In the end each event must be done, with its attribution stored and its passage quarantined, once:
the version of the quarantine counts every change, so two effects of one event would show there.
"""

import random
import time

import pytest

from ragguard import Passage
from ragguard.audit import Event, open_store
from tests.processes import spawn

EVENTS, KILLS, WORKERS = 120, 4, 3
WORK = """
    import sys, threading, time
    from ragguard.attribution.result import Attribution
    from ragguard.audit import open_store
    from ragguard.background import Worker
    from ragguard.background.attribute_event import EventAttributor
    from ragguard.background.policy import Policy
    from ragguard.content import content_key

    class BlamesAll(EventAttributor):
        def attribute(self, event):
            time.sleep(0.1)
            found = list(event.passages)
            marks = {content_key(one.text): 0.0 for one in found}
            evidence = {"marks": marks, "counterfactual": True}
            return Attribution(
                event.query, event.response, "all", found, [], 1, "poisoning", "so", evidence
            )

    store = open_store(sys.argv[1])
    unlimited = Policy("auto", per_reporter=10**6, per_hour=10**6)
    blames = BlamesAll(store, lambda query, limit: [], policy=unlimited)
    worker = Worker(store, blames, lease_s=1.0, poll_s=0.05)
    print("ready", flush=True)
    worker.run_forever(threading.Event())
    """


def start(url):
    process = spawn(WORK, url)
    process.stdout.readline()
    return process


def kill(process):
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_killed_workers_lose_nothing_and_nothing_takes_effect_twice(sql_url):
    store = open_store(sql_url)
    version = store.quarantine_version()
    chance = random.Random(0)
    crowd = [start(sql_url) for _ in range(WORKERS)]
    try:
        # Now that all are ready, so that the first of them is killed at work.
        store.add_events(
            [
                Event(f"e{n}", "who?", f"{n}", (Passage(f"text number {n}"),), reporter=f"{n % 7}")
                for n in range(EVENTS)
            ]
        )
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.1, 0.4))
            kill(crowd.pop(chance.randrange(WORKERS)))
            crowd.append(start(sql_url))
        deadline = time.monotonic() + 120.0
        while any(store.events(status=one, limit=1) for one in ("pending", "running")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        for process in crowd:
            kill(process)
    found = store.events(limit=EVENTS + 1)
    assert [event.status for event in found] == ["done"] * EVENTS
    assert sum(event.attempts - event.failures - 1 for event in found) > 0
    assert all(store.attribution(event.id) is not None for event in found)
    assert {entry.event_id for entry in store.quarantine()} == {event.id for event in found}
    assert store.quarantine_version() - version == EVENTS
    store.close()
