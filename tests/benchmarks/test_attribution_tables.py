"""Tables of attribution, every figure by hand."""

from benchmarks.tables import tables


def table(sections, beginning):
    (found,) = [table for table in tables(sections) if table.title.startswith(beginning)]
    return found


def measures(dacc, fpr, fnr, events=1, **more):
    return {"dacc": dacc, "fpr": fpr, "fnr": fnr, "fnr_stating": fnr, "events": events, **more}


NQ = {"dataset": "nq", "data": "public"}
HOTPOTQA = {"dataset": "hotpotqa", "data": "public"}
OWN = {"dataset": "skerrin", "data": "own"}
OURS = {"form": "plain", "method": "ragorigin"}
FIXED = {**OURS, "method": "scope of 15"}
CLEAN = {"method": "ragorigin"}
SINGLE = {"form": "plain", "open": 2, "open_first": 1, "open_in_three": 2}
ATTRIBUTION = {
    "poisoned": [
        {**NQ, "kind": "gpt4", **OURS, **measures(0.9, 0.1, 0.2, 10)},
        {**NQ, "kind": "gemini", **OURS, **measures(0.8, 0.3, 0.4, 5)},
        # Not of the main kinds, and not the method that the table is about.
        {**NQ, "kind": "blind", **OURS, **measures(0.1, 0.0, 1.0, 2)},
        {**NQ, "kind": "gpt4", **FIXED, **measures(0.2, 0.0, 1.0, 10)},
        {**OWN, "kind": "statement", **OURS, **measures(1.0, 0.0, 0.0, 7)},
    ],
    "clean": [
        {**NQ, **CLEAN, "events": 30, "blamed": 0.0667},
        {**HOTPOTQA, **CLEAN, "events": 10, "blamed": 0.1},
        {**OWN, **CLEAN, "events": 7, "blamed": 0.0},
    ],
    "single": [
        {**NQ, **SINGLE, **measures(0.9, 0.1, 0.25, 4, recall=0.75)},
        {**HOTPOTQA, **SINGLE, **measures(0.8, 0.3, 0.5, 6, recall=0.5)},
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
    assert found.rows == (("public", "plain", "10", "6 (60.0 %)", "4", "2", "4", "0.850", "0.200"),)


def test_the_time_of_an_event():
    found = table({"attribution": ATTRIBUTION}, "Attribution: processor time")
    assert found.rows == (("4.6 ms", "7.9 ms"),)
