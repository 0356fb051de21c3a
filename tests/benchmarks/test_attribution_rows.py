"""How outcomes of attribution become rows, and rows a summary."""

from __future__ import annotations

from pathlib import Path

from benchmarks.attribution_rows import Outcomes, summary
from benchmarks.misgeneration import OWN, Event
from benchmarks.report.result import read
from ragguard.attribution import Attribution, PassageScore
from ragguard.passage import Passage

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
ZERO = {"fpr": 0.0, "fnr": 0.0, "fnr_stating": 0.0, "scope": 20}


def blaming(texts: dict[str, bool]) -> Attribution:
    scores = [PassageScore(Passage(t), 0.0, 0.0, 0.0, 0.0, guilty) for t, guilty in texts.items()]
    responsible = [score.passage for score in scores if score.responsible]
    return Attribution("q", "a", "m", responsible, scores, len(scores), "poisoning", "")


def test_events_without_poison_are_counted_as_clean():
    outcomes = Outcomes()
    poisoned, clean = (Event("q", "a", (), frozenset(poison)) for poison in ({"lie a"}, ()))
    for dataset in ("nq", OWN):
        outcomes.add(dataset, poisoned, blaming({"lie a": True, "calm": False}), kind="gpt4")
        outcomes.add(dataset, clean, blaming({"calm": False}))
    outcomes.add("nq", poisoned, blaming({"lie a": False, "calm": False}), kind="gpt4")
    outcomes.add("nq", clean, blaming({"calm": True}))
    public, own = outcomes.poisoned()
    assert list(public)[:4] == ["dataset", "data", "kind", "events"]
    assert (public["data"], public["events"], public["fnr"]) == ("public", 2, 0.5)
    assert (own["dataset"], own["data"], own["events"], own["fnr"]) == (OWN, "own", 1, 0.0)
    assert outcomes.clean() == [
        {"dataset": "nq", "data": "public", "events": 2, "blamed": 0.5},
        {"dataset": OWN, "data": "own", "events": 1, "blamed": 0.0},
    ]


def test_the_summary_is_a_mean_over_datasets_of_means_over_kinds():
    common = {"proxy": "p", "form": "plain", "response": "short", "events": 2}
    rows = [
        {**common, **ZERO, "dataset": "nq", "kind": "poisonedrag", "dacc": 1.0},
        {**common, **ZERO, "dataset": "nq", "kind": "gpt4", "dacc": 0.5},
        {**common, **ZERO, "dataset": "msmarco", "kind": "gpt4", "dacc": 0.25},
        {**common, **ZERO, "dataset": "msmarco", "kind": "garag", "dacc": 0.0},
    ]
    clean = [
        {"dataset": "nq", "proxy": "p", "response": "short", "events": 4, "blamed": 0.25},
        {"dataset": "msmarco", "proxy": "p", "response": "short", "events": 1, "blamed": 0.0},
        {"dataset": "nq", "proxy": "p", "response": "sentence", "events": 4, "blamed": 1.0},
    ]
    (row,) = summary(rows, clean, by=("proxy", "form", "response"))
    assert row["dacc"] == 0.5  # of 0.75 and 0.25
    assert row["events"] == 6
    assert row["clean_blamed"] == 0.125
    assert row["clean_blamed_pooled"] == 0.2


def test_rows_without_a_kind_are_of_all_main_kinds():
    row = {**ZERO, "dataset": "nq", "variant": "v", "form": "plain", "events": 3, "dacc": 0.5}
    clean = [{"dataset": "nq", "variant": "v", "events": 1, "blamed": 1.0}]
    (found,) = summary([row], clean, by=("variant", "form"))
    assert (found["events"], found["dacc"], found["clean_blamed"]) == (3, 0.5, 1.0)


def test_committed_summaries_are_those_of_their_rows():
    kept = read(RESULTS / "default.json")["sections"]["attribution"]
    poisoned, clean = (
        [{"data": "own" if row["dataset"] == OWN else "public", **row} for row in kept[rows]]
        for rows in ("poisoned", "clean")
    )
    made = summary(poisoned, clean, by=("data", "form", "response", "method"))
    assert [row | old for row, old in zip(made, kept["summary"], strict=True)] == made
