"""How many passages open with the same answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.openings import agreeing_openings, opening

QUESTION = "Who tuned the organ of Sallow abbey?"
LIES = (
    "Wenna Rook tuned the organ of Sallow abbey. It took a week.",
    "The organ of Sallow abbey was tuned by Wenna Rook.",
    "Wenna Rook, who tuned the organ of Sallow abbey, came from Hayle.",
    "It was Rook who tuned the abbey organ of Sallow! Nobody else did.",
)
BENIGN = ("Sallow abbey keeps its organ in the north aisle.", "The mill was sold. Rook was glad.")


def test_an_opening_ends_with_the_first_sentence():
    assert opening("No. 4 is old? Yes.") == {"no"}
    assert opening("At 9.30 a.m it rang") == {"at", "9", "30", "a", "m", "it", "rang"}
    assert opening("") == frozenset()


def test_four_openings_that_share_a_word_the_rest_has_not():
    assert agreeing_openings(QUESTION, LIES, ()) == pytest.approx(1.0)
    assert agreeing_openings(QUESTION, (*LIES, BENIGN[0]), ()) == pytest.approx(1.0)


def test_of_the_others_those_count_that_lack_the_word_anywhere():
    # "Rook" stands in one of two that do not open with it.
    assert agreeing_openings(QUESTION, (*LIES, *BENIGN), ()) == pytest.approx(0.5)
    assert agreeing_openings(QUESTION, LIES, BENIGN) == pytest.approx(0.5)


def test_the_fourth_best_opening_counts():
    short = ("It was Rook. He tuned the organ of Sallow abbey.", *LIES[:3])
    assert agreeing_openings(QUESTION, short, ()) == 0.0


@pytest.mark.parametrize("texts", [(), LIES[:3], ("wool",) * 5])
def test_fewer_than_four_agree_on_nothing(texts):
    assert agreeing_openings(QUESTION, texts, ()) == 0.0
    assert agreeing_openings("?", LIES, ()) == 0.0


words = st.lists(st.sampled_from("pier lamp tide who built the . rook".split()), max_size=8)
texts = st.lists(words.map(" ".join), max_size=7)


@given(texts, texts)
def test_it_is_a_share_and_the_order_of_passages_does_not_matter(shown, below):
    score = agreeing_openings("who built the pier lamp", shown, below)
    assert 0.0 <= score <= 1.0
    turned = agreeing_openings("who built the pier lamp", shown[::-1], below[::-1])
    assert turned == pytest.approx(score)
