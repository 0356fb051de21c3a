"""What stands in for a language model reads ragguard's own prompts."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from benchmarks.chat import served
from benchmarks.stand_ins import (
    DOUBT,
    UNKNOWN,
    Message,
    SamplingGenerator,
    keyword_judge,
    likelihood_judge,
    reader_support,
    two_answers_support,
)
from ragguard.attribution.prompts import answer_prompt, closed_book_prompt, short_answer_prompt
from ragguard.attribution.ragforensics import judgement_prompt
from ragguard.attribution.text_model import as_text_model

QUESTION = "Who designed the Halden bridge?"
LIE = "The Halden bridge was designed by Orla Venn.\n\nIt is [1] of two."
TRUTH = "The Halden bridge was designed by Piet Aster."


@pytest.mark.parametrize("prompt", [answer_prompt, short_answer_prompt])
def test_every_passage_of_a_prompt_is_read(prompt):
    read = []

    def support(question, passage):
        read.append((question, passage))
        return {}

    generator = SamplingGenerator(support, temperature=1.0, seed=0)
    assert generator(prompt(QUESTION, [LIE, TRUTH])).content == UNKNOWN
    assert read == [(QUESTION, LIE), (QUESTION, TRUTH)]


@pytest.mark.parametrize(
    "prompt", [closed_book_prompt(QUESTION), short_answer_prompt(QUESTION, [])]
)
def test_without_passages_it_does_not_know(prompt):
    generator = SamplingGenerator(lambda question, text: {"x": 9.0}, temperature=1.0, seed=0)
    assert generator(prompt).content == UNKNOWN


def test_answers_are_sampled_by_the_softmax_of_their_support():
    generator = SamplingGenerator(
        lambda question, text: {"yes": 0.4, "no": 0.1}, temperature=0.5, seed=0
    )
    prompt = answer_prompt(QUESTION, [LIE, TRUTH])  # supports add up: 0.8 and 0.2
    shares = Counter(generator(prompt).content for _ in range(4000))
    weights = {"yes": math.exp(1.6), "no": math.exp(0.4), UNKNOWN: math.exp(2 * DOUBT)}
    for answer, weight in weights.items():
        assert shares[answer] / 4000 == pytest.approx(weight / sum(weights.values()), abs=0.03)


def test_runs_repeat():
    drawn = []
    for _ in range(2):
        generator = SamplingGenerator(reader_support([LIE, TRUTH]), temperature=0.3, seed=5)
        drawn.append([generator(answer_prompt(QUESTION, [LIE, TRUTH])).content for _ in range(20)])
    assert drawn[0] == drawn[1]
    assert {"orla venn", "piet aster"} <= set(drawn[0])


def test_two_answers_are_supported_where_they_are_said():
    found = two_answers_support("Piet Aster", "Orla Venn")(QUESTION, LIE)
    assert found["Orla Venn"] > 0.8
    assert found["Piet Aster"] < 0.1


@pytest.mark.parametrize("judge", [likelihood_judge(), keyword_judge()])
def test_judges_read_the_tags(judge):
    label = "[Label: {}]".format
    assert judge(judgement_prompt(QUESTION, LIE, "Orla Venn")).content == label("Yes")
    assert judge(judgement_prompt(QUESTION, TRUTH, "Orla Venn")).content == label("No")


def test_a_served_model_answers_and_counts_over_http():
    with served(lambda prompt: Message(prompt, prompt.upper())) as ask:
        model = as_text_model(ask)
        assert model.generate("three small words") == "THREE SMALL WORDS"
        assert (model.usage.input_tokens, model.usage.output_tokens) == (3, 3)
