"""`ragguard quarantine`."""

from __future__ import annotations

import getpass
import json
import platform
import shlex

import pytest

from ragguard import Guard
from ragguard.attribution import Attribution
from ragguard.audit import Event, QuarantineEntry, open_store
from ragguard.cli.events import show_whom_to_look_at
from ragguard.content import content_key
from ragguard.passage import Passage

KEY = content_key("It was lit in 1921.")


def _statuses(url):
    store = open_store(url)
    entries = {entry.passage_id: (entry.status, entry.actor) for entry in store.quarantine()}
    store.close()
    return entries


@pytest.mark.parametrize("command", [["quarantine"], ["quarantine", "list"]])
def test_lists(run, store_url, command):
    entries = json.loads(run(*command, "--store", store_url, "--json").stdout)
    assert {entry["passage_id"] for entry in entries} == {"x", "y"}
    first = next(entry for entry in entries if entry["passage_id"] == "x")
    assert (first["key"], first["status"], first["event_id"]) == (KEY, "quarantined", "e-done")
    table = run(*command, "--store", store_url).stdout
    assert KEY[:12] in table
    assert "It was lit in 1921." in table


@pytest.mark.slow
@pytest.mark.parametrize("target", ["x", KEY, KEY[:10], KEY[:10].upper()])
def test_releases_by_id_or_key(run, store_url, target):
    result = run("quarantine", "release", target, "--store", store_url, "--actor", "bo", "--json")
    assert result.exit_code == 0
    (entry,) = json.loads(result.stdout)
    assert (entry["key"], entry["status"], entry["actor"]) == (KEY, "released", "bo")
    assert _statuses(store_url) == {"x": ("released", "bo"), "y": ("quarantined", None)}


def test_confirms_several_under_the_name_that_a_guard_gives(run, store_url, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "cy")
    monkeypatch.setattr(platform, "node", lambda: "vm")
    assert run("quarantine", "confirm", "x", "y", "--store", store_url).exit_code == 0
    assert _statuses(store_url) == {"x": ("confirmed", "cy@vm"), "y": ("confirmed", "cy@vm")}
    with Guard(store=store_url) as guard:
        assert guard.release("x").actor == "cy@vm"


def test_filters_by_status(run, store_url):
    run("quarantine", "release", "x", "--store", store_url, "--actor", "bo")
    result = run("quarantine", "--status", "released", "--store", store_url, "--json")
    assert [entry["passage_id"] for entry in json.loads(result.stdout)] == ["x"]


@pytest.mark.parametrize("target", ["nothing", ""])
def test_one_unknown_target_changes_nothing(run, store_url, target):
    result = run("quarantine", "release", "x", target, "--store", store_url, "--actor", "bo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        f"ragguard: no quarantined passage has the id, key or text {target!r}"
    )
    assert _statuses(store_url)["x"] == ("quarantined", None)


def test_too_little_of_a_key_is_told_how_much_it_takes(run, store_url):
    result = run("quarantine", "confirm", KEY[:4], "--store", store_url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("of a key 8 characters are needed\n")
    assert run("quarantine", "confirm", KEY[:8], "--store", store_url).exit_code == 0


def test_an_ambiguous_target_names_the_keys(run, store_url):
    store = open_store(store_url)
    store.add_quarantine([QuarantineEntry("f" * 32, "x", "another text under x", "why")])
    store.close()
    result = run("quarantine", "release", "x", "--store", store_url, "--actor", "bo")
    assert result.exit_code == 2
    assert "names 2 quarantined passages" in result.stderr
    assert KEY[:12] in result.stderr
    assert "ffffffffffff" in result.stderr


def test_without_a_login_name_the_actor_must_be_given(run, store_url, monkeypatch):
    def unknown():
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)
    result = run("quarantine", "release", "x", "--store", store_url)
    assert result.exit_code == 2
    assert "pass --actor NAME" in result.stderr


