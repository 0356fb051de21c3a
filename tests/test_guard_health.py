"""What a guard says of itself and its store."""

import logging
import threading

import pytest

from ragguard import Guard
from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.content import content_key
from ragguard.errors import StoreError
from tests.processes import eventually

QUESTION = "When does the ferry leave?"
PASSAGES = ["The pier is of oak.", "Geese nest on the fort.", "The mill stood by the ford."]


class Remote:
    """A store that only its methods reach; each fails or hangs while told to."""

    def __init__(self):
        self._inner = MemoryStore()
        self.down = False
        self.refused = ""  # how names of methods begin that fail
        self.up = threading.Event()
        self.up.set()

    def __repr__(self):
        return "Remote()"

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found):
            raise AttributeError(name)

        def call(*arguments, **options):
            self.up.wait()
            if self.down or (self.refused and name.startswith(self.refused)):
                raise StoreError("down")
            return found(*arguments, **options)

        return call


def test_a_new_guard_is_well():
    with Guard() as guard:
        health = guard.health()
    assert health.reachable
    assert health.store_error is None
    assert health.store_age_s == 0.0
    assert health.write_error is None
    assert (health.quarantined, health.queries_unwritten, health.verdicts_waiting) == (0, 0, 0)
    assert (health.events_waiting, health.reports_lost) == (0, 0)
    assert health.calibration == "shipped with ragguard"
    assert health.threads == ()
    assert health.attributing_s == 0.0


@pytest.mark.slow
def test_the_parts_of_a_guard_are_told(tmp_path):
    with Guard(store=tmp_path / "audit.db", alpha=0.5) as guard:
        guard.calibrate((f"{QUESTION} {n}", PASSAGES) for n in range(10))
        guard.store.add_quarantine([QuarantineEntry(content_key("x"), "p", "x", "r")])
        guard.filter(QUESTION, PASSAGES)
        guard.report(QUESTION, "at nine")
        health = guard.health()
        assert "audit.db" in health.store
        assert health.quarantined == 1
        assert health.calibration == (
            "10 queries given to Guard.calibrate; left out: 0 repeated questions, 0 with more or "
            f"fewer passages than {len(PASSAGES)}; asking: 10 queries, alpha kept with 90 % "
            "confidence; naming: as shipped"
        )
        assert set(health.threads) == {
            "ragguard-quarantine",
            "ragguard-counts",
            "ragguard-save",
            "ragguard-attribute",
        }
        eventually(lambda: guard.health().events_waiting == guard.health().queries_unwritten == 0)
        assert guard.store.counts()["queries"] == 1
    eventually(lambda: guard.health().threads == ())  # nobody waits for the one that polls


def test_what_waits_for_a_store_that_is_down():
    store = Remote()
    guard = Guard(store=store)
    store.down = True
    guard.filter(QUESTION, PASSAGES)
    guard.report(QUESTION, "at nine")
    eventually(lambda: not guard.health().reachable)
    health = guard.health()
    assert health.store == "Remote()"
    assert health.store_error == "down"
    assert (health.queries_unwritten, health.events_waiting) == (1, 1)
    store.down = False
    eventually(lambda: guard.health().reachable and not guard.health().events_waiting)
    guard.close()
    assert guard.health().queries_unwritten == 0


@pytest.mark.parametrize(
    ("refused", "waits"),
    [
        ("add_counts", "queries_unwritten"),
        ("add_verdicts", "verdicts_waiting"),
        ("add_events", "events_waiting"),
    ],
)
def test_a_store_that_cannot_be_written_is_told(refused, waits):
    store = Remote()
    guard = Guard(store=store)
    guard.store.add_quarantine([QuarantineEntry(content_key(PASSAGES[0]), "p", PASSAGES[0], "r")])
    guard._parts.quarantine.refresh()
    store.refused = refused
    assert guard.filter(QUESTION, PASSAGES).dropped
    guard.report(QUESTION, "at nine")
    eventually(lambda: guard.health().write_error == "down")
    health = guard.health()
    assert health.reachable
    assert getattr(health, waits) == 1
    store.refused = ""
    eventually(lambda: guard.health().write_error is None)
    assert getattr(guard.health(), waits) == 0
    guard.close()


def test_a_store_that_hangs_is_told_by_a_query(monkeypatch, caplog):
    monkeypatch.setattr("ragguard.audit.watch._SILENT_S", 0.3)
    store = Remote()
    guard = Guard(store=store)
    with caplog.at_level(logging.WARNING, "ragguard.audit.watch"):
        store.up.clear()
        eventually(lambda: not guard.health().reachable)
        for _ in range(10):
            guard.filter(QUESTION, PASSAGES)
        assert guard.health().store_age_s > 0.3
        assert sum("has not answered" in message for message in caplog.messages) == 1
        store.up.set()
        eventually(lambda: "answers again" in caplog.text)
    assert guard.health().reachable
    guard.close()


@pytest.mark.slow
def test_a_guard_that_is_closed_while_its_store_hangs_counts_what_it_leaves(monkeypatch, caplog):
    monkeypatch.setattr("ragguard.guard_parts._CLOSE_S", 0.5)
    store = Remote()
    guard = Guard(store=store)
    store.up.clear()
    for _ in range(3):
        guard.filter(QUESTION, PASSAGES)
    guard.report(QUESTION, "at nine")
    with caplog.at_level(logging.ERROR, "ragguard"):
        guard.close()
    assert "verdicts of 3 queries are not in the counters" in caplog.text
    assert "1 events are lost" in caplog.text
    health = guard.health()
    assert (health.queries_unwritten, health.events_waiting) == (3, 1)
    store.up.set()
    eventually(lambda: not guard.health().threads)


@pytest.mark.parametrize("times", [1, 2])
def test_closing_again_changes_nothing(tmp_path, times):
    guard = Guard(store=tmp_path / "audit.db")
    for _ in range(times):
        guard.close()
    assert guard.health().threads == ()
