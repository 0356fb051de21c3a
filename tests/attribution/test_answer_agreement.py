"""When two answers claim the same."""

import pytest

from ragguard.attribution.answer_agreement import answers_agree

HARBOUR = "Who painted the harbour at Lindsund?"
QUESTION = "Who designed the Halden bridge?"


@pytest.mark.parametrize(
    ("answer", "response", "expected"),
    [
        ("Mara Quill painted it.", "Mara Quill", True),
        ("Mara Quill", "It was painted by Mara Quill, they say.", True),
        ("Ada Crane", "Mara Quill", False),
        ("Yes.", "yes, it is", True),
        ("Yes.", "No.", False),
        ("I'm sorry, I cannot answer that.", "I can not provide false information", True),
        ("I don't know.", "Mara Quill", False),
        ("Mara", "tamara", False),
    ],
)
def test_answers_agree(answer, response, expected):
    assert answers_agree(HARBOUR, answer, response) is expected
    assert answers_agree(HARBOUR, response, answer) is expected


def test_a_short_answer_stands_in_a_long_response_where_no_name_is_asked_for():
    query = "What does the mill of Kell grind?"
    long = "By an old custom the mill of Kell, which the council leases, is said to grind barley."
    assert answers_agree(query, "Barley", long)
    assert not answers_agree(query, "Barley", "The mill of Kell grinds oats, not barley.")
    assert not answers_agree(QUESTION, "In 1921.", "In 1921 it was designed by Orla Venn.")


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        ("Orla Venn", "The designer was Orla Venn, in 1921."),
        ("Orla Venn", "In 1921 it was designed by Orla Venn."),
        ("It was Orla Venn.", "It was Orla Venn, not Piet Aster."),
        ("Not Piet Aster but Orla Venn.", "Orla Venn"),
        ("Orla Venn, I am told.", "Orla Venn"),
        ("I do not know.", "The passages do not mention it."),
        ("I have no information about that.", "I'm sorry, I cannot answer that."),
        ("There is not enough information.", "I cannot answer that."),
    ],
)
def test_answers_agree_on_what_was_asked(answer, response):
    assert answers_agree(QUESTION, answer, response)


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        ("Piet Aster designed it.", "It was Orla Venn, not Piet Aster."),
        ("Piet Aster designed it.", "Not Piet Aster but Orla Venn."),
        ("Piet Aster.", "It was designed by Orla Venn and not by Piet Aster, as is often said."),
        ("It was Orla Venn, not Piet Aster.", "Piet Aster"),
        ("Piet Aster didn't design it.", "Piet Aster"),
        ("It was designed in 1921.", "Orla Venn designed it in 1921."),
        ("It was designed in 1921.", "In 1921 Orla Venn designed it."),
        ("It was designed in 1921.", "Orla Venn, in 1921."),
        ("It was designed in Halden.", "The bridge of Halden was designed by Orla Venn."),
        ("It was designed a long time ago.", "Orla Venn designed it a long time ago."),
        ("I'm sorry, I do not know.", "Orla Venn designed it, and cannot be sorry."),
    ],
)
def test_answers_with_a_shared_detail_do_not_agree(answer, response):
    assert not answers_agree(QUESTION, answer, response)


def test_answers_agree_on_the_number_that_was_asked_for():
    question = "When was the Halden bridge designed?"
    assert answers_agree(question, "In 1921.", "Orla Venn designed it in 1921.")
    assert not answers_agree(question, "Orla Venn designed it.", "Orla Venn designed it in 1921.")


def test_answers_without_end_are_compared_in_linear_time():
    # Otherwise this takes hours, which the suite's limit ends.
    text = " ".join(f"It was not Harbour {n}." for n in range(20_000))
    assert not answers_agree(QUESTION, text, "Orla Venn")
    assert not answers_agree(QUESTION, "Orla Venn", text)
