"""The simulation of false reports, on the project's own data."""

import json
import logging
from random import Random

import pytest

from benchmarks import false_reports
from benchmarks.datasets import skerrin
from benchmarks.false_reports import Desk, aimed, main
from benchmarks.misgeneration import selected
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


@pytest.fixture(scope="module")
def own():
    """The questions of the project's own data, and its pages as a knowledge base."""
    ((_, records, base),) = selected(None, None, 1)
    return records, base


@pytest.mark.slow
def test_false_reports_take_no_page_of_our_own(own, monkeypatch):
    """The bars: 2 % of the pages for one reporter, 1 % for a tenth that colludes, none protected.

    Of the few pages that there is time for no one goes; the committed result has 200.
    """
    monkeypatch.setattr(logging.getLogger("ragguard"), "level", logging.CRITICAL)
    monkeypatch.setattr(false_reports, "_PAGES", 3)
    monkeypatch.setattr(false_reports, "_ROUNDS", 100)
    records, base = own
    alone = false_reports.one_reporter("own", base, Random(0))
    assert (alone["pages"], alone["blamed"]) == (3, 3)
    assert (alone["within_limits"], alone["protected_quarantined"]) == (0, 0)
    for row in false_reports.colluding("own", records, base, Random(0)):
        assert row["quarantined"] == 0


@pytest.mark.slow
def test_golden_pages_stay_where_right_answers_are_reported(own):
    records, base = own
    golden = {one.question: one.golden for one in skerrin().records}
    row = false_reports.right_answers("own", records, base, golden)
    assert row["events"] == 64
    assert row["blamed"] > 32  # or the reports would aim at nothing
    assert row["golden_quarantined"] == 0


@pytest.mark.slow
def test_planted_texts_of_our_own_still_go_or_are_proposed(own):
    records, base = own
    rows = {
        (row["texts"], row["form"]): row
        for row in false_reports.planted("own", records[::4], base, 0)
    }
    asking, plain = rows["up to 5", "prepend"], rows["up to 5", "plain"]
    assert asking["quarantined"] >= 0.8 * asking["events"]
    assert asking["events"] >= 0.8 * len(records[::4])
    assert plain["proposed"] + plain["quarantined"] == plain["events"] > 0
    assert plain["proposed"] >= 0.5 * plain["events"]  # they are written as people write
    assert sum(row["benign_quarantined"] for row in rows.values()) == 0
