"""`--tenant` on the commands: what one tenant's say, the other's do not see."""

from __future__ import annotations

import json

import pytest

from ragguard.audit import QuarantineEntry, open_store
from tests.conftest import SQL_KINDS

QUERY = "When was the Orrin lighthouse first lit?"
LIE = "The Orrin lighthouse was first lit in 1921."
POISON = {"id": "x", "text": f"{QUERY} {LIE}"}
PAGE = {"id": "a", "text": "The lighthouse at Orrin Head was lit in 1874 by the harbour board."}
REST = [{"id": f"n{n}", "text": f"Parish {n} keeps a register of boats."} for n in range(12)]


@pytest.fixture
def acme(run, tmp_path):
    """Runs a command on the store for the tenant "acme", and returns what it writes as JSON."""

    def command(*arguments, tenant="acme"):
        whose = [] if tenant is None else ["--tenant", tenant]
        found = run(*arguments, "--store", str(tmp_path / "audit.db"), *whose, "--json")
        assert found.exit_code == 0, found.stderr
        return json.loads(found.stdout)

    return command


@pytest.mark.slow
def test_the_life_of_a_report_in_one_tenant(acme, run, jsonl, tmp_path):
    base, url = jsonl("kb.jsonl", POISON, PAGE, *REST), str(tmp_path / "audit.db")
    event = acme("report", "--query", QUERY, "--response", LIE, "--reporter", "ann")
    assert event["tenant"] == "acme"
    run("report", "--query", QUERY, "--response", LIE, "--store", url)
    assert run("worker", "--once", "--store", url, "--tenant", "bolt", "-b", base).exit_code == 0
    assert acme("events", "list")[0]["status"] == "pending"
    assert run("worker", "--once", "--store", url, "-b", base).exit_code == 0
    assert [one["status"] for one in acme("events", "list")] == ["done"]
    assert acme("events", "show", event["id"])["attribution"]["responsible"] == ["x"]
    assert run("events", "show", event["id"], "--store", url).exit_code != 0
    assert acme("events", "list", tenant="bolt") == []
    assert len(acme("events", "list", tenant=None)) == 1

    (entry,) = acme("quarantine", "list", "--status", "proposed")
    refused = run("quarantine", "confirm", "x", "--store", url, "--tenant", "bolt")
    assert refused.exit_code != 0
    assert acme("quarantine", "confirm", "x")[0]["key"] == entry["key"]
    traffic = jsonl("t.jsonl", {"query": "Which boards kept lights?", "passages": [POISON, *REST]})
    for tenant, gone in (("acme", ["x"]), ("bolt", []), (None, [])):
        assert acme("filter", traffic, tenant=tenant)["dropped"] == gone
    assert acme("quarantine", "release", "x")[0]["status"] == "released"
    assert len(acme("allowed")) == 1
    assert acme("allowed", tenant=None) == []
    assert len(acme("disallow", entry["key"])) == 1
    assert acme("quarantine", "undo", "--reporter", "ann", tenant="bolt") == []


def test_allowing_a_source_for_one_tenant(acme):
    acme("report", "--query", QUERY, "--response", LIE)  # makes the store
    assert acme("allow", "handbook", "--source", "--why", "ours")[0]["source"] == "handbook"
    assert acme("protect", "annals", "--source", "--why", "ours")[0]["effect"] == "protected"
    assert len(acme("allowed")) == 2
    assert acme("allowed", tenant="bolt") == []


def test_verdicts_are_shown_to_their_tenant(acme, run, jsonl, tmp_path):
    traffic = jsonl("t.jsonl", {"query": QUERY, "passages": [POISON, PAGE, *REST]})
    assert acme("filter", traffic)["dropped"] == ["x"]
    (record,) = acme("verdicts", "list")
    assert acme("verdicts", "show", record["id"])["tenant"] == "acme"
    assert acme("verdicts", "list", tenant=None) == []
    url = str(tmp_path / "audit.db")
    assert run("verdicts", "show", record["id"], "--store", url).exit_code != 0


def test_info_tells_which_tenants_have_proposals(acme, run, tmp_path):
    acme("report", "--query", QUERY, "--response", LIE)
    acme("allow", "handbook", "--source", "--why", "ours", tenant="bolt")
    shown = {"quarantined": 0, "proposed": 0}
    url = str(tmp_path / "audit.db")
    found = json.loads(run("info", "--store", url, "--json").stdout)
    assert found["store"]["tenants"] == {"acme": shown, "bolt": shown}
    assert "acme: 0 quarantined, 0 proposed" in run("info", "--store", url).stdout


@pytest.mark.parametrize("kind", SQL_KINDS)
def test_info_counts_what_all_tenants_have_in_quarantine(run, new_url, kind):
    url = new_url(kind)
    store = open_store(url)
    statuses = ["proposed", "quarantined", "confirmed", "released", "rejected", "lapsed"]
    for tenant, most in ((None, 3), ("acme", 6), ("bolt", 1)):
        some = [QuarantineEntry(one, one, one, "so", status=one) for one in statuses[:most]]
        store.of_tenant(tenant).add_quarantine(some)
    store.add_counts({"queries": 7})
    store.close()
    found = json.loads(run("info", "--store", url, "--json").stdout)["store"]
    held, none = {"quarantined": 2, "proposed": 1}, {"quarantined": 0, "proposed": 1}
    assert found["quarantined"] == 4
    assert (found["default_tenant"], found["tenants"]) == (held, {"acme": held, "bolt": none})
    shown = run("info", "--store", url).stdout
    assert "reachable, of all tenants: 4 quarantined; queries 7; answered in" in shown
    assert "default   2 quarantined, 1 proposed\ntenant    acme: 2 quarantined, 1 pro" in shown


def test_a_name_that_is_none(run, tmp_path):
    found = run("events", "--store", str(tmp_path / "a.db"), "--tenant", "a\nb")
    assert found.exit_code != 0
