"""The benchmark's own arithmetic, on the data that ships with ragguard."""

import pytest

from benchmarks import attribution, misgeneration
from benchmarks.datasets import Record
from ragguard.attribution import Attribution, PassageScore
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy


def test_tally_counts_missed_poison_as_false_negative():
    texts = {"found": True, "overlooked": False, "wronged": True, "left": False, "also left": False}
    scores = [
        PassageScore(Passage(text), 0.0, 0.0, 0.0, 0.0, responsible)
        for text, responsible in texts.items()
    ]
    event = misgeneration.Event("q", "found", (), frozenset({"found", "overlooked", "beyond"}))
    outcomes = misgeneration.Outcomes()
    outcomes.add(event, Attribution("q", "a", "m", [], scores, 5, "poisoning", ""))
    (row,) = outcomes.rows()
    assert row["dacc"] == pytest.approx(3 / 6)
    assert row["fpr"] == pytest.approx(1 / 3, abs=1e-4)
    assert row["fnr"] == pytest.approx(2 / 3, abs=1e-4)
    assert row["precision"] == pytest.approx(0.5)
    assert row["missed_by_scope"] == pytest.approx(1 / 3, abs=1e-4)


@pytest.mark.slow
def test_runs_without_a_data_folder_and_finds_prepended_statements():
    result = attribution.run(None, 2)
    rows = [
        row
        for row in result["poisoned"]
        if (row["kind"], row["form"], row["method"]) == ("statement", "prepend", "ragorigin")
    ]
    assert len(rows) == 1
    assert all(row["fnr"] == 0.0 for row in rows)
    # Of two events one has a page that begins with the very question and gives another answer.
    assert all(row["fpr"] <= 0.04 for row in rows)
    assert all(row["blamed"] == 0.0 for row in result["clean"])
    single = {row["form"]: row for row in result["single"]}
    assert (single["prepend"]["events"], single["prepend"]["recall"]) == (2, 1.0)


def test_a_single_text_is_one_that_states_the_answer_and_is_read():
    target = Record(
        "Who tuned the organ of Sallow abbey?",
        (),
        frozenset(),
        {
            "gpt4": ("Nobody knows.", "Wenna Rook tuned the organ of Sallow abbey.", "Wenna Rook."),
            "garag": ("Wenna Rook tuned the organ of Sallow abbey, once.",),
        },
        incorrect=("Wenna Rook",),
    )
    base = misgeneration.KnowledgeBase(["The organ of Sallow abbey is old."] * 9)
    found = list(base.single_events(target, 0))
    assert {form for form, _ in found} == {"prepend", "plain"}
    for form, event in found:
        (text,) = event.poison
        assert "Wenna Rook" in text
        assert text.startswith(target.question) == (form == "prepend")
        assert text in [passage.text for passage in event.ranked[:5]]


def test_a_slow_proxy_is_asked_once_for_each_text_of_a_question():
    class Counted(LexicalProxy):
        gain_power = 0.4
        asked: tuple[str, ...] = ()

        def score(self, contexts, query, response):
            self.asked += tuple(contexts)
            return super().score(contexts, query, response)

    slow, plain = Counted(), LexicalProxy()
    proxy, texts = attribution.Remembered(slow), ["the pier", "", "a mill", "the pier"]
    assert proxy.gain_power == 0.4
    for query, response in (("who", "the pier"), ("who", "a mill"), ("who", "the pier")):
        found, expected = (one.score(texts, query, response) for one in (proxy, plain))
        assert found.semantic_correlation.tolist() == expected.semantic_correlation.tolist()
        assert found.generation_influence.tolist() == expected.generation_influence.tolist()
    assert slow.asked == ("the pier", "", "a mill") * 2
    assert proxy.score([], "who", "the pier").generation_influence.shape == (0,)
