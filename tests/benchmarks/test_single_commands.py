"""The commands that measure one question, from a folder to a result."""

import json
import logging

import pytest

from benchmarks import command, false_reports, protocol
from benchmarks.datasets import skerrin
from benchmarks.defences.contenders import all_defences
from benchmarks.forms import FORMS
from benchmarks.report.result import read

KINDS = {"gpt4": "statement", "gemini": "article"}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with some of the project's own questions under two names; no MiniLM."""
    monkeypatch.setattr(command, "minilm_folder", lambda: None)
    folder = tmp_path / "data"
    folder.mkdir()
    records = skerrin().records
    for name, part in (("nq", records[:8]), ("hotpotqa", records[8:14])):
        lines = [
            json.dumps(
                {
                    "question": record.question,
                    "hits": [{"text": text} for text in record.hits[:40]],
                    "golden": next(iter(record.golden)),
                    "poison": {kind: record.poison[own] for kind, own in KINDS.items()},
                }
            )
            for record in part
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_protocol(data, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "all_defences", lambda stack: all_defences(stack, package=False))
    out = tmp_path / "protocol.json"
    before = logging.getLogger("ragguard").level
    protocol.main(["--data", str(data), "--forms", "prepend,plain", "--json", str(out)])
    assert logging.getLogger("ragguard").level == before
    result = read(out)
    assert result["command"] == "python -m benchmarks.protocol --data data --forms prepend,plain"
    cells = result["sections"]["cells"]
    assert {(cell["dataset"], cell["form"]) for cell in cells} == {
        (name, form) for name in ("nq", "hotpotqa") for form in ("prepend", "plain")
    }
    assert {row["defence"] for row in result["sections"]["defences"]} >= {"ragguard"}


@pytest.mark.parametrize(
    "arguments", [["--forms", "sideways"], ["--limit", "0"], ["--seed", "many"]]
)
def test_bad_arguments_are_refused(arguments, capsys):
    chosen = false_reports if "--seed" in arguments else protocol
    assert chosen.main(["--data", "x", *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


def test_all_stands_for_every_form():
    assert command.chosen("--forms", "all", FORMS) == list(FORMS)
    assert command.chosen("--forms", "plain,prepend,plain", FORMS) == ["plain", "prepend"]
