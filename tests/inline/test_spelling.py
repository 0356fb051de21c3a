"""Words of the question that a passage writes with a typing error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.naturalness import language_model
from ragguard.inline.spelling import (
    LONGEST,
    SHORTEST,
    Spellings,
    deletions,
    letters_of,
    likenesses,
    respelled,
)
from ragguard.inline.words import as_meant, passage_words, query_words

LOOKS_LIKE = {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t"}
some_letters = st.text("abc134", max_size=7)


def known(*asked):
    """How some words may be written."""
    return Spellings.of(asked)


def meant(asked, *odd):
    return respelled(known(*asked), frozenset(asked), odd)


# Deletions


def test_deletions_by_hand():
    assert deletions("pier") == {"pier", "ier", "per", "pir", "pie"}
    assert deletions("aab") == {"aab", "ab", "aa"}
    assert deletions("p13r") == deletions("pier")
    assert deletions("a") == {"a", ""}
    assert deletions("") == {""}


@given(some_letters)
def test_deletions_are_the_word_and_every_string_that_one_letter_makes_the_word(word):
    letters = "".join(LOOKS_LIKE.get(letter, letter) for letter in word)
    every = {letters}
    for left_out in range(len(letters)):
        every.add("".join(letter for at, letter in enumerate(letters) if at != left_out))
    assert deletions(word) == every


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
        alike = [other for other in asked if likenesses(word) & likenesses(other)]
        assert (word in found) == (bool(alike) and word not in asked)
        assert word not in found or found[word] in alike


@given(
    st.lists(st.text("abcd1", min_size=4, max_size=7), min_size=1, max_size=3),
    st.text("abcd1", min_size=4, max_size=7),
)
def test_what_may_mean_no_word_has_no_form_in_common_with_any(asked, odd):
    # Words in a question are all letters; digits in the text are read as letters.
    asked = [letters_of(word) for word in asked]
    if any(likenesses(word) & likenesses(odd) for word in asked):
        assert known(*asked).may_mean(odd)


def test_most_words_are_told_from_the_question_by_their_edges():
    spellings = known("lighthouse", "skerrin", "harbour")
    assert [w for w in ("lihgthouse", "lxxxxxe", "zzyzx", "kerri") if spellings.may_mean(w)] == [
        "lihgthouse",
        "lxxxxxe",
        "kerri",
    ]


# Passages as they are meant

QUERY = query_words("Who built the lighthouse of Skerrin harbour?")


def as_read(text):
    """What a passage is read as by the question above."""
    return " ".join(as_meant(QUERY, passage_words(text)).sequence)


def test_a_passage_with_several_misspelt_words_is_read_as_meant():
    text = "Who bulit the lihgthouse of Skerin harbuor, the lihgthouse"
    passage = passage_words(text)
    read = as_meant(QUERY, passage)
    assert read.sequence == (
        *("who", "built", "the", "lighthouse", "of", "skerrin", "harbour", "the", "lighthouse"),
    )
    assert read.distinct == QUERY.distinct
    assert read.joined == f" {' '.join(read.sequence)} "
    assert (read.address, read.odd) == (passage.address, passage.odd)
    assert passage_words(text) == passage


@pytest.mark.parametrize(
    "text",
    [
        "",
        "wool",
        "who built the lighthouse of Skerrin harbour",
        "the lihgthouse",  # one word alone may be like another by chance
        "the lihgthouse, a ligthouse",  # both mean the same one
        "the lihgthouse zzyzx qqvvx",  # odd, but like no word of the question
        "the lighthouses, a build, the harbor",  # listed words are no typing errors
        "hwo oof teh",  # short words are all alike
    ],
)
def test_a_passage_is_left_alone_unless_it_misspells_two_words_of_the_question(text):
    passage = passage_words(text)
    assert as_meant(QUERY, passage) is passage


def test_a_question_without_longer_words_respells_nothing():
    passage = passage_words("zzyzx qqvvx pxer")
    for question in ("", "who is it", "\u6771\u4eac"):
        assert as_meant(query_words(question), passage) is passage


def test_only_words_of_some_length_are_looked_at():
    short, long = "x" * (SHORTEST - 1), "qz" * (LONGEST // 2) + "q"
    assert passage_words(f"{short} {short}x {long} {long[:-1]}").odd == {f"{short}x", long[:-1]}
    asked = query_words(f"{short} {long}")
    assert asked.spellings.forms == {}
    # A text may be one word, whose deletions would fill the memory.
    assert passage_words("zq" * 10_000).odd == frozenset()


def swapped(word, at):
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


ERRORS = [
    swapped,
    lambda word, at: word[: at + 1] + word[at:],
    lambda word, at: word[:at] + word[at + 1 :],
    lambda word, at: word[:at] + "x" + word[at + 1 :],
]


@given(st.data())
def test_one_letter_swapped_doubled_dropped_or_replaced_in_every_longer_word_changes_nothing(data):
    asked = ["who", "built", "the", "lighthouse", "of", "skerrin", "harbour"]
    written = []
    for word in asked:
        if len(word) < 5:
            written.append(word)
            continue
        error = data.draw(st.sampled_from(ERRORS))
        wrong = error(word, data.draw(st.integers(0, len(word) - 2)))
        # What is a word by itself, "harbor" for one, is no typing error.
        written.append(word if wrong in language_model().classes else wrong)
    odd = [word for word, right in zip(written, asked, strict=True) if word != right]
    assert as_read(" ".join(written)) == " ".join(asked if len(odd) > 1 else written)


@given(st.lists(st.sampled_from("the lighthouse harbour wool bulit harbuor zzyzx".split())))
def test_words_that_are_listed_or_asked_stay(said):
    read = as_read(" ".join(said)).split()
    several = {"bulit", "harbuor"} <= set(said)
    right = {"bulit": "built", "harbuor": "harbour"} if several else {}
    assert read == [right.get(word, word) for word in said]


def test_likenesses_are_the_deletions_and_the_letters_in_between_in_any_order():
    assert likenesses("pier") == deletions("pier") | {"*peir"}
    assert likenesses("lgihtohsue") & likenesses("lighthouse") == {"*lghhiostue"}
    assert letters_of("l1gh7h0u53") == "lighthouse"
    assert meant(["lighthouse"], "lgihtohsue") == {"lgihtohsue": "lighthouse"}
    # The first and the last letter stay where they are.
    assert meant(["lighthouse"], "glihtohsue") == {}
