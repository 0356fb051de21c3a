"""Folding and tokenisation: what a person reads is what the signals read."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.text import MAX_CHARS, STOP_WORDS, encodable, fold, split_words, tokens

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("disguised", "read"),
    [
        ("\uff37\uff48\uff4f", "who"),  # full width
        ("w\u0332h\u0332o\u0332", "who"),  # combining low lines
        ("wh\u200bo", "who"),  # zero-width space
        ("w\u00adho", "who"),  # soft hyphen
        ("\u202ewho\u202c", "who"),  # direction overrides
        ("r\u00e9sum\u00e9", "resume"),
        ("\u0440\u0430ris", "paris"),  # Cyrillic er and a
        ("\u03c1\u03b1ris", "paris"),  # Greek rho and alpha
        ("\u0420\u0410RIS", "paris"),  # Cyrillic capitals
        ("\U0001d41e\U0001d42f\U0001d422\U0001d425", "evil"),  # mathematical bold
        ("\u24d4vil", "evil"),  # circled letter
        ("o\ufb03ce", "office"),  # ligature
        ("\u0130stanbul", "istanbul"),  # dotted capital I
    ],
)
def test_disguised_letters_are_read_as_a_person_reads_them(disguised, read):
    assert tokens(disguised) == [read]


def test_tokens_are_words_and_numbers_in_order():
    assert tokens("In 1874, the Marrow-Light's 2nd lamp_oil!") == (
        "in 1874 the marrow light s 2nd lamp oil".split()
    )
    assert tokens("") == tokens(" \n\t.,;") == []
    assert tokens("\u6771\u4eac \u0645\u0631\u062d\u0628\u0627") == [
        "\u6771\u4eac",
        "\u0645\u0631\u062d\u0628\u0627",
    ]


@pytest.mark.parametrize("separator", ["\x00", "\x07", "\x7f", "\x85", "\ud800", "\ue000"])
def test_control_characters_and_lone_surrogates_part_words(separator):
    assert tokens(f"one{separator}two") == ["one", "two"]
    assert tokens(f"one{separator}tw\u00f6") == ["one", "two"]


def test_of_a_long_text_both_ends_are_read():
    text = "begin " + "x" * MAX_CHARS + " end"
    words = tokens(text)
    assert words[0] == "begin"
    assert words[-1] == "end"
    assert sum(map(len, words)) <= MAX_CHARS
    whole = "word " * (MAX_CHARS // 5)
    assert len(tokens(whole)) == MAX_CHARS // 5


@given(ANY_TEXT)
def test_folding_any_text_leaves_no_disguise(text):
    folded = fold(text)
    assert folded == folded.lower()
    categories = {unicodedata.category(character) for character in folded if ord(character) > 127}
    assert categories.isdisjoint({"Mn", "Me", "Cf", "Cs", "Co", "Cn", "Lu", "Lt"})


@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(st.lists(ANY_TEXT))
def test_tokens_of_texts_joined_by_a_space_are_the_tokens_of_each(texts):
    assert tokens(" ".join(texts)) == [word for text in texts for word in tokens(text)]


@given(ANY_TEXT)
def test_every_token_is_a_token_by_itself(text):
    assert all(tokens(word) == [word] for word in tokens(text))


@given(st.text())
def test_upper_case_reads_like_lower_case(text):
    assert tokens(text.lower()) == tokens(text)


@given(ANY_TEXT)
def test_encodable_text_is_utf_8_and_keeps_its_length(text):
    clean = encodable(text)
    assert len(clean) == len(text)
    assert clean.encode("utf-8").decode("utf-8") == clean
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert clean == text


def test_stop_words_are_tokens():
    assert all(tokens(word) == [word] for word in STOP_WORDS)
    assert {"the", "of", "who", "s"} <= STOP_WORDS


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_ascii_is_split_as_any_other_text(text):
    assert split_words(text) == re.findall(r"[^\W_]+", text)
