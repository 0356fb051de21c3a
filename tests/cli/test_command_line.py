"""The command as a whole: help, versions, exit codes, what it loads, how it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ragguard import Guard, __version__
from ragguard.cli.output import excerpt
from ragguard.text import printable

COMMANDS = (
    "demo", "filter", "calibrate", "attribute", "report", "events", "quarantine", "worker", "info",
)  # fmt: skip


@pytest.mark.slow
def test_version_and_module(spawn):
    process = spawn("--version")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (0, f"{__version__}\n", "")


def test_help_names_every_command_and_exit_code(run):
    text = run("--help").stdout
    for word in (*COMMANDS, "Exit codes", "--install-completion"):
        assert word in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage: ragguard" in result.stdout


def test_an_unknown_command_is_a_usage_error(run):
    assert run("nonsense").exit_code == 2
    result = run()
    assert "Usage: ragguard" in result.stdout + result.stderr


@pytest.mark.slow
def test_help_loads_nothing_heavy():
    program = (
        "import sys\n"
        "from ragguard.cli import main\n"
        "sys.argv = ['ragguard', '--help']\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'sqlalchemy', 'sklearn', 'scipy', 'onnxruntime', 'transformers'}\n"
        "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_completion_offers_commands_and_their_parts(spawn):
    def complete(line):
        environment = {
            **os.environ,
            "_RAGGUARD_COMPLETE": "complete_bash",
            "_TYPER_COMPLETE_ARGS": line,
            "COMP_WORDS": line,
            "COMP_CWORD": str(line.count(" ")),
        }
        out, _ = spawn(env=environment).communicate(timeout=60)
        return out.split()

    assert "quarantine" in complete("ragguard q")
    assert {"list", "release", "confirm"} <= set(complete("ragguard quarantine "))


def test_a_defect_is_no_finding(run, store_url, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("ragguard.audit.open_store", broken)
    result = run("events", "--store", store_url)
    assert result.exit_code == 3
    assert "ZeroDivisionError: by zero" in result.stderr
    assert result.stderr.endswith("please report it with the lines above\n")


def test_ctrl_c_exits_with_130(run, store_url, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ragguard.audit.open_store", interrupted)
    result = run("events", "--store", store_url)
    assert (result.exit_code, result.stdout) == (130, "")


def test_debug_shows_the_traceback_and_keeps_the_code(run, tmp_path):
    plain = run("filter", tmp_path / "nowhere")
    debug = run("--debug", "filter", tmp_path / "nowhere")
    assert plain.exit_code == debug.exit_code == 2
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert debug.stderr.endswith(plain.stderr)


def test_a_traceback_steers_no_terminal(run):
    result = run("--debug", "filter", "\x1b[31mX")
    assert "Traceback" in result.stderr
    assert "\x1b" not in result.stderr
    assert "\\x1b[31mX" in result.stderr
    assert "\n  File " in result.stderr


def test_a_full_disk_is_an_operational_failure(run, jsonl, clean):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    result = run("filter", jsonl("t.jsonl", clean), "-o", "/dev/full")
    assert result.exit_code == 3
    assert result.stderr == "ragguard: No space left on device\n"


@pytest.mark.slow
def test_output_survives_a_terminal_without_unicode(run, spawn, tmp_path):
    url = str(tmp_path / "a.db")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    options = ["--store", url, "--response", "r", "--query", "Wo ist das Café \N{FISH}?"]
    assert run("report", *options).exit_code == 0
    out, errors = spawn("events", "--store", url, env=environment).communicate(timeout=60)
    assert errors == ""
    assert "Wo ist das Caf\\xe9 \\U0001f41f?" in out


def test_info(run, store_url):
    facts = json.loads(run("info", "--json", "--store", store_url).stdout)
    assert facts["ragguard"] == __version__
    assert facts["embedder"].startswith("hashed-ngrams-")
    assert facts["proxy"].endswith("Proxy")
    assert facts["packages"]["numpy"]
    assert set(facts["extras"]["onnx"]) == {"onnxruntime", "tokenizers"}
    store = facts["store"]
    assert store.pop("answered_s") >= 0.0
    assert store == {
        "reachable": True,
        "quarantined": 2,
        "default_tenant": {"quarantined": 2, "proposed": 0},
        "tenants": {},
        "counts": {},
        "last_verdict_s": None,
    }
    text = run("info", "--store", store_url).stdout
    assert "store     reachable, of all tenants: 2 quarantined; empty; answered in 0." in text
    assert "default  " not in text  # it is all that there is
    assert "guards    no guard has recorded a verdict here" in text
    assert "extra     onnx: " in text


def test_info_tells_when_a_guard_last_wrote(run, store_url):
    with Guard(store=store_url) as guard:
        guard.filter("When does the ferry leave?", ["The pier is of oak."])
    found = json.loads(run("info", "--json", "--store", store_url).stdout)["store"]
    assert 0.0 <= found["last_verdict_s"] < 60.0
    assert found["counts"]["queries"] == 1
    assert "s ago a guard recorded a verdict here" in run("info", "--store", store_url).stdout


def test_info_without_a_store(run):
    assert json.loads(run("info", "--json").stdout)["store"] is None
    assert "none given" in run("info").stdout


def test_info_on_an_unreachable_store_says_so_on_stdout_and_fails(run, tmp_path):
    result = run("info", "--json", "--store", tmp_path / "typo.db")
    assert result.exit_code == 3
    store = json.loads(result.stdout)["store"]
    assert store["reachable"] is False
    assert "there is no audit store" in store["error"]
    assert "unreachable: there is no" in run("info", "--store", tmp_path / "typo.db").stdout


@pytest.mark.parametrize(("worked", "code"), [(True, 0), (False, 3)])
def test_demo_runs_the_program(run, monkeypatch, worked, code):
    calls = []

    def program(*, on_stage, **options):
        on_stage("asking")
        calls.append(options)
        return {"worked": worked}

    monkeypatch.setattr("ragguard.demo.scenario.run_demo", program)
    result = run("demo", "--questions", "2", "--seed", "5", "--json")
    assert result.exit_code == code
    assert json.loads(result.stdout) == {"worked": worked}
    assert calls == [{"questions": 2, "seed": 5, "model": None}]


@pytest.mark.slow
def test_demo_shows_what_it_found(run):
    result = run("demo", "--questions", "4")
    assert ("The loop closed" in result.stdout) is (result.exit_code == 0)


def test_printable_cuts_and_keeps_what_people_write():
    assert printable("naïve 漢字 Ünï\tcode") == "naïve 漢字 Ünï code"
    assert excerpt("abcdefgh", 6) == "abc..."
    assert excerpt("abcdef", 6) == "abcdef"


@pytest.mark.parametrize("command", [[], ["filter"], ["events"], ["quarantine", "list"]])
def test_help_has_a_short_form_and_flags_take_no_value(run, command):
    result = run(*command, "-h")
    assert result.exit_code == 0
    assert "Usage: ragguard" in result.stdout
    flags = [line for line in result.stdout.splitlines() if "--json" in line or "--debug" in line]
    assert not any("<bool>" in line or "BOOL" in line for line in flags)


def test_a_path_that_fails_is_named_once_and_without_a_number(run, jsonl, clean, monkeypatch):
    def missing(*arguments, **options):
        raise FileNotFoundError(2, "No such file or directory", "/nowhere/kb")

    monkeypatch.setattr("ragguard.Guard", missing)
    result = run("filter", jsonl("t.jsonl", clean))
    assert result.exit_code == 3
    assert result.stderr == "ragguard: /nowhere/kb: No such file or directory\n"


def test_info_fails_where_the_proxy_that_was_asked_for_is_not_there(run, monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("RAGGUARD_PROXY", str(tmp_path / "gone"))
    result = run("info")
    assert result.exit_code == 3
    assert "proxy     none: the environment variable RAGGUARD_PROXY names" in result.stdout


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "No such command 'nonsense'"),
        ("--nope", "No such option: --nope"),
        ("filter --nope", "No such option: --nope"),
        ("events --store", "requires an argument"),
        ("events list --store x --limit 0", "Invalid value for '--limit'"),
        ("filter --mode x", "Invalid value for '--mode'"),
        ("quarantine release --store x", "Missing argument 'TARGET'"),
        ("report", "Missing option '--store'"),
    ],
)
def test_a_usage_error_is_one_line_that_says_where_to_look(run, line, says):
    result = run(*line.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(
        rf"ragguard: .*{re.escape(says)}.*; `ragguard.* --help` says what it takes\n",
        result.stderr,
    )
