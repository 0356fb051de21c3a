"""`ragguard events retry`."""

from __future__ import annotations

import json

import pytest

from ragguard.audit import Event, open_store


@pytest.fixture
def failed_url(store_url):
    """The store of `store_url`, with two more events that failed, and one of a tenant."""
    store = open_store(store_url)
    for name, tenant in (("e-down", ""), ("e-gone", ""), ("e-theirs", "acme")):
        store.add_event(Event(name, "Who?", "Ann.", tenant=tenant))
        store.fail_event(name, "no model answers", final=True)
    store.close()
    return store_url


def status(url, event_id, tenant=None):
    store = open_store(url)
    try:
        return store.of_tenant(tenant).event(event_id).status
    finally:
        store.close()


def test_all_that_failed_of_a_tenant(run, failed_url):
    result = run("events", "retry", "--failed", "--store", failed_url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "e-down waits for a worker",
        "e-gone waits for a worker",
        "2 failed events will be tried again",
    ]
    assert [status(failed_url, name) for name in ("e-down", "e-done")] == ["pending", "done"]
    again = run("events", "retry", "--failed", "--store", failed_url)
    assert again.stdout == "0 failed events will be tried again\n"
    theirs = ["--tenant", "acme", "--store", failed_url, "--json"]
    found = json.loads(run("events", "retry", "--failed", *theirs).stdout)
    assert found == {"pending": ["e-theirs"], "left_alone": []}
    assert status(failed_url, "e-theirs", "acme") == "pending"


def test_those_that_are_named(run, failed_url):
    result = run("events", "retry", "e-done", "e-pending", "e-gone", "--store", failed_url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "e-done waits for a worker",
        "e-gone waits for a worker",
        "e-pending is left alone: it waits or is being attributed already",
    ]
    shown = run("events", "show", "e-done", "--store", failed_url).stdout
    assert "pending" in shown
    assert "until the next attribution is there" in shown
    assert "poisoning: it says so" in shown
    assert status(failed_url, "e-down") == "failed"
    found = run("events", "retry", "e-done", "e-down", "--store", failed_url, "--json")
    assert json.loads(found.stdout) == {"pending": ["e-down"], "left_alone": ["e-done"]}


@pytest.mark.parametrize("wanted", [[], ["e-down", "--failed"]])
def test_either_ids_or_all_that_failed(run, failed_url, wanted):
    result = run("events", "retry", *wanted, "--store", failed_url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--failed" in result.stderr
    assert status(failed_url, "e-down") == "failed"


@pytest.mark.parametrize("unknown", ["e-9", "e-theirs"])
def test_an_unknown_id_changes_nothing(run, failed_url, unknown):
    result = run("events", "retry", "e-down", unknown, "--store", failed_url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"ragguard: no event '{unknown}'")
    assert "`ragguard events list`" in result.stderr
    assert status(failed_url, "e-down") == "failed"


def test_a_worker_attributes_it_then(run, failed_url, jsonl):
    base = jsonl("base.jsonl", {"id": "a", "text": "Ann lit the lamp."})
    run("events", "retry", "e-down", "--store", failed_url)
    done = run("worker", "--once", "--store", failed_url, "-b", base)
    assert done.exit_code == 0
    assert [status(failed_url, name) for name in ("e-down", "e-gone")] == ["done", "failed"]
