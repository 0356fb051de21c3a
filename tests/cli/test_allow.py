"""`ragguard allow`, `protect`, `disallow` and `allowed`: a false positive's life by commands."""

from __future__ import annotations

import json

import pytest

from ragguard.audit import QuarantineEntry, open_store
from ragguard.content import content_key

KEY = content_key("It was lit in 1921.")


def listed(run, url):
    return json.loads(run("allowed", "--store", url, "--json").stdout)


def test_what_was_dropped_is_allowed_and_kept(run, jsonl, store_url, attacked):
    traffic = jsonl("t.jsonl", attacked)
    page = attacked["passages"][2]
    verdict = json.loads(run("filter", traffic, "--store", store_url).stdout)
    assert page["id"] in verdict["dropped"]
    command = ("--passages", jsonl("p.jsonl", page), "--store", store_url)
    made = run("allow", *command, "--why", "our page", "--actor", "bo")
    assert made.exit_code == 0
    assert "our page" in made.stdout
    verdict = json.loads(run("filter", traffic, "--store", store_url).stdout)
    assert page["id"] not in verdict["dropped"]
    assert verdict["evidence"][2]["signal"] == "allowed"
    (entry,) = listed(run, store_url)
    assert (entry["key"], entry["actor"], entry["effect"]) == (
        content_key(page["text"]),
        "bo",
        "allowed",
    )
    assert run("disallow", *command, "--actor", "bo").exit_code == 0
    assert listed(run, store_url) == []


@pytest.mark.parametrize("target", ["x", KEY, KEY[:10]])
def test_a_target_is_what_the_quarantine_lists_or_a_key(run, store_url, target):
    command = ("protect", target, "--store", store_url, "--why", "ours", "--actor", "bo")
    assert run(*command).exit_code == 0
    (entry,) = listed(run, store_url)
    assert (entry["key"], entry["effect"]) == (KEY, "protected")


def test_a_source_with_an_end(run, store_url):
    command = ("--source", "handbook", "--store", store_url, "--why", "ours", "--actor", "bo")
    assert run("allow", *command, "--until", "2999-01-01").exit_code == 0
    (entry,) = listed(run, store_url)
    assert (entry["source"], entry["until"]) == ("handbook", "2999-01-01T00:00:00+00:00")
    table = run("allowed", "--store", store_url).stdout
    assert "handbook" in table
    assert "2999-01-01 00:00" in table
    result = run("allow", *command, "--until", "1999-01-01")
    assert result.exit_code == 2
    assert "until is over" in result.stderr


