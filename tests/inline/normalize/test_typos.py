"""Words of the question that a passage writes with a typing error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.class_bigram import LONGEST, SHORTEST
from ragguard.inline.normalize import typos
from ragguard.inline.normalize.leet import letters_of
from ragguard.inline.normalize.typos import (
    Spellings,
    deletions,
    one_letter_off,
    respell,
    respelled,
    spellings_of,
    symspell_keys,
)
from ragguard.inline.tokens import tokenize_passage, tokenize_query

LOOKS_LIKE = {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t"}
some_letters = st.text("abc134", max_size=7)


def known(*asked):
    """How some words may be written."""
    return Spellings(asked)


def meant(asked, *odd):
    return respelled(known(*asked), frozenset(asked), odd)


# Deletions


def test_deletions_by_hand():
    assert set(deletions("pier")) == {"pier", "ier", "per", "pir", "pie"}
    assert set(deletions("aab")) == {"aab", "ab", "aa"}
    assert deletions("p13r") == deletions("pier")
    assert set(deletions("a")) == {"a", ""}
    assert set(deletions("")) == {""}


@given(some_letters)
def test_deletions_are_the_word_and_every_string_that_one_letter_makes_the_word(word):
    letters = "".join(LOOKS_LIKE.get(letter, letter) for letter in word)
    every = {letters}
    for left_out in range(len(letters)):
        every.add("".join(letter for at, letter in enumerate(letters) if at != left_out))
    assert set(deletions(word)) == every


# Respelled


@pytest.mark.parametrize(
    "odd",
    [
        "lihgthouse",  # swapped with the next
        "lightthouse",  # doubled
        "lighthuse",  # left out
        "ighthouse",
        "lighthous",
        "lighthousex",  # put in
        "xlighthouse",
        "lighzhouse",  # replaced
        "l1ghthouse",
        "1ighth0u5e",  # digits for letters, and one of them is read as another letter
    ],
)
def test_one_letter_does_not_hide_a_word(odd):
    assert meant(["lighthouse"], odd) == {odd: "lighthouse"}


@pytest.mark.parametrize("odd", ["lighthousexy", "lghthous", "xighthousx", "house", "lighthouse"])
def test_two_letters_do_and_a_word_is_no_misspelling_of_itself(odd):
    assert meant(["lighthouse"], odd) == {}


def test_of_several_words_the_one_as_long_is_meant():
    assert meant(["pier", "piers"], "pierz") == {"pierz": "piers"}
    assert meant(["pier"], "pierz") == {"pierz": "pier"}
    # Both as long: the first of the alphabet, where they do not share the form itself.
    assert meant(["pirr", "pier"], "pxer") == {"pxer": "pier"}
    # A form that they share is the last one's.
    assert meant(["lamp", "tamp"], "xamp") == {"xamp": "tamp"}
    assert meant(["tamp", "lamp"], "xamp") == {"xamp": "lamp"}


words = st.sampled_from(["pier", "piers", "lamp", "tide", "tied", "gulls"])


@given(
    st.lists(words, min_size=1, max_size=4, unique=True),
    st.lists(st.text("piedlamst", min_size=4, max_size=6)),
)
def test_whatever_has_a_form_in_common_with_a_word_is_respelled(asked, odd):
    found = meant(asked, *odd)
    for word in odd:
        alike = [other for other in asked if symspell_keys(word) & symspell_keys(other)]
        assert (word in found) == (bool(alike) and word not in asked)
        assert word not in found or found[word] in alike


@given(
    st.lists(st.text("abcd1", min_size=4, max_size=7), min_size=1, max_size=3),
    st.text("abcd1", min_size=4, max_size=7),
)
def test_what_may_mean_no_word_has_no_form_in_common_with_any(asked, odd):
    # Words in a question are all letters; digits in the text are read as letters.
    asked = [letters_of(word) for word in asked]
    if any(symspell_keys(word) & symspell_keys(odd) for word in asked):
        assert known(*asked).candidates([odd]) == [odd]


def test_most_words_are_told_from_the_question_by_their_edges():
    spellings = known("lighthouse", "skerrin", "harbour")
    odd = ["lihgthouse", "lxxxxxe", "zzyzx", "kerri"]
    assert spellings.candidates(odd) == ["lihgthouse", "lxxxxxe", "kerri"]


def test_only_words_of_some_length_are_looked_at():
    short, long = "x" * (SHORTEST - 1), "qz" * (LONGEST // 2) + "q"
    assert tokenize_passage(f"{short} {short}x {long} {long[:-1]}").oov == {
        f"{short}x",
        long[:-1],
    }
    asked = tokenize_query(f"{short} {long}")
    assert spellings_of(asked).forms == {}
    # A text may be one word, whose deletions would fill the memory.
    assert tokenize_passage("zq" * 10_000).oov == frozenset()


def test_likenesses_are_the_deletions_and_the_letters_in_between_in_any_order():
    assert symspell_keys("pier") == set(deletions("pier")) | {"*peir"}
    assert symspell_keys("lgihtohsue") & symspell_keys("lighthouse") == {"*lghhiostue"}
    assert letters_of("l1gh7h0u53") == "lighthouse"
    assert meant(["lighthouse"], "lgihtohsue") == {"lgihtohsue": "lighthouse"}
    # The first and the last letter stay where they are.
    assert meant(["lighthouse"], "glihtohsue") == {}


def test_longer_words_that_are_not_listed_are_odd():
    assert tokenize_passage("The lihgthouse, a lighthouse, qzx, p1er, 1874 and 1874qz").oov == {
        "lihgthouse",
        "p1er",
        "1874qz",
    }
    assert tokenize_passage("").oov == frozenset()


def test_the_spellings_of_a_question_lead_to_its_longer_words():
    spellings = spellings_of(tokenize_query("who saw the pier lamps")).forms
    assert {form for form, word in spellings.items() if word == "pier"} == {
        *("pier", "ier", "per", "pir", "pie", "*peir"),
    }
    assert set(spellings.values()) == {"pier", "lamps"}
    # A form of several words is that of the last.
    assert spellings_of(tokenize_query("tamp lamp")).forms["amp"] == "lamp"


def test_a_word_is_compared_with_those_like_it_and_not_with_all_that_follow_one_word(monkeypatch):
    """Or each word behind "the" would cost as much as the question has words behind "the"."""
    compared = []
    monkeypatch.setattr(
        typos, "one_letter_off", lambda *pair: compared.append(pair) or one_letter_off(*pair)
    )
    asked = [f"{first}{second}lamern" for first in "bcdfghklmn" for second in "aeiou"]
    query = tokenize_query(" ".join(f"the {word}" for word in asked))
    said = ["the", "water", "the", "stone", "the", asked[0][:-2] + "nr"] * 100
    passage = tokenize_passage(" ".join([asked[1][1:], asked[2][1:], *said]))
    assert respell(query, [passage])[0] is not passage
    assert len(compared) <= len(said)
