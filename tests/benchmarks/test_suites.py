import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import cells, plugins, suite_command
from benchmarks.cells import load_suite
from benchmarks.datasets import skerrin
from benchmarks.measuring import Place
from benchmarks.report.figures import of_sections
from benchmarks.report.result import read
from benchmarks.suite_command import finished, main, pending, run, shown
from ragguard.errors import InvalidInputError

ROOT = Path(__file__).resolve().parents[2]
TINY = """
title = "Tiny"
attacks = ["none", "poisonedrag_black"]
defences = ["none", "ragguard_3x"]
datasets = ["skerrin"]
readers = ["likelihood"]
questions = 3

[[part]]
attacks = ["poisonedrag_black"]
defences = []
attributors = ["text_keywords"]
questions = 2
"""


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


def timeless(suite, place):
    found = [finished(cell, place) for cell in suite.cells]
    return [[{**row, "ms": 0.0} for row in kept["rows"]] for kept in found]


def run_apart(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], env=environment, check=False
    )


KILLED = """
import os, signal, sys
from pathlib import Path
from benchmarks.cells import load_suite
from benchmarks.measuring import Place
from benchmarks.suite_command import run

cells = load_suite(sys.argv[1], None).cells
for number, _ in enumerate(run(cells, Place(None, Path(sys.argv[2])))):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_after_a_kill_only_what_is_missing_is_run_and_the_result_is_the_same(tiny, tmp_path):
    suite = load_suite(str(tiny), None)
    place, other = Place(None, tmp_path / "killed"), Place(None, tmp_path / "whole")
    assert run_apart(KILLED, tiny, place.folder).returncode == -signal.SIGKILL
    left = pending(suite.cells, place)
    assert len(left) == len(suite.cells) - 2
    assert list(run(suite.cells, place)) == left
    list(run(suite.cells, other))
    assert timeless(suite, place) == timeless(suite, other)
    assert pending(suite.cells, place) == []


@pytest.mark.slow
def test_processes_of_this_machine_find_what_one_does(tiny, tmp_path):
    pytest.importorskip("joblib")
    suite = load_suite(str(tiny), None)
    one, two = Place(None, tmp_path / "one"), Place(None, tmp_path / "two")
    list(run(suite.cells, one))
    list(run(suite.cells, two, jobs=2))
    assert timeless(suite, one) == timeless(suite, two)


@pytest.mark.slow
def test_two_workers_of_dask_find_what_one_process_does(tiny, tmp_path):
    distributed = pytest.importorskip("dask.distributed")
    pytest.importorskip("joblib")
    suite = load_suite(str(tiny), None)
    one, two = Place(None, tmp_path / "one"), Place(None, tmp_path / "two")
    list(run(suite.cells, one))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        list(run(suite.cells, two, scheduler=cluster.scheduler_address))
    assert timeless(suite, one) == timeless(suite, two)


def test_a_half_written_cell_is_none(tiny, tmp_path):
    suite, place = load_suite(str(tiny), None), Place(None, tmp_path / "run")
    first = suite.cells[0]
    list(run([first], place))
    file = place.folder / "cells" / f"{first.id}.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert len(kept["rows"]) == kept["expected"] == 3
    file.write_text(json.dumps({**kept, "rows": kept["rows"][:2]}), encoding="utf-8")
    assert finished(first, place) is None
    file.write_text(file.read_text(encoding="utf-8")[:40], encoding="utf-8")
    assert pending([first], place) == [first]


def test_a_cell_is_void_once_a_source_of_it_changes(tiny, monkeypatch):
    before = {cell.key: cell.id for cell in load_suite(str(tiny), None).cells}
    again = {cell.key: cell.id for cell in load_suite(str(tiny), None).cells}
    assert before == again
    monkeypatch.setattr(
        "benchmarks.cells._measured",
        lambda name: "changed" if name == "ragguard.inline" else "as it was",
    )
    after = {cell.key: cell.id for cell in load_suite(str(tiny), None).cells}
    monkeypatch.setattr("benchmarks.cells._measured", lambda name: "as it was")
    same = {cell.key: cell.id for cell in load_suite(str(tiny), None).cells}
    changed = {key for key in before if after[key] != same[key]}
    assert changed == {key for key in before if "ragguard_3x" in key}


def test_all_that_decides_a_figure_is_hashed(tiny, tmp_path, monkeypatch):
    attributed, defended = (
        next(dict(cell.versions) for cell in load_suite(str(tiny), None).cells if cell.room == room)
        for room in ("attributors", "defences")
    )
    both = {"benchmarks", "ragguard.embedding", "ragguard.stems", "ragguard.text", "ragguard.demo"}
    assert both <= attributed.keys() & defended.keys()
    assert "benchmarks.misgeneration" in attributed.keys() - defended.keys()
    for name in ("released_attacks", "wikipedia_passages"):
        (tmp_path / f"{name}.jsonl").write_text("1")
    tiny.write_text(TINY.replace("skerrin", "released"))
    first = {cell.id for cell in load_suite(str(tiny), tmp_path).cells}
    cells.source_digest.cache_clear()
    (tmp_path / "wikipedia_passages.jsonl").write_text("2")
    assert first.isdisjoint(cell.id for cell in load_suite(str(tiny), tmp_path).cells)


ATTACK = """
from benchmarks.plugins import About, Attack

