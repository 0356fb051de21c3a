"""Algorithm 1 of RAGOrigin, the paging behind it, and the probe that asks a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.attribution.ragorigin.scope import (
    AnswerProbe,
    Ranking,
    narrow_scope,
)
from ragguard.attribution.search import as_retrieve
from ragguard.attribution.text_model import as_text_model
from ragguard.passage import Passage


class Knowledge:
    """A knowledge base in rank order that notes what it was asked for."""

    def __init__(self, texts):
        self.passages = [Passage(text) for text in texts]
        self.limits = []

    def __call__(self, query, limit):
        self.limits.append(limit)
        return self.passages[:limit]


class MarkProbe:
    """A segment reproduces the response if one of its texts is marked."""

    def __init__(self):
        self.asked = []

    def reproduces(self, passages):
        self.asked.append([p.text for p in passages])
        return any(p.text.startswith("bad") for p in passages)

    def leads(self, passages, standing):
        return self.reproduces(passages)


def texts(pattern):
    """Return one text a letter: b is marked, anything else is not."""
    return [f"{'bad' if letter == 'b' else 'good'} {i}" for i, letter in enumerate(pattern)]


def narrow(pattern, **given_):
    options = {"top_k": 2, "max_scope": 100, "min_scope": 0, **given_}
    return narrow_scope(Ranking(Knowledge(texts(pattern)), "q"), MarkProbe(), **options)


@pytest.mark.parametrize(
    ("pattern", "reproduced", "size"),
    [
        ("gggggg", [False], 2),
        ("bggggg", [True, False], 4),
        ("bbbbgggggggg", [True, True, False, False], 8),
        ("bgggbggg", [True, False], 4),
        ("bbbb", [True, True], 4),
        ("bbb", [True, True], 3),
        ("b", [True], 1),
        ("", [], 0),
    ],
)
def test_segments_join_until_half_do_not_reproduce(pattern, reproduced, size):
    scope = narrow(pattern)
    assert list(scope.reproduced) == reproduced
    assert len(scope.passages) == size
    assert scope.complete


@given(st.text("bg", max_size=40), st.integers(1, 6), st.integers(0, 12), st.integers(6, 30))
def test_scope_is_the_shortest_that_fulfils_the_rule(pattern, top_k, min_scope, max_scope):
    scope = narrow(pattern, top_k=top_k, max_scope=max_scope, min_scope=min_scope)
    marks = [
        "b" in pattern[i : min(i + top_k, max_scope)]
        for i in range(0, min(len(pattern), max_scope), top_k)
    ]
    expected, taken = [], 0
    for i, mark in enumerate(marks):
        expected.append(mark)
        taken = min((i + 1) * top_k, len(pattern), max_scope)
        if taken >= min_scope and 2 * sum(expected) <= len(expected):
            break
    assert list(scope.reproduced) == expected
    assert [p.text for p in scope.passages] == texts(pattern)[:taken]


def test_safety_limit_ends_the_search_and_is_told():
    scope = narrow("b" * 50, max_scope=11)
    assert len(scope.passages) == 11
    assert not scope.complete


def test_minimum_takes_in_benign_passages_to_contrast_with():
    assert len(narrow("bggggggg", min_scope=6).passages) == 6
    assert len(narrow("gggggggg", min_scope=5).passages) == 6


def test_every_passage_is_probed_once_and_pages_grow_geometrically():
    knowledge = Knowledge(texts("b" * 64 + "g" * 500))
    probe = MarkProbe()
    scope = narrow_scope(Ranking(knowledge, "q"), probe, top_k=1, max_scope=400)
    assert len(scope.passages) == 128
    asked = [text for segment in probe.asked for text in segment]
    assert asked == [p.text for p in scope.passages]
    assert len(knowledge.limits) <= 6


@pytest.mark.parametrize("texts", [["same", "SAME ", "other"], ["same", "other", "Same."]])
def test_equal_texts_count_once_where_the_first_stands(texts):
    passages = [Passage(text, id=text) for text in texts]
    ranking = Ranking(lambda query, limit: passages[:limit], "q")
    assert [p.id for p in ranking.first(2)] == ["same", "other"]
    assert [p.id for p in ranking.first(9)] == ["same", "other"]


def test_a_knowledge_base_that_ignores_the_limit_is_cut():
    ranking = Ranking(as_retrieve(lambda query, limit: [Passage(str(i)) for i in range(50)]), "q")
    assert len(ranking.first(3)) == 3


def test_plain_strings_from_retrieve_are_taken():
    ranking = Ranking(as_retrieve(lambda query, limit: ["x", "y"][:limit]), "q")
    assert ranking.first(5)[1].text == "y"


QUESTION = "Who designed the Halden bridge?"
LIE = "The Halden bridge was designed by Orla Venn."


def test_answer_probe_asks_the_model_and_compares_by_rule():
    prompts = []

    def generate(prompt):
        prompts.append(prompt)
        return "Orla Venn designed it." if LIE in prompt else "Piet Aster."

    probe = AnswerProbe(
        as_text_model(generate), None, QUESTION, "The designer was Orla Venn.", MarkProbe()
    )
    assert probe.reproduces([Passage("filler"), Passage(LIE)])
    assert not probe.reproduces([Passage("filler")])
    assert QUESTION in prompts[0]
    assert "filler" in prompts[0]


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("SAME", True), ("They differ: DIFFERENT.", False), ("I cannot tell.", True)],
)
def test_answer_probe_believes_the_judge_and_falls_back_on_the_rule(verdict, expected):
    probe = AnswerProbe(
        as_text_model(lambda prompt: "Orla Venn"),
        as_text_model(lambda prompt: verdict),
        QUESTION,
        "Orla Venn",
        MarkProbe(),
    )
    assert probe.reproduces([Passage(LIE)]) is expected


def test_answer_probe_asks_once_a_set_and_does_not_weigh_the_standing():
    prompts = []

    def generate(prompt):
        prompts.append(prompt)
        return "Orla Venn."

    probe = AnswerProbe(as_text_model(generate), None, QUESTION, "Orla Venn", MarkProbe())
    assert probe.reproduces([Passage(LIE)])
    assert probe.leads([Passage(LIE)], 0.0)
    assert len(prompts) == 1
    assert probe.leads([Passage("Another.")], 0.0)
    assert len(prompts) == 2


def test_passages_that_the_generator_refuses_are_decided_about_without_it():
    def generate(prompt):
        if "filtered" in prompt:
            raise ValueError("the content was filtered")
        return "Piet Aster"

    probe = AnswerProbe(as_text_model(generate), None, QUESTION, "Orla Venn", MarkProbe())
    assert probe.reproduces([Passage("bad and filtered")])
    assert probe.leads([Passage("bad and filtered")], 1.0)
    assert not probe.reproduces([Passage("good and filtered")])
    assert probe.silent
    assert not probe.reproduces([Passage("bad")])
    assert not probe.silent
    assert [str(error.__cause__) for error in probe.unanswered] == ["the content was filtered"] * 2
