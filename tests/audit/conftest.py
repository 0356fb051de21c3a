"""What these tests share: records, watches, threads, changes by SQL, and the key of the trail."""

import threading

import pytest
from sqlalchemy import text

from ragguard import Passage
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import QuarantineEntry, QuarantineWatch
from ragguard.audit.trail import KEY, KEY_FILE, Keys
from ragguard.audit.trail_check import check
from ragguard.content import content_key
from tests.processes import output, spawn

SECRET = "5" * 32
KEYS = Keys([SECRET])


@pytest.fixture
def signing(monkeypatch):
    """Have this process sign the trail."""
    monkeypatch.delenv(KEY_FILE, raising=False)
    monkeypatch.setenv(KEY, SECRET)


@pytest.fixture
def watch_of():
    """Return a function that makes a watch of a store, which asks it once an hour."""
    watches = []

    def make(store, interval_s=3600.0):
        watches.append(QuarantineWatch(store, interval_s))
        return watches[-1]

    yield make
    for watch in watches:
        watch.close()


def entry(text, **fields):
    return QuarantineEntry(content_key(text), text, text, "so", **fields)


def attribution(text="bad", reason="so"):
    score = PassageScore(Passage(text, id="p", score=0.5), 0.1, -2.0, -3.0, 1.5, True)
    return Attribution("who?", "me", "ragorigin", [score.passage], [score], 1, "poisoning", reason)


def in_threads(work, n=4):
    """Run `work(i)` in n threads that begin together; raise what any of them raised."""
    barrier, errors = threading.Barrier(n), []

    def run(i):
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


QUESTION = "When does the ferry leave?"
PASSAGES = ["The pier is of oak.", "Geese nest on the fort.", "The mill stood by the ford."]
QUARANTINE = """
    import sys
    from ragguard.audit import QuarantineEntry, open_store
    from ragguard.content import content_key
    store, texts = open_store(sys.argv[1]), sys.argv[2:]
    for text in texts:
        store.add_quarantine([QuarantineEntry(content_key(text), "p", text, "r")])
    store.close()
    """


def quarantine_elsewhere(url, *texts):
    """Quarantine in another process: this one would be told."""
    output(spawn(QUARANTINE, url, *texts))


def dropped(guard):
    return [passage.text for passage in guard.filter(QUESTION, PASSAGES).dropped]


def tamper(store, *statements, **values):
    """Do to the database what ragguard does not do."""
    with store._database.write() as session:
        for statement in statements:
            session.execute(text(statement), values)


def findings(store, keys=KEYS, **options):
    return check(store, keys, **options).findings