def test_what_was_released_is_listed_and_can_be_disallowed(run, store_url):
    run("quarantine", "release", "x", "--store", store_url, "--actor", "bo")
    assert [one["why"] for one in listed(run, store_url)] == ["released from quarantine"]
    assert run("disallow", "x", "--store", store_url, "--actor", "bo").exit_code == 0
    assert listed(run, store_url) == []


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("allow", "--why", "ours"), "name a passage"),
        (("allow", "nothing", "--why", "ours"), "no quarantined passage has the id"),
        (("allow", "x", "nothing", "--why", "ours"), "no quarantined passage has the id"),
        (("allow", "x", "--why", " "), "say why"),
        (("disallow", KEY), "is not on the allow-list"),
    ],
)
def test_what_is_wrong_changes_nothing(run, store_url, command, problem):
    result = run(*command, "--store", store_url, "--actor", "bo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr
    assert listed(run, store_url) == []


def test_undo_by_reporter(run, store_url):
    result = run("quarantine", "undo", "--event", "e-done", "--store", store_url, "--actor", "bo")
    assert result.exit_code == 0
    found = json.loads(run("quarantine", "--store", store_url, "--json").stdout)
    assert {one["passage_id"]: one["status"] for one in found}["x"] == "lapsed"
    assert run("quarantine", "undo", "--store", store_url, "--actor", "bo").exit_code == 2
    assert run("quarantine", "undo", "--event", "e-9", "--store", store_url).exit_code == 2


def test_undo_names_what_others_accuse_as_well(run, store_url):
    texts = {"mine": ("mal",), "ours": ("mal", "ann"), "theirs": ("ann",)}
    store = open_store(store_url)
    store.add_quarantine(
        [
            QuarantineEntry(content_key(text), text, text, "so", "e-1", reporters=reporters)
            for text, reporters in texts.items()
        ]
    )
    store.close()
    undo = ("quarantine", "undo", "--reporter", "mal", "--store", store_url, "--actor", "bo")
    result = run(*undo, "--json")
    done = {one["passage_id"]: one["status"] for one in json.loads(result.stdout)}
    assert done == {"mine": "lapsed", "ours": "proposed"}
    assert "others accuse 1 of these as well" in result.stderr
    target = result.stderr.split()[-1]
    assert content_key("ours").startswith(target)
    assert (
        run("quarantine", "confirm", target, "--store", store_url, "--actor", "bo").exit_code == 0
    )
    assert "nothing of that" in run(*undo).stderr  # no longer in his name
    found = json.loads(run("quarantine", "--store", store_url, "--json").stdout)
    assert {one["passage_id"]: one["status"] for one in found if one["passage_id"] in texts} == {
        "mine": "lapsed",
        "ours": "confirmed",
        "theirs": "quarantined",
    }


def test_what_the_list_shows_is_what_takes_it_off(run, store_url):
    where = ("--store", store_url, "--actor", "bo")
    assert run("allow", "a" * 30, "b" * 30, "--source", "--why", "so", *where).exit_code == 0
    first, second = (one["key"][:12] for one in listed(run, store_url))
    assert run("disallow", first, *where).exit_code == 0
    assert [one["key"][:12] for one in listed(run, store_url)] == [second]
    assert run("disallow", "c" * 30, "--source", *where).exit_code == 2


def test_undo_of_an_event_names_what_others_accuse_as_well(run, tmp_path, jsonl):
    url, seen = tmp_path / "a.db", jsonl("p.jsonl", {"text": "Marek Dove built it."}, "Geese nest.")
    asked = ("--response", "Marek Dove", "--passages", seen, "--store", url)
    first, second = (
        run("report", "--query", "who built it", "--reporter", name, *asked).stdout.strip()
        for name in ("mal", "ann")
    )
    assert run("worker", "--once", "--store", url).exit_code == 0
    undo = ("quarantine", "undo", "--store", url, "--actor", "bo", "--json", "--event")
    for event in (first, first, second):
        result = run(*undo, event)
        done = [(one["status"], one["reporters"]) for one in json.loads(result.stdout)]
        told = "others accuse 1 of these as well" in result.stderr
        if event == first and not told:
            assert (done, "nothing of that" in result.stderr) == ([], True)
        else:
            wanted = [("proposed", ["ann"])] if told else [("lapsed", ["ann"])]
            assert (done, told) == (wanted, event == first)


def test_all_are_looked_up_before_one_is_taken_off(run, store_url):
    where = ("--store", store_url, "--actor", "bo")
    run("allow", "wiki", "HR", "hr", "--source", "--why", "ok", *where)
    result = run("disallow", "wiki", "nope", "--source", *where)
    assert (result.exit_code, result.stdout) == (2, "")
    assert {one["source"] for one in listed(run, store_url)} == {"wiki", "HR", "hr"}
    assert run("disallow", "hr", "wiki", "--source", *where).exit_code == 0
    assert {one["source"] for one in listed(run, store_url)} == {"HR"}
    assert run("disallow", "hr", "--source", *where).exit_code == 2


def test_an_undo_that_changes_nothing_says_why(run, store_url):
    undo = ("quarantine", "undo", "--store", store_url, "--actor", "bo")
    nobody = run(*undo, "--reporter", "nobody")
    assert (nobody.exit_code, nobody.stdout) == (0, "")
    assert nobody.stderr == ("ragguard: nothing of that is proposed or in quarantine\n")
    run("quarantine", "confirm", "y", "--store", store_url, "--actor", "bo")
    some = run(*undo, "--event", "e-done")
    assert "lapsed" in some.stdout
    assert some.stderr == "ragguard: 1 is confirmed by a person; use release\n"
    run("quarantine", "confirm", "x", "--store", store_url, "--actor", "bo")
    none = run(*undo, "--event", "e-done", "--json")
    assert (none.exit_code, json.loads(none.stdout)) == (0, [])
    assert none.stderr == "ragguard: 2 are confirmed by a person; use release\n"