ATTACK = Attack(
    About("shouting", "nobody's", "nowhere", "knows the question", version=3),
    lambda record, count, draw: [f"{record.question} IT IS {record.incorrect[0].upper()}!"],
)
"""
DEFENCE = """
from benchmarks.plugins import About, Decision, Defence

def judge(case):
    texts = case.retrieved.texts
    return Decision(tuple(at for at, text in enumerate(texts) if "IT IS" not in text))

DEFENCE = Defence(About("no shouting", "nobody's", "nowhere", "one query"), lambda setting: judge)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Somebody else's distribution: a file with an attack, a file with a defence, entry points."""
    site = tmp_path / "site"
    (site / "loud-1.0.dist-info").mkdir(parents=True)
    (site / "loud_attack.py").write_text(ATTACK, encoding="utf-8")
    (site / "loud_defence.py").write_text(DEFENCE, encoding="utf-8")
    (site / "loud-1.0.dist-info" / "METADATA").write_text("Name: loud\nVersion: 1.0\n")
    (site / "loud-1.0.dist-info" / "entry_points.txt").write_text(
        "[ragguard_benchmarks.attacks]\nshouting = loud_attack:ATTACK\n"
        "[ragguard_benchmarks.defences]\nno_shouting = loud_defence:DEFENCE\n"
    )
    monkeypatch.syspath_prepend(site)
    plugins.known.cache_clear()
    yield
    plugins.known.cache_clear()


def test_an_attack_and_a_defence_of_somebody_else_join_by_one_file_each(package, tmp_path):
    path = tmp_path / "loud.toml"
    path.write_text(
        TINY.partition("[[part]]")[0]
        .replace('"poisonedrag_black"', '"shouting"')
        .replace('"ragguard_3x"', '"no_shouting"'),
        encoding="utf-8",
    )
    suite, place = load_suite(str(path), None), Place(None, tmp_path / "run")
    list(run(suite.cells, place))
    found = {(one.cell.attack, one.cell.method): one.figures for one in shown(suite, place)}
    assert found["shouting", "none"]["poison_retrieved"].value == 1.0
    assert found["shouting", "none"]["poison_removed"].value == 0.0
    assert found["shouting", "no_shouting"]["poison_removed"].value == 1.0
    assert found["none", "no_shouting"]["benign_removed"].value == 0.0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('attacks = ["nobody"]', "no 'nobody' in attacks"),
        ('colour = "red"', "no option colour"),
        ('datasets = ["nq"]', "pass --data"),
        ('datasets = ["yaml:x"]', "no format 'yaml'"),
    ],
)
def test_a_suite_that_names_what_is_not_there_is_refused(line, says, tiny):
    key = line.split()[0]
    kept = [one for one in TINY.splitlines() if not one.startswith(f"{key} ")]
    tiny.write_text("\n".join([line, *kept]), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=says):
        load_suite(str(tiny), None)
    with pytest.raises(InvalidInputError, match="no suite 'nonsense'"):
        load_suite("nonsense", None)


def test_what_cannot_be_measured_says_why_and_is_tried_again(tmp_path, monkeypatch):
    path = tmp_path / "peer.toml"
    path.write_text(
        TINY.partition("[[part]]")[0].replace('"ragguard_3x"', '"ragdefender_package"'),
        encoding="utf-8",
    )
    monkeypatch.setattr("benchmarks.defences.ragdefender_package.package_version", lambda: None)
    suite, place = load_suite(str(path), None), Place(None, tmp_path / "run")
    list(run(suite.cells, place))
    reasons = {one.cell.method: one.reason for one in shown(suite, place)}
    assert reasons["none"] == ""
    assert "install the package ragdefender" in reasons["ragdefender_package"]
    assert {cell.method for cell in pending(suite.cells, place)} == {"ragdefender_package"}


def test_the_commands(tiny, tmp_path, capsys, monkeypatch):
    folder = ["--folder", str(tmp_path / "run")]
    assert main(["plan", str(tiny), *folder]) == 0
    assert "5 cells, 5 to run" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()
    out = tmp_path / "out"
    assert main(["run", str(tiny), *folder, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Attack success / right answers, %" in printed
    assert "report.html" in printed
    assert main(["plan", str(tiny), *folder]) == 0
    assert "5 cells, 0 to run" in capsys.readouterr().out
    monkeypatch.setattr(suite_command, "_RESULTS", out)
    rows = (out / "rows.json").read_text(encoding="utf-8")
    for void, content in (
        (0, rows),
        (1, rows.replace(load_suite(str(tiny), None).cells[0].id, "-")),
    ):
        (out / f"suite_{tiny.stem}.json").write_text(content, encoding="utf-8")
        assert main(["plan", str(tiny), *folder]) == 0
        assert f"{void} are not of the present sources" in capsys.readouterr().out
    suite = load_suite(str(tiny), None)
    straight = shown(suite, Place(None, tmp_path / "run"))
    again = of_sections(read(out / "rows.json")["sections"])
    assert [one.figures for one in again] == [one.figures for one in straight]
    assert [one.cell.key for one in again] == [one.cell.key for one in straight]
    text = (out / "rows.json").read_text(encoding="utf-8")
    assert all(one.question not in text for one in skerrin().records)
    assert main(["compare", str(out / "rows.json"), str(out / "rows.json")]) == 0
    assert "+0.0 (+0.0 to +0.0)" in capsys.readouterr().out
