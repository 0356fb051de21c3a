"""The product's loop by commands alone: report, attribute, propose, confirm, filter, release."""

from __future__ import annotations

import json

import pytest

QUERY = "When was the Orrin lighthouse first lit?"
LIE = "The Orrin lighthouse was first lit in 1921."


@pytest.mark.slow
def test_what_was_reported_is_dropped_until_it_is_released(run, jsonl, tmp_path):
    url = str(tmp_path / "audit.db")
    poison = [
        {"id": "x", "text": f"{QUERY} {LIE}"},
        {"id": "y", "text": f"{QUERY} In 1921, records say. {LIE}"},
        {"id": "z", "text": f"{QUERY} {LIE} It was lit in 1921, the year of the great storm."},
    ]
    facts = [
        {"id": "a", "text": "The lighthouse at Orrin Head was lit in 1874 by the harbour board."},
        {"id": "b", "text": "Orrin Head is a cape, known for its seals and steep cliffs."},
        {"id": "c", "text": "The keeper of the lighthouse at Orrin Head kept a daily journal."},
        *(
            {"id": f"n{n}", "text": f"Parish {n} keeps a register of boats, nets and moorings."}
            for n in range(12)
        ),
    ]
    base = jsonl("kb.jsonl", *facts, *poison)
    event_id = run("report", "--query", QUERY, "--response", LIE, "--store", url).stdout.strip()
    worked = run("worker", "--once", "--store", url, "-b", base, "--json")
    assert worked.exit_code == 0
    found = json.loads(worked.stdout)
    assert (found["event_id"], found["quarantined"], found["proposed"]) == (event_id, 0, 3)

    shown = json.loads(run("events", "show", event_id, "--store", url, "--json").stdout)
    assert set(shown["attribution"]["responsible"]) == {"x", "y", "z"}

    # Another question, by which the gate alone would not fire.
    traffic = jsonl(
        "t.jsonl", {"query": "Which boards kept lights?", "passages": [poison[1], *facts[:4]]}
    )
    verdict = json.loads(run("filter", traffic, "--store", url).stdout)
    assert verdict["dropped"] == []
    proposed = json.loads(
        run("quarantine", "--status", "proposed", "--store", url, "--json").stdout
    )
    assert {entry["passage_id"] for entry in proposed} == {"x", "y", "z"}
    confirm = ("quarantine", "confirm", "x", "y", "--store", url, "--actor", "ann")
    assert run(*confirm).exit_code == 0
    assert run("quarantine", "reject", "z", "--store", url, "--actor", "ann").exit_code == 0
    verdict = json.loads(run("filter", traffic, "--store", url).stdout)
    assert verdict["dropped"] == ["y"]
    assert run("quarantine", "release", "y", "--store", url, "--actor", "ann").exit_code == 0
    verdict = json.loads(run("filter", traffic, "--store", url).stdout)
    assert verdict["dropped"] == []
