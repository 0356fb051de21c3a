"""Plurals and numbers in words are counted as one word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.proxy import LexicalProxy
from ragguard.stems import stem, stems, stems_of, tokenize, words_of


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("boat boats", "boat"),
        ("butterfly butterflies", "butterfly"),
        ("church churches", "church"),
        ("box boxes", "box"),
        ("2 two second", "2"),
        ("20 twenty", "20"),
    ],
)
def test_forms_of_one_word(words, expected):
    assert {stem(word) for word in words.split()} == {expected}


@pytest.mark.parametrize("word", ["glass", "virus", "tennis", "gas", "is", "ies", "7s", ""])
def test_words_that_are_no_plural_stay(word):
    assert stem(word) == word


@given(st.text(st.characters(codec="ascii", categories=["Ll"]), max_size=12))
def test_a_stem_begins_the_word_unless_it_is_a_number(word):
    found = stem(word)
    assert found.isdigit() or word.startswith(found.removesuffix("y"))


@given(st.text(max_size=60))
def test_as_many_stems_as_words(text):
    assert len(stems(text)) == len(tokenize(text))


@given(st.lists(st.text(max_size=60), max_size=4))
def test_several_texts_are_read_as_each_by_itself(texts):
    assert words_of(texts) == [tokenize(text) for text in texts]
    assert stems_of(texts) == [stems(text) for text in texts]


def test_the_lexical_proxy_reads_stems():
    ours = LexicalProxy().score(["2 butterfly species"], "how many species?", "two butterflies")
    theirs = LexicalProxy().score(["two butterfly species"], "how many species?", "2 butterflies")
    assert ours.generation_influence.tolist() == theirs.generation_influence.tolist()


def test_of_thai_three_letters_in_a_row_are_a_word() -> None:
    # By single letters every Thai text would hold nearly all of any other.
    assert tokenize("\u0e1a\u0e23\u0e2d\u0e19\u0e04 12.5 pier") == [
        "\u0e1a\u0e23\u0e2d",
        "\u0e23\u0e2d\u0e19",
        "\u0e2d\u0e19\u0e04",
        "12.5",
        "pier",
    ]
    assert tokenize("\u0e2a\u0e2d\u0e07 \u0e43\u0e19") == ["\u0e2a\u0e2d\u0e07", "\u0e43\u0e19"]
