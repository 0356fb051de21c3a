"""`ragguard report` and `ragguard events`."""

from __future__ import annotations

import json

import pytest

from ragguard.audit import open_store


def test_report_files_an_event_that_a_guard_would_find(run, jsonl, tmp_path):
    url = str(tmp_path / "new.db")
    passages = jsonl("p.jsonl", "one", {"id": "b", "text": "two", "score": 0.5})
    result = run(
        "report", "--store", url, "--query", "q?", "--response", "r", "--passages", passages,
        "--reporter", "ann",
    )  # fmt: skip
    assert (result.exit_code, result.stderr) == (0, "")
    store = open_store(url)
    event = store.event(result.stdout.strip())
    store.close()
    assert (event.query, event.response, event.reporter) == ("q?", "r", "ann")
    assert [(p.text, p.score) for p in event.passages] == [("one", None), ("two", 0.5)]
    assert event.status == "pending"


def test_report_as_json(run, store_url):
    result = run("report", "--store", store_url, "--query", "q", "--response", "r", "--json")
    event = json.loads(result.stdout)
    assert (event["query"], event["status"], event["passages"]) == ("q", "pending", [])


def test_report_names_a_bad_passage_and_files_nothing(run, jsonl, store_url):
    passages = jsonl("p.jsonl", "one", {"text": None})
    arguments = ["--query", "q", "--response", "r", "--passages", passages, "--store", store_url]
    result = run("report", *arguments)
    assert result.exit_code == 2
    assert (
        f'{passages}:2: expected a string or an object with "text" (str), got one whose'
        in result.stderr
    )
    assert len(json.loads(run("events", "--store", store_url, "--json").stdout)) == 2


@pytest.mark.parametrize("command", [["events"], ["events", "list"]])
def test_lists_the_newest_first(run, store_url, command):
    result = run(*command, "--store", store_url, "--json")
    waits, done = json.loads(result.stdout)
    assert (waits["id"], waits["cause"], waits["effect"]) == ("e-pending", None, {})
    assert (done["id"], done["cause"]) == ("e-done", "poisoning")
    assert done["effect"] == {"quarantined": 1}
    table = run(*command, "--store", store_url)
    assert table.exit_code == 0
    header, *rows = table.stdout.splitlines()
    assert header.split() == "id reported times status cause effect reporter query".split()
    assert rows[0].startswith("e-pending")
    # What a user typed is shown, not read as markup.
    assert "Why [bold]now[/bold]?" in rows[0]
    assert "poisoning" in rows[1]
    assert "1 quarantined" in rows[1]
    assert "ann" in rows[1]


def test_the_same_claim_again_is_counted(run, store_url):
    filed = ["report", "--store", store_url, "--query", "Why?", "--response", "So."]
    first = run(*filed, "--reporter", "ann").stdout.strip()
    if run(*filed, "--reporter", "bob").stdout.strip() == first:  # or an hour has just ended
        shown = json.loads(run("events", "show", first, "--store", store_url, "--json").stdout)
        assert (shown["reports"], shown["reporters"], shown["cut"]) == (2, 2, None)
        assert "2 reports by 2" in run("events", "show", first, "--store", store_url).stdout


def test_what_was_left_out_is_shown(run, store_url):
    filed = ["report", "--store", store_url, "--query", "Why?", "--response", "so " * 10_000]
    shown = run("events", "show", run(*filed).stdout.strip(), "--store", store_url).stdout
    assert "left out  response: the middle of 30000 characters" in shown


def test_lists_by_status_and_limit(run, store_url):
    done = run("events", "--store", store_url, "--status", "done", "--json")
    assert [event["id"] for event in json.loads(done.stdout)] == ["e-done"]
    one = run("events", "list", "--limit", "1", "--store", store_url, "--json")
    assert [event["id"] for event in json.loads(one.stdout)] == ["e-pending"]


def test_shows_an_event_with_its_attribution(run, store_url):
    event = json.loads(run("events", "show", "e-done", "--store", store_url, "--json").stdout)
    assert (event["id"], event["status"]) == ("e-done", "done")
    assert event["attribution"]["cause"] == "poisoning"
    assert event["attribution"]["responsible"] == ["x"]
    assert event["attribution"]["scores"][0]["generation_influence"] is None  # it is -inf
    shown = run("events", "show", "e-done", "--store", store_url).stdout
    for part in ("reported", "by ann", "poisoning: it says so", "responsible", "0.900", "-inf"):
        assert part in shown


def test_shows_an_event_without_one(run, store_url):
    event = json.loads(run("events", "show", "e-pending", "--store", store_url, "--json").stdout)
    assert event["attribution"] is None
    shown = run("events", "show", "e-pending", "--store", store_url).stdout
    assert "pending, 0 attempts, 0 failed; 1 reports" in shown
    assert "x: It was lit in 1921." in shown


def test_an_unknown_event_is_one_line(run, store_url):
    result = run("events", "show", "e-9", "--store", store_url, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("ragguard: no event 'e-9'")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_store_comes_from_the_environment(run, store_url, monkeypatch):
    monkeypatch.setenv("RAGGUARD_STORE", store_url)
    assert len(json.loads(run("events", "--json").stdout)) == 2


@pytest.mark.parametrize("command", [["events"], ["events", "show", "e"], ["quarantine"]])
@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_mistyped_path_is_no_empty_store(run, tmp_path, command, form):
    path = tmp_path / "typo.db"
    result = run(*command, "--store", form.format(path))
    assert result.exit_code == 3
    assert result.stderr.startswith(f"ragguard: there is no audit store at {path}")
    assert not path.exists()


def test_a_file_that_is_no_store_is_one_line(run, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 200)
    result = run("events", "--store", path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("ragguard: the audit store ")
    assert result.stderr.count("\n") == 1


def test_a_server_that_is_down_is_one_line(run):
    pytest.importorskip("psycopg", reason="needs psycopg")
    url = "postgresql://someone:secret@127.0.0.1:1/none"
    result = run("events", "--store", url)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.stderr


def test_a_store_without_a_name_is_one_line(run):
    for command in (["events"], ["report", "--query", "q", "--response", "r"]):
        result = run(*command, "--store", "")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("ragguard: the store is blank")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("query", "response"), [("", ""), (" ", "r"), ("q", "\n")])
def test_a_blank_report_is_refused(run, store_url, query, response):
    result = run("report", "--store", store_url, "--query", query, "--response", response)
    assert (result.exit_code, result.stdout) == (2, "")
    blank = "--response" if query.strip() else "--query"
    assert result.stderr == f"ragguard: {blank} is blank; pass the text\n"
    assert len(json.loads(run("events", "--store", store_url, "--json").stdout)) == 2


def test_without_a_store_it_is_a_usage_error(run):
    assert run("events").exit_code == 2
