"""What quarantine holds, counted on the project's own data; and what the pages say of it."""

from random import Random

import pytest

from benchmarks import holding_cost, near_copies
from benchmarks.datasets import skerrin
from benchmarks.near_copies import EDITS, updated
from benchmarks.report.result import read
from ragguard.inline.near_copies import CONTAINED, TAKEN
from tests.docs.claims import ROOT, claim

AGAIN = ("the same text again", "its own updated version")
PAGE = "The ferry leaves at nine. It returns with the tide. Dogs travel free."


@pytest.fixture(scope="module")
def rows():
    return near_copies.run([skerrin().limited(12)], choosing=False)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_a_text_and_leaves_most_of_it(name):
    draw = Random(0)
    text = "Hale Orrin raised the harbour light. He paid for every stone of it himself."
    for _ in range(20):
        edited = EDITS[name](text, PAGE, draw)
        assert edited not in (None, text)
        assert len(edited) > len(text) / 2


def test_a_page_is_updated_by_one_sentence():
    draw = Random(0)
    for _ in range(20):
        before, after = set(PAGE.split(". ")), set(updated(PAGE, draw).split(". "))
        assert len(before - after) <= 2


def test_a_page_says_another_one_again_where_half_of_it_stands_there_in_one_run():
    again = near_copies._says_again
    assert again(PAGE, f"A title. {PAGE} More.")
    assert again(PAGE, "It returns with the tide. Dogs travel free. So do geese.")
    assert not again(PAGE, "It returns with the tide. So do geese, and nobody pays for them.")
    year = "The honours of 1925 were given by the King to citizens who had done good works."
    assert again(year, year.replace(" 1925", ""))
    assert not again(year, year.replace("1925", "1926"))


@pytest.mark.slow
def test_the_projects_own_poison_is_held_and_its_own_pages_are_not(rows):
    for row in rows:
        rate = row["held"] / row["texts"]
        if row["part"] == "edited":
            assert rate >= 0.95, row
        elif row["name"] in ("in the set that the report clears", "the same, updated"):
            assert row["held"] == 0
        elif row["part"].startswith("honest beside poison"):
            assert rate <= 0.005, row


def test_what_is_published():
    result = read(ROOT / "benchmarks" / "results" / "near_copies.json")["sections"]
    shares = {
        (row["part"], row["name"]): row["held"] / row["texts"] for row in result["near_copies"]
    }
    assert all(shares["edited", name] >= 0.95 for name in EDITS)
    for (part, name), share in shares.items():
        if part.startswith("honest") and name not in AGAIN:
            assert round(share, 3) <= 0.005
    said = claim("docs/reports.md", "what near copies cost")
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    by_hand = shares["honest beside a wrongly quarantined page", "put there by hand"]
    assert f"put there by hand | {100 * by_hand:.1f} %" in page
    for name in AGAIN:
        again = shares["honest beside a wrongly quarantined page", name]
        assert f"{100 * again:.0f} %, as it should be" in page
    cost = read(ROOT / "benchmarks" / "results" / "near_copies_cost.json")["sections"]
    timed = {row["passages"]: row for row in cost["near_copies_cost"]}
    assert f"takes {timed['new']['p50_ms']:.2f} ms" in said
    assert timed["new"]["p50_ms"] <= 0.3
    assert timed["new"]["bytes"] <= 1_300 * timed["new"]["entries"]
    assert f"it has {100 * CONTAINED:.0f} % of the text's fingerprints" in page
    assert f"if {100 * TAKEN:.0f} % of its own" in page


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (
            "one word appended, a list number in front, an HTML entity",
            ("one word appended", "list number in front", "HTML entity"),
        ),
        (
            "one typo, leet, a doubled word, swapped sentences",
            ("one typo", "leet", "doubled word", "swapped sentences"),
        ),
        (
            "20 characters of a neighbour, the text inside a page",
            ("overlap of 20 characters", "inside a page"),
        ),
        ("cut at another border, 50 to 90 % of it left", ("other chunk boundary",)),
    ],
)
def test_what_is_published_of_each_edit(line, names):
    result = read(ROOT / "benchmarks" / "results" / "near_copies.json")["sections"]
    shares = {
        (row["part"], row["name"]): 100 * row["held"] / row["texts"]
        for row in result["near_copies"]
    }
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    (row,) = [one for one in page.splitlines() if one.startswith(f"| {line} |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
    for part, cell in zip(("edited", "edited, others cleared"), cells, strict=True):
        found = [shares[part, name] for name in names]
        low, _, high = cell.removesuffix(" %").rpartition(" to ")
        assert min(found) >= 95
        for value, told in ((min(found), low or high), (max(found), high)):
            assert f"{value:.{len(told.partition('.')[2])}f}" == told, cell


@pytest.mark.slow
def test_the_cost_of_holding_is_measured_in_pairs(monkeypatch):
    monkeypatch.setattr(holding_cost, "_ENTRIES", 50)
    monkeypatch.setattr(holding_cost, "_ROUNDS", 2)
    rows = list(holding_cost.run([skerrin().limited(4)]))
    assert {(row["kind"], row["passages"]) for row in rows} == {
        (kind, passages) for kind in ("clean", "attacked") for passages in ("read before", "new")
    }
    assert all(row["sets"] == 4 and row["without_ms"] > 0 for row in rows)
    (table,) = holding_cost.tables({"holding_cost": rows})
    assert len(table.rows) == 4


def test_what_holding_costs_is_published():
    rows = read(ROOT / "benchmarks" / "results" / "holding_cost.json")["sections"]["holding_cost"]
    said = claim("docs/operations.md", "what holding costs")
    by_kind = {(row["kind"], row["passages"]): row["ratio"] for row in rows}
    for kind in ("clean", "attacked"):
        assert by_kind[kind, "read before"] <= 1.1
        assert f"{100 * (by_kind[kind, 'read before'] - 1):.0f} %" in said
        assert by_kind[kind, "new"] <= 1.1
        assert f"{100 * (by_kind[kind, 'new'] - 1):.0f} %" in said
