"""What a command complains about is told in the words of the command line, not of Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_BROKEN = "/proc/self/mem"
_PYTHON = re.compile(r"\w+=|\w+\(\)|\bNone\b|\bstr\b")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["events", "--tenant", ""], "leave it out for the default tenant"),
        (["events", "show", "e-9"], "`ragguard events list`"),
        (["events", "retry", "e-9"], "`ragguard events list`"),
        (["events", "retry"], "--failed"),
        (["verdicts", "show", "v"], "`ragguard verdicts`"),
        (["quarantine", "confirm", "zzz"], "`ragguard quarantine list`"),
        (["quarantine", "confirm", "bad"], "`ragguard quarantine list`"),
        (["quarantine", "undo", "--event", "e-9"], "`ragguard events list`"),
        (["allow", "", "--source", "--why", "ours"], "a TARGET is blank"),
        (["disallow", " "], "a TARGET is blank"),
        (["review", "--user-header", "X-User"], "--user-header needs --trusted-proxy"),
        (["calibrate", "--from-store", "a.db", "--alpha", "2"], "--alpha must be"),
        (["explain", "--alpha", "2"], "--alpha must be"),
        (["filter", "--alpha", "2"], "--alpha must be"),
        (["scan", "--alpha", "2"], "--alpha must be"),
        (["attribute", "-b", "b.jsonl", "--query", "", "--response", "r"], "--query is blank"),
        (["scan", _BROKEN], f"cannot read {_BROKEN}"),
        (["filter", _BROKEN], f"cannot read {_BROKEN}"),
        (["worker", "--once", "-b", _BROKEN], f"cannot read {_BROKEN}"),
        (["attribute", "-b", _BROKEN, "--query", "q", "--response", "r"], "cannot read /"),
        (["demo", "--model", "llama"], "--model must be one of smollm2"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else None,
)
def test_a_message_names_what_to_type(run, store_url, command, told):
    if command[0] == "review":
        pytest.importorskip("uvicorn")
    if _BROKEN in command and not Path(_BROKEN).exists():
        pytest.skip("needs a file that opens and cannot be read")
    own = [] if command[0] in ("calibrate", "demo") else ["--store", store_url]
    result = run(*command, *own)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert not _PYTHON.search(result.stderr)
