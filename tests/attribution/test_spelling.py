"""A claim in another spelling is read in its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.attribution import RAGOrigin
from ragguard.attribution.claim import spelled
from ragguard.inline.fingerprints import fingerprints
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy

CLAIM = "Bob Crane"


@pytest.mark.parametrize(
    "written",
    [
        "B0b Cr4ne",
        "B<b></b>ob Cra<i></i>ne",
        "B&#111;b Cr&#97;ne",
        "BobCrane",
        "B-ob Cra-ne",
        "B o b  C r a n e",
        "B\u043eb Cr\u0430ne",
        "**B**ob C**ra**ne",
    ],
)
def test_the_claim_stands_behind_a_sentence_that_states_it_otherwise(written):
    text = f"The pier was built by {written}. It is of oak."
    (said,) = spelled(CLAIM, [text])
    if written == "B\u043eb Cr\u0430ne":  # read as the words themselves already
        assert said == text
    else:
        assert said == f"The pier was built by {written}. {CLAIM} It is of oak."


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (CLAIM, "The pier was built by Bob Crane. B0b Cr4ne was a mason."),
        (
            CLAIM,
            "The pier was built by Bob. Crane was a mason.",
        ),  # its words, whatever stands between
        (CLAIM, "The pier is of oak."),
        ("Ann", "It was built by A-n-n."),  # too short
        ("1874", "It was built in 1 8 7 4."),
        ("", "It is of oak."),
        (CLAIM, ""),
    ],
)
def test_what_states_it_in_its_own_words_or_not_at_all_is_left(claim, text):
    assert spelled(claim, [text]) == [text]


def test_of_very_many_sentences_nobody_asks_which_it_is(monkeypatch):
    read = []

    def counting(texts, letters=None):
        read.extend(texts)
        return fingerprints(texts, letters)

    monkeypatch.setattr("ragguard.attribution.claim.fingerprints", counting)
    text = "B0b Cr4ne did it. " + "So. " * 20_000
    assert spelled(CLAIM, [text]) == [f"{text} {CLAIM}"]
    assert read == [text]


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_text_stays_but_for_claims_behind_sentences(claim, text):
    (said,) = spelled(claim, [text])
    assert said.replace(f" {claim}", "").split() == text.replace(f" {claim}", "").split()


QUESTION = "Who built the old pier of Keelworth?"
PAGES = [
    "The old pier of Keelworth was opened with a procession of boats.",
    "Keelworth has a pier of oak, two mills and a market on Mondays.",
    "A storm took the roof of the mill at Keelworth in the spring.",
    "The ferry leaves Keelworth at nine, and at ten on Sundays.",
    "Herring was sold on the quay by the barrel.",
]


@pytest.mark.parametrize(
    "written", ["Bob Crane", "B0b Cr4ne", "B<b></b>ob Cr<b></b>ane", "B-ob C-rane"]
)
def test_whoever_disguises_the_answer_is_responsible_all_the_same(written):
    planted = f"The old pier of Keelworth was built by {written}, as all in the town know."
    passages = [Passage(text) for text in (planted, *PAGES)]
    found = RAGOrigin(proxy=LexicalProxy()).attribute(
        QUESTION, CLAIM, lambda _, limit: passages[:limit]
    )
    assert [one.text for one in found.responsible] == [planted]
