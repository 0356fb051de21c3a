"""`ragguard worker`, most of it in a process of its own."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import time

import numpy as np
import pytest

from ragguard.attribution import Attribution
from ragguard.audit import Event, open_store
from ragguard.errors import ProxyError
from ragguard.inline.calibration_file import save_calibration
from ragguard.inline.conformal import Calibration
from ragguard.inline.scoring import SCORER
from ragguard.passage import Passage

_OF_GUARDS = {"trust.set", "calibration.adopted"}


class _Finds:
    """An attributor that holds the first passage responsible."""

    def attribute(self, query, response, retrieve):
        found = list(retrieve(query, 1))
        return Attribution(query, response, "first", found, [], 1, "poisoning", "it is first")


class _Fails:
    def attribute(self, query, response, retrieve):
        raise ProxyError("the model is gone; install it")


@pytest.fixture
def with_attributor(monkeypatch):
    def use(attributor):
        monkeypatch.setattr("ragguard.attribution.RAGOrigin", lambda: attributor)

    return use


def _statuses(url):
    store = open_store(url)
    found = {event.id: event.status for event in store.events()}
    store.close()
    return found


def test_the_lease_can_be_set(run, store_url, with_attributor):
    leases = []

    class Looks(_Finds):
        def attribute(self, query, response, retrieve):
            connection = sqlite3.connect(store_url.removeprefix("sqlite:///"))
            found = connection.execute(
                "SELECT claimable_at FROM ragguard_events WHERE status = 'running'"
            )
            leases.append(found.fetchone()[0] - time.time())
            connection.close()
            return super().attribute(query, response, retrieve)

    with_attributor(Looks())
    assert run("worker", "--once", "--lease", "900", "--store", store_url).exit_code == 0
    assert 800 < leases[0] < 1000
    assert run("worker", "--once", "--lease", "0", "--store", store_url).exit_code == 2


@pytest.mark.slow
def test_once_attributes_what_is_pending(run, store_url, with_attributor):
    with_attributor(_Finds())
    result = run("worker", "--once", "--store", store_url, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "event_id": "e-pending",
        "tenant": "",
        "cause": "poisoning",
        "reason": "it is first",
        "responsible": ["x"],
        "quarantined": 0,  # it is in quarantine already
        "proposed": 0,
    }
    assert "e-pending: poisoning, 0 quarantined, 0 proposed: it is first" in result.stderr
    assert set(_statuses(store_url).values()) == {"done"}
    again = run("worker", "--once", "--store", store_url, "--json")
    assert (again.exit_code, again.stdout) == (0, "")


def test_without_a_knowledge_base_it_leaves_events_without_passages(
    run, jsonl, store_url, with_attributor
):
    with_attributor(_Finds())
    filed = run("report", "--store", store_url, "--query", "Why now?", "--response", "Because.")
    event_id = filed.stdout.strip()
    result = run("worker", "--once", "--store", store_url)
    assert result.exit_code == 0
    assert "1 event has no passages; give --knowledge-base" in result.stderr
    assert _statuses(store_url)[event_id] == "pending"
    run("report", "--store", store_url, "--query", "Why?", "--response", "Because.")
    again = run("worker", "--once", "--store", store_url)
    assert "2 events have no passages; give --knowledge-base" in again.stderr
    base = jsonl("kb.jsonl", {"id": "k", "text": "Why now? Because."})
    last = run("worker", "--once", "--store", store_url, "-b", base)
    assert (last.exit_code, "no passages" in last.stderr) == (0, False)
    assert _statuses(store_url)[event_id] == "done"


def test_while_it_waits_it_says_once_that_events_without_passages_are_left(
    run, store_url, with_attributor, monkeypatch
):
    from ragguard.background.worker import Worker

    with_attributor(_Finds())
    run("report", "--store", store_url, "--query", "Why now?", "--response", "Because.")

    class Counted:
        def __init__(self, stop):
            self.stop, self.waits = stop, 0

        def is_set(self):
            return self.stop.is_set()

        def wait(self, seconds=None):
            self.waits += 1
            if self.waits == 3:
                self.stop.set()

    forever = Worker.run_forever
    monkeypatch.setattr(Worker, "run_forever", lambda self, stop: forever(self, Counted(stop)))
    result = run("worker", "--store", store_url)
    assert result.exit_code == 0
    assert result.stderr.count("1 event has no passages; give --knowledge-base") == 1


def test_attributes_only_answers_that_were_given(run, store_url, with_attributor):
    with_attributor(_Finds())
    result = run("worker", "--once", "--answered-only", "--store", store_url, "--json")
    found = json.loads(result.stdout)
    assert (found["cause"], found["responsible"]) == ("unclear", [])
    assert "no answer of this system" in found["reason"]


def test_searches_the_knowledge_base_and_quarantines(run, jsonl, store_url, with_attributor):
    with_attributor(_Finds())
    base = jsonl("kb.jsonl", "Nothing of the kind.", {"id": "k", "text": "Why now? Because."})
    result = run("worker", "--once", "--store", store_url, "-b", base)
    assert (result.exit_code, result.stdout) == (0, "")
    entries = json.loads(run("quarantine", "--store", store_url, "--json").stdout)
    assert ("k", "e-pending") in {(entry["passage_id"], entry["event_id"]) for entry in entries}


@pytest.fixture
def calibration(tmp_path):
    """A file of clean traffic as suspicious as any attack."""
    scores, path = np.full(100, 1e6), tmp_path / "calibration.json"
    save_calibration(Calibration(scores, scores, 5, False, SCORER, "a test"), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        ([], "quarantined", []),
        (["--protected", "wiki", "--protected", "web"], "proposed", ["trust.set"]),
        (["--protected", "wiki"], "quarantined", ["trust.set"]),
        (
            ["--trust", {"protected": [{"author": ["ann"], "batch": ["7"]}]}],
            "proposed",
            ["trust.set"],
        ),
        (["--trust", {"protected": [{"author": ["bo"]}]}], "quarantined", ["trust.set"]),
        (["--trust", {"known": ["web"]}], "quarantined", ["trust.set"]),
        (["--calibration"], "proposed", ["calibration.adopted"]),
    ],
)
def test_goes_by_the_calibration_and_the_trust_of_the_guards(
    run, jsonl, tmp_path, attacked, calibration, given, status, told
):
    url = tmp_path / "audit.db"
    metadata = {"source": "web", "author": "ann", "batch": 7}
    pages = [one | {"metadata": metadata} for one in attacked["passages"]]
    if given[:1] == ["--trust"]:
        policy = tmp_path / "trust.json"
        policy.write_text(json.dumps(given[1]))
        given = ["--trust", policy]
    base = jsonl("kb.jsonl", *pages)
    run("report", "--store", url, "--query", attacked["query"], "--response", "In 1921.")
    given = [*given, calibration] if given == ["--calibration"] else given
    result = run("worker", "--once", "--store", url, "-b", base, "--policy", "auto", *given)
    assert result.exit_code == 0
    entries = json.loads(run("quarantine", "--store", url, "--json").stdout)
    assert {(one["passage_id"], one["status"]) for one in entries} == {("x", status), ("y", status)}
    rows = json.loads(run("audit", "list", "--store", url, "--json").stdout)
    assert [row["action"] for row in rows if row["action"] in _OF_GUARDS] == told


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--calibration", "nowhere.json"], "make one with `ragguard calibrate`"),
        (["--alpha", "0.001", "--calibration"], "add clean traffic or raise alpha"),
        (["--alpha", "1"], "--alpha"),
        (["--protected", " "], "--protected is blank; pass the text"),
        (["--trust", "nowhere.json"], "nowhere.json"),
        (["--protected", "wiki", "--trust", "x.json"], "pass --trust or --protected"),
    ],
)
def test_what_it_cannot_go_by_stops_it_before_anything_is_attributed(
    run, store_url, calibration, given, says
):
    given = [*given, calibration] if given[-1] == "--calibration" else given
    result = run("worker", "--once", "--store", store_url, *given)
    assert result.exit_code == 2
    assert says in result.stderr
    assert _statuses(store_url)["e-pending"] == "pending"


def test_once_fails_when_an_event_does(run, store_url, with_attributor):
    with_attributor(_Fails())
    result = run("worker", "--once", "--store", store_url)
    assert result.exit_code == 3
    assert "the model is gone" in result.stderr
    assert "Traceback" not in result.stderr
    assert _statuses(store_url)["e-pending"] == "pending"  # another run tries again, but not now
    idle = run("worker", "--once", "--store", store_url)
    assert idle.exit_code == 0
    for told in (result.stderr, idle.stderr):
        assert "1 event waits for the next attempt after one that failed: run this again" in told
    for _ in range(2):
        with contextlib.closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as waited:
            waited.execute("UPDATE ragguard_events SET claimable_at = 0 WHERE status = 'pending'")
            waited.commit()
        last = run("worker", "--once", "--store", store_url)
        assert last.exit_code == 3
    assert "has failed for good, at attempt 3" in last.stderr
    assert "for the next attempt after one that failed" not in last.stderr
    assert _statuses(store_url)["e-pending"] == "failed"


def test_once_fails_when_what_was_found_cannot_be_kept(
    run, store_url, with_attributor, monkeypatch
):
    def fails(*_):
        raise ValueError("no room")

    with_attributor(_Finds())
    monkeypatch.setattr("ragguard.background.attribute_event.EventAttributor.quarantine", fails)
    result = run("worker", "--once", "--store", store_url)
    assert (result.exit_code, _statuses(store_url)["e-pending"]) == (3, "pending")


def test_a_bad_knowledge_base_stops_it_at_once(run, jsonl, store_url):
    base = jsonl("kb.jsonl", 5)
    result = run("worker", "--store", store_url, "-b", base)
    assert result.exit_code == 2
    assert f"ragguard: {base}:1: expected" in result.stderr
    assert _statuses(store_url)["e-pending"] == "pending"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_works_until_a_signal_and_exits_with_0(spawn, tmp_path, number):
    url = str(tmp_path / "audit.db")
    process = spawn("worker", "--store", url, "--json")
    assert "waiting for events" in process.stderr.readline()
    store = open_store(url)
    # Filed while the worker waits: it must find the event by itself.
    store.add_event(Event("e1", "Who?", "Nobody.", (Passage("Somebody."), Passage("Anybody."))))
    assert json.loads(process.stdout.readline())["event_id"] == "e1"
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "")
    assert errors.endswith("stopped\n")
    assert "Traceback" not in errors
    assert store.event("e1").status == "done"
    store.close()


@pytest.mark.slow
def test_a_reader_that_goes_away_stops_it_after_the_event_is_done(spawn, tmp_path):
    url = str(tmp_path / "audit.db")
    process = spawn("worker", "--store", url, "--json")
    assert "waiting for events" in process.stderr.readline()
    process.stdout.close()
    store = open_store(url)
    store.add_event(Event("e1", "Who?", "Nobody.", (Passage("Somebody."),)))
    assert process.wait(60) == 141
    assert store.event("e1").status == "done"
    store.close()
    assert "Traceback" not in process.stderr.read()


def test_the_second_signal_interrupts(run, store_url, with_attributor):
    class Signalled(_Finds):
        def attribute(self, query, response, retrieve):
            signal.raise_signal(signal.SIGTERM)
            found = super().attribute(query, response, retrieve)
            signal.raise_signal(signal.SIGTERM)
            return found

    before = signal.getsignal(signal.SIGTERM)
    with_attributor(Signalled())
    result = run("worker", "--store", store_url)
    assert result.exit_code == 130
    assert signal.getsignal(signal.SIGTERM) == before
    # Another worker takes it up without waiting for a lease to end.
    assert _statuses(store_url)["e-pending"] == "pending"


def test_the_first_signal_lets_the_attribution_end(run, store_url, with_attributor):
    class Signalled(_Finds):
        def attribute(self, query, response, retrieve):
            signal.raise_signal(signal.SIGTERM)
            return super().attribute(query, response, retrieve)

    with_attributor(Signalled())
    result = run("worker", "--store", store_url, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["event_id"] == "e-pending"
    assert _statuses(store_url)["e-pending"] == "done"
