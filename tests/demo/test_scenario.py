import io
import json
from itertools import pairwise
from types import SimpleNamespace

import pytest
from rich.console import Console

from ragguard.demo import scenario
from ragguard.demo.corpus import load_corpus
from ragguard.demo.report import is_right, show
from ragguard.demo.scenario import MANNERS, run_demo
from ragguard.errors import InvalidInputError, ProxyError


@pytest.fixture(scope="module")
def report():
    return run_demo(seed=0)


def rendered(report, width=100):
    out = io.StringIO()
    show(report, Console(file=out, width=width, color_system=None))
    return out.getvalue()


@pytest.mark.slow
def test_the_loop_closes(report):
    assert (
        report["clean_wrong"]
        <= report["final_wrong"]
        < report["filtered_wrong"]
        < report["poisoned_wrong"]
    )
    assert report["quarantine_only_wrong"] < report["poisoned_wrong"]
    assert report["worked"]


@pytest.mark.slow
def test_quarantine_survives_on_the_store(report):
    assert report["second_guard_dropped"] <= report["at_once"] + report["confirmed"]
    assert 0 < report["second_guard_dropped"] <= report["traced_planted"] + report["traced_benign"]


@pytest.mark.slow
def test_figures_follow_from_the_questions(report):
    asked = report["asked"]
    assert len(asked) == 64
    assert report["planted"] == sum(one["planted"] for one in asked)
    assert report["reported_planted"] == sum(one["planted"] for one in asked if one["reports"])
    assert report["traced_planted"] == sum(one["traced_planted"] for one in asked)
    assert report["traced_benign"] <= sum(one["traced_benign"] for one in asked)
    assert report["traced_benign_misled"] <= report["traced_benign"]
    assert report["poisoned_wrong"] == sum(not one["poisoned_right"] for one in asked)
    assert report["precision"] == report["traced_planted"] / (
        report["traced_planted"] + report["traced_benign"]
    )
    assert report["recall"] == report["traced_planted"] / report["reported_planted"]


@pytest.mark.slow
def test_reports_are_what_users_would_flag(report):
    for one in report["asked"]:
        right = one["poisoned_right"] and one["filtered_right"] and one["final_right"]
        assert bool(one["reports"]) is not right
        assert len(one["causes"]) == one["reports"]
        assert one["dropped_planted"] <= one["planted"]


@pytest.mark.slow
def test_every_attack_is_planted(report):
    assert {(one["attack"], one["form"], one["planted"]) for one in report["asked"]} == set(MANNERS)


@pytest.mark.slow
def test_examples_show_what_they_claim(report):
    example = report["filter_example"]
    assert example["with_filter"] != example["without"]
    passages = example["passages"]
    assert all(passage["reason"] for passage in passages if passage["dropped"])
    assert any(passage["dropped"] and passage["planted"] for passage in passages)
    assert any(not passage["dropped"] for passage in passages)
    trace = report["trace_example"]
    assert trace["cause"] == "poisoning"
    scores = [passage["responsibility"] for passage in trace["passages"]]
    assert scores == sorted(scores, reverse=True)
    assert any(passage["responsible"] and passage["planted"] for passage in trace["passages"])


@pytest.mark.slow
def test_json_holds_every_figure(report):
    data = json.loads(json.dumps(report, allow_nan=False))
    assert data["worked"] is True
    assert data["final_wrong"] == report["final_wrong"]
    assert data["asked"][0]["question"] == report["asked"][0]["question"]
    assert data["trace_example"]["passages"][0]["responsibility"] is not None


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 100])
def test_rendering_holds_texts_and_figures(report, width):
    text = " ".join(rendered(report, width).split())
    for word in ("ES", "SC", "GC", "RS", "Precision", "Recall", "The loop closed"):
        assert word in text
    for phrase in (report["filter_example"]["question"], report["trace_example"]["question"]):
        assert phrase in text


@pytest.mark.slow
def test_rendering_shows_brackets_as_they_are(report):
    assert "[dropped, planted]" in rendered(report)


@pytest.mark.slow
def test_the_seed_decides_the_questions_and_all_figures():
    first, second, other = (run_demo(questions=2, seed=seed) for seed in (5, 5, 1))
    for data in (first, second):
        data.pop("seconds")
    assert first == second
    assert [one["question"] for one in first["asked"]] != [
        one["question"] for one in other["asked"]
    ]


@pytest.mark.slow
def test_a_model_answers_and_attributes(monkeypatch):
    asked = []

    def generate(prompt):
        asked.append(prompt)
        return prompt.partition("[1] ")[2].partition("\n")[0]

    monkeypatch.setattr(scenario, "as_text_model", lambda name: SimpleNamespace(generate=generate))
    monkeypatch.setattr("ragguard.proxy.export_folder", lambda name: None)  # scores by words
    found = run_demo(model="some model")
    assert len(found["asked"]) == 4
    assert all("Question: " in prompt for prompt in asked)
    answers = [case["clean"] for case in found["asked"]]
    assert all(any(answer in prompt for prompt in asked) for answer in answers)


def test_a_model_that_is_not_exported():
    with pytest.raises(ProxyError, match="run: ragguard proxy get smollm2"):
        run_demo(model="smollm2")


@pytest.mark.parametrize("questions", [0, -1, 65])
def test_questions_out_of_range(questions):
    with pytest.raises(InvalidInputError, match="questions must be 1 to 64"):
        run_demo(questions=questions)


@pytest.mark.slow
def test_the_loop_does_not_close_without_reports(monkeypatch):
    monkeypatch.setattr(scenario, "_MAX_ROUNDS", 0)
    report = run_demo(questions=3)
    assert report["worked"] is False
    assert "The loop did not close" in rendered(report, 100)


def test_right_answers_are_whole_words():
    question = next(q for q in load_corpus().questions if q.correct_answer == "37")
    assert is_right(question, "37 members")
    assert not is_right(question, "137 members")
    assert not is_right(question, "3")


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_is_shown_fits_the_screen_and_breaks_between_words(report, width):
    lines = rendered(report, width).splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    for sentence in (
        f"{report['traced_planted'] + report['traced_benign']} passages held responsible.",
        f"{report['at_once']} went into quarantine at once; {report['confirmed']} were proposed",
        f"Of the {report['traced_benign']} others, {report['traced_benign_misled']} for answers",
        "touches about one in a hundred.",
        "Next: put a Guard between your own retriever and generator",
    ):
        assert sentence in shown


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
def test_each_passage_of_the_table_takes_one_line_and_its_columns_are_explained_first(
    report, width
):
    text = rendered(report, width)
    _, _, table = text.partition("The most responsible passages in scope")
    rows = [line for line in table.partition("5. Asked again")[0].splitlines() if "\u2502" in line]
    assert len(rows) == min(8, len(report["trace_example"]["passages"]))
    assert all(row.count("\u2502") == 8 for row in rows)
    assert text.index("GC  how well it predicts") < text.index("The most responsible passages")


@pytest.mark.slow
def test_one_reason_is_not_repeated(report):
    text = rendered(report, 200)
    reasons = [p["reason"] for p in report["filter_example"]["passages"] if p["dropped"]]
    for reason, following in pairwise(reasons):
        assert reason != following or "] as above" in text
    assert "] as above" in text


@pytest.mark.slow
def test_every_stage_is_told_before_it_begins():
    told = []
    run_demo(questions=2, on_stage=told.append)
    assert told[0] == "asking 2 questions of a clean knowledge base"
    assert len(told) >= 4
    assert any("round 1" in stage for stage in told)
