"""The words of a passage and of a question."""

from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.words import passage_words, query_words
from ragguard.text import STOP_WORDS, tokens

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_a_passage_by_hand():
    read = passage_words("The pier, the PIER!")
    assert read.sequence == ("the", "pier", "the", "pier")
    assert read.distinct == {"the", "pier"}
    assert read.joined == " the pier the pier "
    assert passage_words("").joined.strip() == ""


def test_a_question_by_hand():
    read = query_words("Who built the pier, the pier?")
    assert read.sequence == ("who", "built", "the", "pier", "the", "pier")
    assert read.content == ("built", "pier")
    assert query_words("Who is it?").content == ("who", "is", "it")
    assert query_words("?").content == ()


@given(ANY_TEXT)
def test_any_text(text):
    read, asked = passage_words(text), query_words(text)
    assert list(read.sequence) == list(asked.sequence) == tokens(text)
    assert read.distinct == asked.distinct == set(read.sequence)
    assert read.joined.split() == list(read.sequence)
    assert len(set(asked.content)) == len(asked.content)
    assert bool(asked.content) == bool(asked.sequence)
    assert asked.distinct <= STOP_WORDS or STOP_WORDS.isdisjoint(asked.content)
