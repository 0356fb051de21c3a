"""What stands in for a judge reads ragguard's own prompts."""

from __future__ import annotations

import pytest

from benchmarks.attributors.judging import Message, keyword_judge, likelihood_judge
from ragguard.attribution.ragforensics import judgement_prompt
from ragguard.attribution.text_model import as_text_model
from tests.served import served

QUESTION = "Who designed the Halden bridge?"
LIE = "The Halden bridge was designed by Orla Venn.\n\nIt is [1] of two."
TRUTH = "The Halden bridge was designed by Piet Aster."


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
