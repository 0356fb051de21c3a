"""How much of a question a passage speaks of, and where it makes the claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.attribution.statement import coverage, statement_coverage

QUESTION = "Who painted the harbour at Lindsund?"


def test_coverage_weighs_rare_words_and_leaves_the_claim_out():
    full, none, name, claimed = coverage(
        QUESTION,
        "Mara Quill",
        ["painted harbour lindsund", "the at who", "Lindsund", "Mara Quill"],
    )
    assert (full, none, claimed) == (1.0, 0.0, 0.0)
    assert 1 / 3 < name < 0.5
    assert coverage("who was it?", "x", ["anything", ""]).tolist() == [1.0, 1.0]
    assert (
        coverage("How many boats?", "x", ["a boat"]).tolist()
        == coverage("How many boats?", "x", ["boats"]).tolist()
    )
    assert coverage(QUESTION, "x", []).shape == (0,)


def test_a_statement_speaks_of_the_question_where_it_makes_the_claim():
    near = "Mara Quill painted the harbour at Lindsund."
    far = "The harbour at Lindsund was painted. It is wide. It is deep. Mara Quill came later."
    beside = "The harbour at Lindsund was painted. Mara Quill did it."
    silent = "The harbour at Lindsund was painted by a monk."
    together, apart, pair, without = statement_coverage(
        QUESTION, "Mara Quill", [near, far, beside, silent]
    )
    assert (together, pair, without) == (1.0, 1.0, 1.0)
    assert apart == 0.5  # all of the question as a whole, and nothing of it near the claim
    assert statement_coverage(QUESTION, "x", []).shape == (0,)


def test_a_number_among_others_of_its_kind_is_stated_in_parts():
    question = "When was the harbour at Lindsund painted?"
    texts = [
        "The harbour at Lindsund was painted in 1874.",
        "The harbour at Lindsund was drawn in 1873 and painted in 1874.",
        "The harbour at Lindsund was painted in 1874 for 20 marks.",
    ]
    whole = statement_coverage(question, "1874", texts)
    assert whole.tolist() == [1.0, 0.75, 1.0]
    assert statement_coverage(question, "May 4, 1874", texts[1:2]).tolist() == [1.0]


@pytest.mark.slow
@given(st.text(max_size=30), st.text(max_size=20), st.text(max_size=120))
def test_a_statement_covers_no_more_than_its_passage(query, claimed, text):
    stated = statement_coverage(query, claimed, [text])[0]
    assert 0.0 <= stated <= coverage(query, claimed, [text])[0] + 1e-12
