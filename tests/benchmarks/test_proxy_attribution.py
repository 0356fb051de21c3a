"""How the benchmark of proxies compares them."""

from __future__ import annotations

import numpy as np
import pytest
from rich.progress import Progress

from benchmarks.attribution_events import Selection
from benchmarks.misgeneration import MAIN_KINDS
from benchmarks.proxy_attribution import Remembered, _shares, reports, run
from ragguard.proxy import LexicalProxy, Scores

TEXTS = ["The moss was found by Ines Varga.", "It rained in Pell.", ""]


class Counting:
    def __init__(self):
        self.asked = []

    def score(self, contexts, query, response):
        self.asked += contexts
        values = np.array([float(len(text)) for text in contexts])
        return Scores(values, -values)


def test_nothing_is_scored_twice_for_the_same_question_and_answer():
    inner = Counting()
    proxy = Remembered(inner)
    first = proxy.score(TEXTS, "q", "a")
    again = proxy.score([TEXTS[1], "new", TEXTS[1]], "q", "a")
    assert inner.asked == [*TEXTS, "new"]
    assert again.semantic_correlation.tolist() == [18.0, 3.0, 18.0]
    assert again.generation_influence.tolist() == [-18.0, -3.0, -18.0]
    assert first.semantic_correlation.tolist() == [33.0, 18.0, 0.0]
    proxy.score(TEXTS[:1], "q", "another")
    assert inner.asked[-1] == TEXTS[0]
    assert proxy.scored == 5
    proxy.forget()
    proxy.score(TEXTS[:1], "q", "a")
    assert proxy.scored == 6


def test_the_projects_own_data_with_a_stand_in_for_the_model():
    with Progress(disable=True) as progress:
        found = run(Selection(limit=4), LexicalProxy(), shares=(0.5, 1.0), progress=progress)
    rows = {(row["proxy"], row["reported"], row["form"]): row for row in found["poisoned"]}
    for form in ("prepend", "plain"):
        lexical = rows["lexical", "as it is", form]
        assert lexical["events"] == 4
        assert lexical["dacc"] > 0.9
        # The mean of the lexical proxy with itself.
        assert rows["0.5 of the model", "as it is", form] == {
            **lexical,
            "proxy": "0.5 of the model",
        }
    assert {row["proxy"]: row["events"] for row in found["clean"]} == {
        "lexical": 4,
        "0.5 of the model": 4,
        "1 of the model": 4,
    }


def test_of_each_record_one_kind_is_planted_in_both_forms():
    ((_, targets, base),) = Selection(limit=3).datasets()
    for target in targets:
        found = list(reports(target, base, 0))
        assert [one.form for one in found[:3]] == ["prepend", "plain", "clean"]
        assert {one.case for one in found[3:]} <= {"paraphrase"}
        planted = {text for one in found for text in one.event.poison}
        (kind,) = (
            kind
            for kind, texts in target.poison.items()
            if any(text in one for text in texts for one in planted)
        )
        assert kind in MAIN_KINDS
        assert found == list(reports(target, base, 0))


@pytest.mark.parametrize(("text", "expected"), [("", ()), ("0.5", (0.5,)), ("0,1", (0.0, 1.0))])
def test_shares_are_read(text, expected):
    assert _shares(text) == expected
