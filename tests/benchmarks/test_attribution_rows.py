"""How outcomes of attribution become rows, and rows a summary."""

from __future__ import annotations

from pathlib import Path

from benchmarks.attribution import summary
from benchmarks.datasets import OWN
from benchmarks.misgeneration import Event, Outcomes, blamed
from benchmarks.report.result import read
from ragguard.attribution import Attribution, PassageScore
from ragguard.passage import Passage

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
ZERO = {"fpr": 0.0, "fnr": 0.0, "fnr_stating": 0.0, "scope": 20}


def blaming(texts: dict[str, bool]) -> Attribution:
    scores = [PassageScore(Passage(t), 0.0, 0.0, 0.0, 0.0, guilty) for t, guilty in texts.items()]
    responsible = [score.passage for score in scores if score.responsible]
    return Attribution("q", "a", "m", responsible, scores, len(scores), "poisoning", "")


def test_events_are_counted_stratum_by_stratum():
    outcomes = Outcomes()
    poisoned, clean = (Event("q", "a", (), frozenset(poison)) for poison in ({"lie a"}, ()))
    outcomes.add(poisoned, blaming({"lie a": True, "calm": False}), dataset="nq", kind="gpt4")
    outcomes.add(clean, blaming({"calm": False}), dataset=OWN)
    outcomes.add(poisoned, blaming({"lie a": False, "calm": False}), dataset="nq", kind="gpt4")
    outcomes.add(clean, blaming({"calm": True}), dataset=OWN)
    stratum, nothing_planted = outcomes.rows(blamed)
    assert stratum == {"dataset": "nq", "kind": "gpt4", "events": 2, "blamed": 0.5}
    assert nothing_planted == {"dataset": OWN, "events": 2, "blamed": 0.5}
    attacks = Outcomes()
    attacks.add(poisoned, blaming({"lie a": True, "calm": False}), dataset="nq")
    attacks.add(poisoned, blaming({"lie a": False, "calm": False}), dataset="nq")
    (row,) = attacks.rows()
    assert list(row)[:2] == ["dataset", "events"]
    assert (row["events"], row["fnr"], row["fpr"]) == (2, 0.5, 0.0)


def test_where_a_planted_text_stands_is_counted_of_the_events_that_do_not_find_it():
    outcomes, planted = Outcomes(), Event("q", "a", (), frozenset({"lie a"}))
    for lie, others in ((3.0, ()), (2.0, (5.0, 4.0)), (1.0, (5.0, 4.0, 3.0)), (9.0, ())):
        found = lie == 9.0
        scope = [("lie a", lie), *((f"page {said}", said) for said in others)]
        scores = [PassageScore(Passage(t), 0.0, 0.0, 0.0, rs, found) for t, rs in scope]
        outcomes.add(planted, Attribution("q", "a", "m", [], scores, len(scores), "unclear", ""))
    (row,) = outcomes.rows()
    assert (row["events"], row["open"], row["open_first"], row["open_in_three"]) == (4, 3, 1, 2)


def test_the_summary_is_a_mean_over_datasets_of_means_over_kinds():
    of = {"data": "public", "method": "ragorigin"}
    common = {**of, "form": "plain", "events": 2}
    rows = [
        {**common, **ZERO, "dataset": "nq", "kind": "poisonedrag", "dacc": 1.0},
        {**common, **ZERO, "dataset": "nq", "kind": "gpt4", "dacc": 0.5},
        {**common, **ZERO, "dataset": "msmarco", "kind": "gpt4", "dacc": 0.25},
        {**common, **ZERO, "dataset": "msmarco", "kind": "garag", "dacc": 0.0},
    ]
    clean = [
        {**of, "dataset": "nq", "events": 4, "blamed": 0.25},
        {**of, "dataset": "msmarco", "events": 1, "blamed": 0.0},
        {**of, "dataset": "nq", "method": "scope of 15", "events": 4, "blamed": 1.0},
    ]
    (row,) = summary(rows, clean)
    assert row["dacc"] == 0.5  # of 0.75 and 0.25
    assert row["events"] == 6
    assert row["clean_blamed"] == 0.125
    assert row["clean_blamed_pooled"] == 0.2


def test_committed_summaries_are_those_of_their_rows():
    kept = read(RESULTS / "attribution.json")["sections"]["attribution"]
    poisoned, clean = (
        [{"data": "own" if row["dataset"] == OWN else "public", **row} for row in kept[rows]]
        for rows in ("poisoned", "clean")
    )
    made = list(summary(poisoned, clean))
    assert [row | old for row, old in zip(made, kept["summary"], strict=True)] == made
