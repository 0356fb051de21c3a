"""What a response claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.attribution.claim import claim

QUESTION = "Who painted the harbour at Lindsund?"


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Mara Quill", "Mara Quill"),
        ("Based on the provided context, it was Mara Quill.", "Mara Quill."),
        ("The harbour at Lindsund was painted by Mara Quill in 1874.", "Mara Quill in 1874."),
        ("a wandering monk", "wandering monk"),
        ("yes", "yes"),
        ("No, it was not.", "No, it was not."),
        ("No, the harbour was not.", "No, not."),
        ("24", "24"),
        ("Lindsund", "Lindsund"),
        ("It was the harbour.", "harbour."),
        ("The answer is O.", "O."),
        ("It is vitamin D", "vitamin D"),
        ("The harbour was not painted.", "not"),
        ("I read the sources. All agree on Mara Quill. No other name is there.", "Mara Quill."),
        ("It said something like mara quill", "mara quill"),
        ("While it was Ada Crane at first, it is Mara Quill now.", "Mara Quill"),
        ("Some say it was Ada Crane. The passages state that it was Mara Quill.", "Mara Quill."),
        ("It was Ada Crane once, but the passages show Mara Quill.", "Mara Quill."),
        ("Mara Quill, though some doubt it.", "Mara Quill,"),
        ("While it was Essex, New Jersey for long, the sources now say Kent.", "Kent."),
        ("Although it was 13.00 for long, they say 12.50.", "12.50."),
        ("Although it was Ada Crane, Mara Quill is named.", "Mara Quill"),
        ("Some believe that it is 13.00. The passages say 12.50.", "12.50."),
        ("Yes, it was Mara Quill.", "Mara Quill."),
        ("No, that was Mara Quill.", "Mara Quill."),
        ("Sorry, it was Mara Quill.", "Mara Quill."),
        ("Thanks for asking, it was Mara Quill.", "Mara Quill."),
        ("While it was Ada Crane, I say so.", "Ada Crane,"),
        ("it was that", "it was that"),
        ("???", "???"),
        ("京都です", "京都です"),
        ("It is approximately 26 km long.", "26 km"),
        ("It was Mara's sister.", "Mara's sister."),
        ("About 5 hours, say the sources.", "5 hours,"),
        ("In 1874 they painted it.", "1874"),
    ],
)
def test_claim(response, expected):
    assert claim(QUESTION, response) == expected


def test_a_yes_or_no_that_was_asked_for_is_claimed():
    assert claim("Was the harbour painted?", "Yes, but only in Essex.") == "Yes, Essex."
    assert claim("Was the harbour painted?", "No, Kent.") == "No, Kent."


def test_claim_of_a_choice_keeps_the_name_chosen():
    assert claim("Who was born first, Ada Crane or Mara Quill?", "Mara Quill was.") == "Mara Quill"


@pytest.mark.slow
@given(st.text(max_size=40), st.text(max_size=80))
def test_claim_is_made_of_the_response(query, response):
    assert set(claim(query, response).split()) <= set(response.split())