def test_a_hostile_text_cannot_steer_the_terminal(run, store_url):
    store = open_store(store_url)
    text = "a\x1b[2J\x9b1A\u202eb\n\ud800 [red]c[/red] \x07"
    store.add_quarantine([QuarantineEntry("0" * 32, "\x1b]0;t\x07", text, "why\x1b[A")])
    store.close()
    result = run("quarantine", "--store", store_url)
    assert result.exit_code == 0
    assert not set("\x1b\x9b\x07\u202e\ud800") & set(result.stdout)
    assert "a\\x1b[2J\\x9b1A\\u202eb \\ud800 [red]c[/red] \\x07" in result.stdout
    assert len(result.stdout.splitlines()) == 4


def test_the_table_names_the_event_once_each_reason_and_cuts_between_words(run, store_url):
    store = open_store(store_url)
    text = "The lantern was lit by whoever kept the harbour books that winter, " * 4
    store.add_quarantine(
        [QuarantineEntry(str(n) * 32, f"z{n}", text, "it is one of two", "e-7") for n in range(2)]
    )
    store.close()
    table = run("quarantine", "--store", store_url).stdout
    rows = [line for line in table.splitlines() if "e-7" in line]
    assert len(rows) == 2
    assert [row.count("it is one of two") for row in rows] == [1, 0]
    assert "as above" in rows[1]
    for row in rows:
        assert row.rstrip().endswith(" ...")
        assert text.startswith(row[row.index("The lantern") :].rstrip().removesuffix(" ..."))
        assert row.rstrip().removesuffix(" ...").split()[-1] in text.split()


def _open_event(url):
    """Store an event that blames nobody: "b" stands out most, and looks like an order."""
    store = open_store(url)
    scope = [Passage("The ferry carries 52 cars.", id="a"), Passage("It holds 38 cars.", id="$(b)")]
    store.add_event(Event("e'; ls", "how many cars", "38 cars", reporter="ann"))
    columns = [[0.0, 1.0]] * 4
    found = ("how many cars", "38 cars", "ragorigin", scope, columns, [False] * 2)
    store.finish_event("e'; ls", Attribution.of(*found, ("unclear", "nobody states it"), {}))
    store.close()
    return content_key("It holds 38 cars.")


def test_an_event_that_blames_nobody_names_whom_to_look_at_and_the_command(run, store_url):
    key = _open_event(store_url)
    shown = run("events", "show", "e'; ls", "--store", store_url).stdout
    first, second = (
        line for line in shown.splitlines() if line.endswith("cars.") and "0." not in line
    )
    assert (first, second[12:]) == (f"{key[:12]} It holds 38 cars.", " The ferry carries 52 cars.")
    line = shown.splitlines()[-1]
    command = shlex.split(line.partition("by: ")[2])
    assert command[:5] == ["ragguard", "quarantine", "add", "--store", store_url]
    assert command[5:7] == ["--event", "e'; ls"]
    put = run(*command[1:], "--actor", "bo", "--json")
    (entry,) = json.loads(put.stdout)
    assert (entry["status"], entry["actor"], entry["reason"]) == ("confirmed", "bo", "REASON")
    assert (entry["event_id"], entry["reporters"]) == ("e'; ls", ["ann"])
    assert _statuses(store_url)["$(b)"] == ("confirmed", "bo")


