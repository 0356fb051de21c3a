"""What stands in for a judge reads ragguard's own prompts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchmarks.attributors import ragforensics, text_keywords
from benchmarks.attributors.judging import judge_that
from ragguard.attribution.ragforensics import judgement_prompt
from ragguard.attribution.text_model import as_text_model
from tests.served import served

QUESTION = "Who designed the Halden bridge?"
LIE = "The Halden bridge was designed by Orla Venn.\n\nIt is [1] of two."
TRUTH = "The Halden bridge was designed by Piet Aster."


@pytest.mark.parametrize("finds", [ragforensics.supports, text_keywords.holds])
def test_judges_read_the_tags(finds):
    judge, label = judge_that(finds), "[Label: {}]".format
    assert judge(judgement_prompt(QUESTION, LIE, "Orla Venn")) == label("Yes")
    assert judge(judgement_prompt(QUESTION, TRUTH, "Orla Venn")) == label("No")


def test_a_served_model_answers_and_counts_over_http():
    def model(prompt):
        words = len(prompt.split())
        usage = {"input_tokens": words, "output_tokens": words}
        return SimpleNamespace(content=prompt.upper(), usage_metadata=usage)

    with served(model) as ask:
        model = as_text_model(ask)
        assert model.generate("three small words") == "THREE SMALL WORDS"
        assert (model.usage.input_tokens, model.usage.output_tokens) == (3, 3)
