"""The simulation of false reports, on the project's own data."""

import json
from random import Random

import pytest

from benchmarks.false_reports import Desk, aimed, main
from ragguard.passage import Passage

PAGE = "Who lit the lamp? Ann Dove lit the lamp of Marrow Bay in 1874. The keeper was her son."
OTHERS = [f"The {word} of Halden lies by the river." for word in "mill port inn lock farm".split()]


def test_reports_are_aimed_at_what_a_page_says():
    found = aimed(PAGE, Random(0))
    assert found[0] == ("Who lit the lamp?", "Ann Dove lit the lamp of Marrow Bay in 1874.")
    assert ("Who lit the lamp? Ann", "The keeper was her son.") in found
    assert ("What The keeper?", "was her son.") in found
    assert len(found) == len(set(found)) + found.count(found[0]) - 1
    assert aimed("", Random(0)) == aimed("?!", Random(0)) == []


@pytest.mark.parametrize("protected", [False, True])
def test_the_desk_does_what_a_guard_does(protected):
    desk = Desk(protected=protected)
    ranked = [Passage(text) for text in (PAGE, *OTHERS)]
    found = desk.report("Who lit the lamp?", "Ann Dove", ranked)
    assert [passage.text for passage in found.accused] == [PAGE]
    assert desk.holds(PAGE) is not protected


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.false_reports._PAGES", 3)
    monkeypatch.setattr("benchmarks.false_reports._ROUNDS", 110)
    out = tmp_path / "result.json"
    assert main(["--limit", "3", "--json", str(out)]) == 0
    sections = json.loads(out.read_text())["sections"]
    assert set(sections) == {"planted", "right_answers", "one_reporter", "colluding"}
    assert "one_reporter" in capsys.readouterr().out
