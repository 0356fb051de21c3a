"""The figures about false reports are those of the committed result."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.report.result import read
from tests.docs.claims import ROOT, claim

PAGE = "docs/attacker.md"
FOUND = read(ROOT / "benchmarks" / "results" / "false_reports.json")["sections"]


def cells(name, row):
    (line,) = [part for part in claim(PAGE, name).split("| |") if part.strip(" |").startswith(row)]
    return [cell.strip() for cell in line.strip(" |").split("|")][1:]


@pytest.mark.parametrize(("column", "data"), [(0, "public"), (1, "own")])
def test_false_reports(column, data):
    (one,) = [row for row in FOUND["one_reporter"] if row["data"] == data]
    rows = {
        f"of {one['pages']} honest pages": one["blamed"],
        "quarantined, by as many": one["quarantined"],
        "by one reporter": one["within_limits"],
        "the same, from a protected": one["protected_quarantined"],
    }
    for row in FOUND["colluding"]:
        if row["data"] == data:
            start = {1: "by 10 of 100 reporters", 2: "with a quorum of two"}[row["quorum"]]
            rows[start] = row["quarantined"]
    for start, expected in rows.items():
        assert cells("false reports", start)[column] == str(expected), start
    asked = [
        row
        for row in FOUND["right_answers"]
        if (row["dataset"] == "skerrin") == (data == "own") and row["calibration"] == "shipped"
    ]
    golden, events = (sum(row[name] for row in asked) for name in ("golden_quarantined", "events"))
    assert cells("false reports", "golden pages")[column] == f"{golden} of {events}"


def test_golden_pages_of_a_guard_that_is_calibrated():
    (row,) = [one for one in FOUND["right_answers"] if one["calibration"] != "shipped"]
    said = f"{row['golden_quarantined']} of {row['events']}"
    assert said in claim(PAGE, "golden calibrated")


@pytest.mark.parametrize("texts", ["up to 5", "1"])
@pytest.mark.parametrize(("form", "words"), [("prepend", "question in front"), ("plain", "plain")])
def test_planted_texts(texts, form, words):
    total: Counter[str] = Counter()
    for row in FOUND["planted"]:
        if (row["texts"], row["form"]) == (texts, form):
            total += Counter({name: row[name] for name in ("events", "quarantined", "proposed")})
    noun = "text" if texts == "1" else "texts"
    events, at_once, proposed = cells("planted under auto", f"{texts} {noun}, {words}")
    assert (events, proposed) == (str(total["events"]), str(total["proposed"]))
    share = total["quarantined"] / total["events"]
    expected = f"{total['quarantined']} ({100 * share:.1f} %)" if share else "0"
    assert at_once == expected
    assert total["quarantined"] + total["proposed"] == total["events"]  # no event ends in nothing
    if texts == "up to 5":
        assert share >= (0.8 if form == "prepend" else 0.6)


@pytest.mark.parametrize("data", ["public", "own"])
def test_the_bars(data):
    """What may go without a person: 2 % for one reporter, 1 % for a tenth, nothing protected."""
    (one,) = [row for row in FOUND["one_reporter"] if row["data"] == data]
    assert one["pages"] == 200
    assert one["within_limits"] <= 0.02 * one["pages"]
    assert one["quarantined"] <= 0.02 * one["pages"]
    assert one["protected_quarantined"] == 0
    colluding = [row for row in FOUND["colluding"] if row["data"] == data]
    assert {row["rounds"] for row in colluding} == {1_000}
    assert all(row["quarantined"] <= 0.01 * row["pages"] for row in colluding)
    assert not any(row["golden_quarantined"] for row in FOUND["right_answers"])
