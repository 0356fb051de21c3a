"""Tables of attribution and of other methods, every figure by hand."""

from pathlib import Path

import pytest

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


def test_parts_and_baselines():
    variant = {"data": "public", "variant": "as shipped", "clean_blamed": 0.0421}
    baseline = {"method": "as shipped", "events": 9, "events_with_benign_blamed": 2}
    sections = {
        "variants": [
            {**variant, "form": "prepend", **measures(0.9, 0.1, 0.2)},
            {**variant, "form": "plain", **measures(0.8, 0.3, 0.4)},
            {**variant, "form": "one text, prepend", **measures(0.9, 0.1, 0.125)},
            {**variant, "form": "one text, plain", **measures(0.8, 0.3, 0.5)},
            {**variant, "form": "plain", "data": "own", **measures(0.0, 0.0, 0.0)},
        ],
        "baselines": [
            {**baseline, "form": "clean", "recall": None},
            {**baseline, "form": "prepend", "recall": 0.95},
            {**baseline, "form": "plain", "recall": 0.5, "events": 7},
        ],
    }
    parts, baselines = tables(sections)
    measured = ("0.900, 0.100, 0.200", "0.800, 0.300, 0.400", "87.5 %", "50.0 %", "4.2 %")
    assert parts.rows == (("as shipped", *measured),)
    assert baselines.columns[1:3] == ("recall, question in front (9)", "recall, plain (7)")
    assert baselines.rows == (("RAGOrigin", "95 %", "50 %", "2 of 9"),)


RANKED = (
    *("influence", "influence, Eq. 6 alone", "share of repeats", "ragorigin"),
    *(
        f"{name}, {model}"
        for name in ("leave-one-out", "ablation")
        for model in ("proxy", "generator")
    ),
)


def ranks(dataset, events, first):
    for method in RANKED:
        decides = method not in ("influence, Eq. 6 alone", "share of repeats")
        yield {
            **{"generator": "reader", "temperature": 0.1, "dataset": dataset, "form": "plain"},
            **{"method": method, "events": events, "top_1": first, "top_2": 1.0, "top_3": 1.0},
            **{"found": 0.5 if decides else None, "benign_blamed": 0.25 if decides else None},
        }


def test_influence_is_pooled_over_the_public_datasets():
    rows = [*ranks("nq", 30, 0.5), *ranks("hotpotqa", 10, 0.9), *ranks("skerrin", 99, 0.0)]
    account = {"here, k + 2: sets": 7, "here, k + 2: calls": 70, "here, k + 2: words read": 7016.4}
    places, held, taken = tables({"ranks": rows, "events": [], "accounting": account})
    assert places.columns == ("method", "reader, plain (40 events)")
    assert len(places.rows) == len(RANKED)
    # (30 * 0.5 + 10 * 0.9) / 40
    assert places.rows[0] == ("Influence Score", "60 / 100 / 100")
    assert len(held.rows) == len(RANKED) - 2
    assert held.rows[0] == ("Influence Score", "50, 0.2")
    assert taken.rows == (("here, k + 2", "7", "70", "7,016"),)


def test_influence_on_the_own_data_alone_has_no_ranks():
    sections = {"ranks": list(ranks("skerrin", 9, 0.5)), "events": [], "accounting": {}}
    assert not tables(sections)


def test_forensics_and_its_mean():
    names = [f"ragforensics, {judge}" for judge in ("likelihood", "keywords", "reader")]
    rows = [
        {"dataset": dataset, "attack": attack, "method": method, "calls": calls, **found}
        for dataset, attack, calls, found in (
            ("nq", "PoisonedRAG-B", 10.0, measures(0.98, 0.04, 0.0, 30)),
            ("nq", "InstruInject", 12.0, measures(0.96, 0.02, 0.1, 20)),
            ("nq", "gpt4", 99.0, measures(0.0, 0.0, 0.0)),
            ("skerrin", "InstruInject", 99.0, measures(0.0, 0.0, 0.0)),
        )
        for method in (*names, "ragorigin")
    ]
    found = table({"forensics": rows}, "RAGForensics")
    first, second, mean = found.rows
    assert first == ("Natural Questions", "PoisonedRAG-B", "30", *["98.0 / 4.0 / 0.0"] * 4, "10.0")
    assert second[:3] == ("Natural Questions", "InstruInject", "20")
    assert mean == ("mean", "", "", *["97.0 / 3.0 / 5.0"] * 4, "11.0")


@pytest.mark.parametrize("kinds", [("flat",), ("flat", "ivf")])
def test_scale(kinds):
    place = {"events": 60, "search_ms": 0.7041, "attribution_ms": 8.44, "planted_found": 0.855}
    rows = [{"index": kind, "passages": 10**6, **place} for kind in kinds]
    found = table({"scale": rows}, "Attribution against the size")
    assert found.columns[1] == "flat index: search"
    assert found.rows == (("1,000,000", *["0.704 ms", "8.4 ms", "86 %"] * len(kinds)),)
