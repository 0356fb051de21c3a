"""`ragguard filter`: verdicts, streaming, exit codes, bad lines."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys

import pytest

from ragguard import Guard
from ragguard.audit import QuarantineEntry, open_store
from ragguard.content import content_key
from ragguard.passage import Passage


def _lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_judges_as_the_guard_does(run, jsonl, attacked, clean):
    result = run("filter", jsonl("traffic.jsonl", attacked, clean))
    assert result.exit_code == 0
    assert result.stderr == "ragguard: 2 queries, 1 attacked, 2 passages dropped, 0 marked\n"
    first, second = _lines(result.stdout)
    with Guard() as guard:
        verdict = guard.filter(
            attacked["query"], [Passage(p["text"], id=p["id"]) for p in attacked["passages"]]
        )
    assert (first["query"], first["attacked"]) == (attacked["query"], True)
    assert first["dropped"] == ["x", "y"] == [passage.id for passage in verdict.dropped]
    assert first["kept"] == ["a", "b", "c"]
    assert first["p_value"] == verdict.p_value
    assert [row["passage_id"] for row in first["evidence"]] == ["a", "b", "x", "y", "c"]
    assert [row["reason"] for row in first["evidence"]] == [e.reason for e in verdict.evidence]
    assert first["evidence"][2]["flagged"] is True
    assert {row["decided"] for row in first["evidence"]} == {True}
    assert (second["attacked"], second["dropped"], len(second["kept"])) == (False, [], 3)


def test_reads_stdin_and_writes_a_file(run, tmp_path, clean):
    out = tmp_path / "verdicts.jsonl"
    result = run("filter", "-", "-o", out, stdin=json.dumps(clean))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "ragguard: 1 query, 0 attacked, 0 passages dropped, 0 marked\n"
    assert _lines(out.read_text())[0]["attacked"] is False


def test_monitor_drops_nothing_but_says_what_it_would(run, jsonl, attacked):
    result = run("filter", jsonl("t.jsonl", attacked), "--mode", "monitor", "--json")
    (verdict,) = _lines(result.stdout)
    assert (verdict["mode"], verdict["dropped"], verdict["attacked"]) == ("monitor", [], True)
    assert [row["flagged"] for row in verdict["evidence"]] == [False, False, True, True, False]


def _unusual(clean):
    """Return the line with a passage that repeats the query, as few clean ones do."""
    said = f"Bakers' children, it is told, ask this first. {clean['query']} Few wait for the rest."
    return {**clean, "passages": [said, *clean["passages"][1:]]}


def test_alpha_decides_at_the_p_value(run, jsonl, clean):
    path = jsonl("t.jsonl", _unusual(clean))
    (verdict,) = _lines(run("filter", path).stdout)
    for factor, fires in ((0.99, False), (1.01, True)):
        result = run("filter", path, "--alpha", factor * verdict["p_value"])
        assert _lines(result.stdout)[0]["attacked"] is fires


def test_mark_alpha_decides_what_is_marked(run, jsonl, clean):
    texts = _unusual(clean)["passages"]
    passages = [{"id": f"p{n}", "text": text} for n, text in enumerate(texts)]
    path = jsonl("t.jsonl", {**clean, "passages": passages})
    (verdict,) = _lines(run("filter", path).stdout)
    p_value = verdict["p_value"]
    worst = max(row["suspicion"] for row in verdict["evidence"])
    expected = [row["passage_id"] for row in verdict["evidence"] if row["suspicion"] == worst]
    for factor, marked in ((0.99, []), (1.01, expected)):
        shares = ("--alpha", p_value / 2, "--mark-alpha", factor * p_value)
        result = run("filter", path, *shares)
        (verdict,) = _lines(result.stdout)
        assert (verdict["attacked"], verdict["marked"], len(verdict["kept"])) == (False, marked, 3)
        assert [r["passage_id"] for r in verdict["evidence"] if r["marked"]] == marked
        total = f"1 query, 0 attacked, 0 passages dropped, {len(marked)} marked"
        assert result.stderr == f"ragguard: {total}\n"
    result = run("filter", path, "--mark-alpha", 0.001)
    assert result.exit_code == 2
    assert "mark_alpha must be at least alpha=0.01" in result.stderr


def test_k_keeps_that_many(run, jsonl, clean):
    (verdict,) = _lines(run("filter", jsonl("t.jsonl", clean), "--k", 2).stdout)
    assert len(verdict["kept"]) == 2


def test_drops_what_the_store_has_in_quarantine_and_counts(run, jsonl, store_url):
    line = {"query": "When?", "passages": ["It was lit in  1921.", "It stands on a cape."]}
    result = run("filter", jsonl("t.jsonl", line), "--store", store_url)
    (verdict,) = _lines(result.stdout)
    assert verdict["evidence"][0]["signal"] == "quarantine"
    assert verdict["dropped"] == [Passage("It was lit in  1921.").id]
    store = open_store(store_url)
    assert store.counts()["queries"] == 1
    store.close()


def test_fail_on_attack(run, jsonl, attacked, clean):
    assert run("filter", jsonl("a.jsonl", attacked), "--fail-on-attack").exit_code == 1
    assert run("filter", jsonl("c.jsonl", clean), "--fail-on-attack").exit_code == 0


def test_a_query_that_could_not_be_judged_is_kept_named_and_fails(
    run, jsonl, clean, attacked, monkeypatch
):
    def broken(*arguments):
        raise FloatingPointError("no such number")

    monkeypatch.setattr("ragguard.filtering.screened", broken)
    result = run("filter", jsonl("t.jsonl", attacked, clean), "--fail-on-attack")
    assert result.exit_code == 3
    assert [len(v["kept"]) for v in _lines(result.stdout)] == [5, 3]
    assert "no such number" in _lines(result.stdout)[0]["error"]
    assert not any(row["decided"] for row in _lines(result.stdout)[0]["evidence"])
    assert "t.jsonl:2: could not be judged" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("--debug", "filter", jsonl("t.jsonl", clean)).stderr


def test_more_time_is_an_option_that_the_complaint_names(run, jsonl, monkeypatch):
    spent = []

    def is_spent(budget):
        spent.append(budget._half_s)
        return True

    monkeypatch.setattr("ragguard.inline.budget.Budget.spent", is_spent)
    path = jsonl("t.jsonl", {"query": "When was it lit?", "passages": ["The mill. " * 900, "No."]})
    result = run("filter", path, "--max-ms", 80)
    assert result.exit_code == 3
    assert "raise --max-ms, or give shorter" in result.stderr
    assert set(spent) == {0.04}
    refused = run("filter", path, "--max-ms", 0)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--max-ms" in refused.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["q", []], "an object with"),
        ({"passages": []}, '"passages" (list), got one without "query"'),
        ({"query": "q"}, '"passages" (list), got one without "passages"'),
        ({"query": 3, "passages": []}, 'got one whose "query" is a number'),
        ({"query": "q", "passages": {}}, 'got one whose "passages" is an object'),
        ({"query": "q", "passages": ["a", 3]}, 'passages[1]: expected a string or an object'),
        ({"query": "q", "passages": [{"id": "a"}]}, "passages[0]: expected a string or"),
        (b'{"query": "q", "passages": ["\xff"]}', "byte 30 (0xff) is not UTF-8"),
        (b'{"query": "q", "passages": [NaN]}', "NaN is no JSON"),
        (b'{"query": ', "expected one JSON value"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_after_the_good_ones_are_out(run, jsonl, clean, line, message):
    path = jsonl("traffic.jsonl", clean, line, clean)
    result = run("filter", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"ragguard: {path}:2: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert len(_lines(result.stdout)) == 1


def test_the_message_for_a_list(run, clean):
    result = run("filter", stdin=json.dumps(clean) + "\n[]\n")
    assert result.stderr == (
        'ragguard: <stdin>:2: expected an object with "query" (str) and "passages" (list), '
        "got a list\n"
    )


def test_lone_surrogates_go_through(run, jsonl):
    line = {"query": "why \ud800?", "passages": ["one \udfff", {"id": "i\ud800", "text": "two"}]}
    result = run("filter", jsonl("t.jsonl", line))
    assert result.exit_code == 0
    (verdict,) = _lines(result.stdout)
    assert verdict["query"] == "why \ud800?"
    assert "i\ud800" in verdict["kept"]


@pytest.mark.parametrize("passages", [[], [""], ["one"], ["same", "same"]])
def test_few_passages_are_no_trouble(run, jsonl, passages):
    result = run("filter", jsonl("t.jsonl", {"query": "", "passages": passages}))
    assert result.exit_code == 0
    assert len(_lines(result.stdout)[0]["kept"]) == len(passages)


def test_an_empty_input_gives_an_empty_output(run):
    result = run("filter", stdin="")
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (["-", "--calibration", "nowhere.json"], "nowhere.json"),
        (["-", "--alpha", "2"], "alpha must be between 0 and 1"),
        (["-", "-o", "no/such/folder/out.jsonl"], "cannot write"),
        (["-", "--store", "mysql://x/y"], "no audit store speaks"),
    ],
)
def test_bad_arguments_are_one_line(run, arguments, message):
    result = run("filter", *arguments, stdin="")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("ragguard: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize("options", [["--k", "0"], ["--strategy", "magic"], ["--nonsense"]])
def test_usage_errors_exit_with_2(run, options):
    assert run("filter", *options, stdin="").exit_code == 2


@pytest.mark.slow
def test_a_verdict_is_out_before_the_input_ends(spawn, attacked, clean):
    process = spawn("filter")
    for line, is_attacked in ((attacked, True), (clean, False), (attacked, True)):
        process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["attacked"] is is_attacked
    rest, errors = process.communicate()
    assert (process.returncode, rest) == (0, "")
    assert errors == "ragguard: 3 queries, 2 attacked, 4 passages dropped, 0 marked\n"


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_finding(spawn, clean):
    process = spawn("filter")
    line = json.dumps(clean) + "\n"
    process.stdin.write(line)
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write(2 * line)
    process.stdin.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == ""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("filter", "--help"), ("scan", "t.jsonl")])
def test_a_reader_of_tables_that_goes_away_is_no_finding(spawn, jsonl, attacked, arguments):
    paths = {"t.jsonl": jsonl("t.jsonl", *attacked["passages"])}
    process = spawn(*[paths.get(one, one) for one in arguments])
    process.stdout.close()
    process.stdin.close()
    assert process.wait(60) == 141


@pytest.mark.slow
def test_closed_streams_are_no_defect(jsonl, clean):
    # The shell closes them: Python then has None in place of each.
    line = 'exec "$0" -m ragguard filter "$1" <&- >&-'
    command = ["sh", "-c", line, sys.executable, str(jsonl("t.jsonl", clean))]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.stderr == "ragguard: 1 query, 0 attacked, 0 passages dropped, 0 marked\n"
    assert done.returncode == 0


@pytest.mark.slow
def test_on_a_terminal_the_verdicts_are_words_without_a_bar(spawn, jsonl, attacked, clean):
    attacked = json.loads(json.dumps(attacked).replace('"x"', '"x\\u001b[2J\\u202e"'))
    path = jsonl("t.jsonl", attacked, clean)
    ours, theirs = pty.openpty()
    process = spawn("filter", path, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = _read_all(ours)
    assert process.wait(60) == 0
    assert seen.count("\n") == 5  # with the totals
    assert seen.startswith("attacked  p=0.0")
    assert "2 of 5 flagged" in seen
    assert "x\\x1b[2J\\u202e: " in seen
    assert "clean" in seen
    assert "\x1b" not in seen


@pytest.mark.slow
def test_on_a_terminal_json_is_json(spawn, jsonl, clean):
    ours, theirs = pty.openpty()
    process = spawn("filter", jsonl("t.jsonl", clean), "--json", stdout=theirs)
    os.close(theirs)
    assert json.loads(_read_all(ours))["attacked"] is False
    assert process.wait(60) == 0


@pytest.mark.slow
def test_the_progress_bar_is_on_stderr_alone(spawn, jsonl, clean):
    ours, theirs = pty.openpty()
    process = spawn(
        "filter",
        jsonl("t.jsonl", *[clean] * 5),  # a pipe holds the verdicts until the bar has been read
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    bar = _read_all(ours)
    assert len(_lines(process.stdout.read())) == 5
    assert process.wait(60) == 0
    assert "queries" in bar


def _read_all(descriptor):
    """Return all that comes through a pseudo-terminal until the other side is closed."""
    parts = []
    while select.select([descriptor], [], [], 60)[0]:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # Linux's way to say end of file here
            break
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def test_the_totals_say_what_monitoring_would_drop_and_that_nothing_was_read(run, jsonl, attacked):
    result = run("filter", jsonl("t.jsonl", attacked), "--mode", "monitor")
    assert result.stderr == "ragguard: 1 query, 1 attacked, 2 passages would be dropped, 2 marked\n"
    assert run("filter", stdin="").stderr.startswith("ragguard: 0 queries, 0 attacked")


@pytest.mark.slow
def test_waiting_for_a_terminal_is_said(spawn):
    ours, theirs = pty.openpty()
    process = spawn("filter", stdin=theirs)
    os.close(theirs)
    assert "reading JSON lines from the terminal" in process.stderr.readline()
    os.write(ours, b"\x04")
    assert process.wait(60) == 0
    os.close(ours)


def test_what_quarantine_holds_back_is_an_attack(run, jsonl, tmp_path, clean):
    url, text = str(tmp_path / "audit.db"), clean["passages"][0]
    store = open_store(url)
    store.add_quarantine([QuarantineEntry(content_key(text), "id", text, "found by attribution")])
    store.close()
    traffic = jsonl("t.jsonl", clean)
    assert run("filter", traffic, "--fail-on-attack").exit_code == 0
    result = run("filter", traffic, "--store", url, "--fail-on-attack")
    assert result.exit_code == 1
    (verdict,) = _lines(result.stdout)
    assert verdict["attacked"] is True
    assert len(verdict["dropped"]) == 1
    assert result.stderr == "ragguard: 1 query, 1 attacked, 1 passage dropped, 0 marked\n"


@pytest.mark.parametrize("command", ["filter", "explain", "scan"])
def test_a_tenant_without_a_name_is_told_before_anything_is_opened(run, jsonl, tmp_path, command):
    path, store = jsonl("ok.jsonl", {"query": "q", "passages": ["a"]}), tmp_path / "new.db"
    result = run(command, path, "--tenant", "", "--store", store)
    assert result.exit_code == 2
    assert result.stderr.startswith("ragguard: tenant must be a name")
    assert not store.exists()