@pytest.mark.parametrize("scope", [[Passage("The pier is of oak.", id="k")], []])
@pytest.mark.parametrize("blamed", [True, False])
def test_what_the_search_no_longer_finds_is_named_with_the_command(run, tmp_path, scope, blamed):
    url = str(tmp_path / "a store's $(x).db")
    gone = Passage("Built by\x1b[2J M. Dove.", id="doc 1\x1b[2J")
    store = open_store(url).of_tenant("our house")
    store.add_event(Event("e", "who built it", "M. Dove", (gone,), tenant="our house"))
    n, cause = len(scope), "poisoning" if blamed and scope else "unclear"
    found = ("who built it", "M. Dove", "ragorigin", scope, [[0.0] * n] * 4, [blamed] * n)
    store.finish_event("e", Attribution.of(*found, (cause, "so it is"), {}))
    show = ["events", "show", "e", "--store", url, "--tenant", "our house"]
    shown = run(*show).stdout
    store.close()
    key = content_key(gone.text)
    assert "\x1b" not in shown
    *_, told, line, last = shown.splitlines()
    ending = "as well; the search did not find them any more:" if scope else ":"
    assert told.startswith("The generator saw these")
    assert told.endswith(ending)
    assert line.startswith(f"{key[:12]} doc 1")
    command = shlex.split(last.partition("by: ")[2])
    (entry,) = json.loads(run(*command[1:], "--actor", "bo", "--json").stdout)
    assert (entry["key"], entry["event_id"], entry["status"]) == (key, "e", "confirmed")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://bo@db/audit", "postgresql://bo@db/audit"),
        ("postgresql://bo:secret@db/audit", "..."),
        ("postgresql://db/audit?user=bo&password=secret", "..."),
        ("postgresql://bo@/audit?host=/run/pg", "'postgresql://bo@/audit?host=/run/pg'"),
        ("a:b@c.db", "a:b@c.db"),
        ("~/a b.db", "'~/a b.db'"),
    ],
)
def test_the_command_has_the_store_without_a_password(capsys, url, shown):
    event, nothing = Event("e", "q", "r", (Passage("Built by M. Dove."),)), [[]] * 4
    found = Attribution.of("q", "r", "ragorigin", [], nothing, [], ("unclear", "so"), {})
    show_whom_to_look_at(event, found, url)
    last = capsys.readouterr().out.splitlines()[-1]
    assert f" add --store {shown} --event e --why REASON " in last


def test_nobody_to_look_at_where_somebody_is_blamed(run, store_url):
    assert "Nobody is blamed" not in run("events", "show", "e-done", "--store", store_url).stdout


def test_any_text_goes_into_quarantine_from_a_file(run, store_url, jsonl):
    file = jsonl("p.jsonl", {"id": "deck", "text": "The deck holds 38 cars."})
    put = ["quarantine", "add", "--passages", file, "--why", "no such deck", "--store", store_url]
    assert run(*put, "--actor", "bo").exit_code == 0
    assert _statuses(store_url)["deck"] == ("confirmed", "bo")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--why", "so"], "name passages of an --event"),
        (["x", "--why", "so"], "name passages of an --event"),
        (["x", "--event", "e-9", "--why", "so"], "no event 'e-9'"),
        (["no", "--event", "e-done", "--why", "so"], "the event has no passage 'no'"),
        (["x", "--event", "e-done", "--why", " "], "say why"),
    ],
)
def test_what_cannot_be_added_changes_nothing(run, store_url, arguments, message):
    result = run("quarantine", "add", *arguments, "--store", store_url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert _statuses(store_url) == {"x": ("quarantined", None), "y": ("quarantined", None)}


def test_what_is_confirmed_and_passes_is_told(run, store_url, jsonl):
    where = ("--store", store_url, "--actor", "bo")
    lie = {"id": "20240117", "text": "Ferries call at nine.", "metadata": {"source": "wiki"}}
    assert run("allow", "wiki", "--source", "--why", "ours", *where).exit_code == 0
    put = run("quarantine", "add", "--passages", jsonl("p.jsonl", lie), "--why", "so", *where)
    told = 'but its source "wiki" is allowed, so it is not dropped; take that off the allow-list'
    assert (put.exit_code, told in put.stderr) == (0, True)
    assert run("quarantine", "release", "20240117", *where).exit_code == 0  # an id in hex digits
    store = open_store(store_url)
    seen = Passage("It was lit in 1921.", id="x", metadata={"source": "wiki"})
    store.add_event(Event("e-2", "When?", "In 1921.", (seen,), "ann"))
    store.add_quarantine(
        [QuarantineEntry("f" * 32, "z", "Another.", "so", "e-2", "proposed", reporters=("ann",))]
    )
    store.close()
    assert "wiki" not in run("quarantine", "confirm", "z", *where).stderr
