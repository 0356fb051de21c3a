"""Tables of attribution, every figure by hand."""

from pathlib import Path

from benchmarks.report.result import read
from benchmarks.tables import tables

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def table(sections, beginning):
    (found,) = [table for table in tables(sections) if table.title.startswith(beginning)]
    return found


def measures(dacc, fpr, fnr, events=1, **more):
    return {"dacc": dacc, "fpr": fpr, "fnr": fnr, "fnr_stating": fnr, "events": events, **more}


OURS = {"form": "plain", "response": "short", "method": "ragorigin"}
WORDY = {**OURS, "response": "sentence"}
CLEAN = {"response": "short", "method": "ragorigin"}
SINGLE = {"form": "plain", "causes": {"poisoning": 3, "model": 0, "unclear": 1}}
ATTRIBUTION = {
    "poisoned": [
        {"dataset": "nq", "kind": "gpt4", **OURS, **measures(0.9, 0.1, 0.2, 10)},
        {"dataset": "nq", "kind": "gemini", **OURS, **measures(0.8, 0.3, 0.4, 5)},
        # Not of the main kinds, and not the response that the table is about.
        {"dataset": "nq", "kind": "blind", **OURS, **measures(0.1, 0.0, 1.0, 2)},
        {"dataset": "nq", "kind": "gpt4", **WORDY, **measures(0.2, 0.0, 1.0, 10)},
        {"dataset": "skerrin", "kind": "statement", **OURS, **measures(1.0, 0.0, 0.0, 7)},
    ],
    "clean": [
        {"dataset": "nq", **CLEAN, "events": 30, "blamed": 0.0667},
        {"dataset": "hotpotqa", **CLEAN, "events": 10, "blamed": 0.1},
        {"dataset": "skerrin", **CLEAN, "events": 7, "blamed": 0.0},
    ],
    "single": [
        {"dataset": "nq", **SINGLE, **measures(0.9, 0.1, 0.25, 4, recall=0.75)},
        {"dataset": "hotpotqa", **SINGLE, **measures(0.8, 0.3, 0.5, 6, recall=0.5)},
    ],
    "scopes": [],
    "summary": [
        {"data": "public", **OURS, **measures(0.85, 0.2, 0.3)},
        {"data": "own", **OURS, **measures(1.0, 0.0, 0.0)},
    ],
    "ms_per_event": {"median": 4.56, "p95": 7.89},
}


def test_wrong_answers():
    found = table({"attribution": ATTRIBUTION}, "Attribution: wrong answers")
    worst = "nq, gemini: 0.800, 0.300, 0.400 (5)"
    assert found.rows == (
        ("public", "plain", "15", "0.850", "0.200", "0.300", "0.300", worst, "3 of 40"),
        # Of the own data there is one stratum, which cannot be the worst of several.
        ("own", "plain", "7", "1.000", "0.000", "0.000", "0.000", "", "0 of 7"),
    )


def test_one_planted_text_is_counted_and_its_measures_are_means_over_datasets():
    found = table({"attribution": ATTRIBUTION}, "Attribution: one planted text")
    assert found.rows == (("public", "plain", "10", "6 (60.0 %)", "2", "0.850", "0.200"),)


def test_the_time_of_an_event():
    found = table({"attribution": ATTRIBUTION}, "Attribution: processor time")
    assert found.rows == (("4.6 ms", "7.9 ms"),)
    untimed = {**ATTRIBUTION, "ms_per_event": {"median": None, "p95": None}}
    assert not [t for t in tables({"attribution": untimed}) if "time" in t.title]


def event(stratum, case, form, data="public", **more):
    place = {"data": data, "stratum": stratum, "case": case, "form": form}
    causes = {"poisoning": 2, "model": 0, "unclear": 1}
    return {**place, **measures(0.9, 0.05, 0.25, 3), "recall": 0.75, "causes": causes, **more}


def test_other_events_are_of_public_data_and_named_in_words():
    rows = [
        event("unheard of", "a new case", "plain"),
        event("several_attackers", "same answer, both forms", "both"),
        event("one_word", "number", "plain"),
        event("one_word", "number", "prepend", dacc=0.8),
        event("one_word", "word", "plain", data="own"),
        event("refusal", "0 planted", "prepend"),
    ]
    found = table({"events": rows}, "Attribution of other events")
    cell = "0.900, 0.050, 0.250 (3)"
    assert found.rows == (
        ("a number", cell.replace("0.9", "0.8"), cell),
        ("the same, one in each form", cell, ""),
        ("a new case", "", cell),
    )


def test_refusals():
    rows = [
        event("refusal", "0 planted", "prepend", "own"),
        event("refusal", "0 planted", "plain", "own"),
        event("refusal", "2 planted", "plain", "own"),
        event("refusal", "2 planted", "prepend", "own"),
        event("refusal", "0 planted", "prepend", "public"),
        event("one_word", "number", "plain"),
    ]
    assert table({"events": rows}, "Attribution of refusals").rows == (
        ("own", "2", "question in front", "3", "75.0 %", "5.00 %", "2"),
        ("own", "2", "plain", "3", "75.0 %", "5.00 %", "2"),
        ("own", "0", "", "3", "", "5.00 %", "2"),
        ("public", "0", "", "3", "", "5.00 %", "2"),
    )


def test_every_case_that_was_measured_has_a_row_of_its_own():
    rows = read(RESULTS / "events.json")["sections"]["events"]
    cases = {(r["stratum"], r["case"]) for r in rows if r["data"] == "public"}
    named = [row[0] for row in table({"events": rows}, "Attribution of other events").rows]
    apart = {("refusal", "0 planted"), ("misreading", "a name or number that was read")}
    assert apart <= cases
    assert len(named) == len(set(named)) == len(cases - apart)


def test_misread_passages():
    row = {"stratum": "misreading", "events": 8, "fpr": 0.031, "causes": {"poisoning": 2}}
    rows = [{**row, "data": "own", "case": "x", "form": "none"}]
    assert table({"events": rows}, "Attribution of misread passages").rows == (
        ("own", "8", "3.10 %", "25.0 %"),
    )
