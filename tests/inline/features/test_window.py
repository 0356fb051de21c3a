"""In any order: the densest windows of a passage."""

from collections import Counter

import pytest
import slow_signals
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.features.window import Windows, window_density, windows
from ragguard.inline.tokens import tokenize_query

words = st.sampled_from("pier lamp tide who built the of x".split())
sentences = st.lists(words, max_size=25)
questions = st.lists(words, min_size=1, max_size=9).map(" ".join)

QUERY = tokenize_query("who built the old pier")
HALVES = {"built": 0.5, "old": 0.25, "pier": 0.25}


def read(query, said):
    return windows(query, [(at, word) for at, word in enumerate(said) if word in query.distinct])


def seen(text):
    return read(QUERY, text.split())


# Stretches


def test_stretches_by_hand():
    assert seen("who built the old pier") == Windows(1.0, ("who", "built", "the", "old", "pier"))
    assert seen("x pier old the built who x") == Windows(
        1.0, ("pier", "old", "the", "built", "who")
    )
    assert seen("x the pier x who built") == Windows(0.8, ("the", "pier", "who", "built"))


def test_a_stretch_is_as_long_as_the_question():
    assert seen("who x built x the") == Windows(0.6, ("who", "built", "the"))
    assert seen("who x built x x the") == Windows(0.0, ())


def test_half_of_the_words_is_no_stretch():
    query = tokenize_query("who built the pier")
    assert read(query, "pier who".split()) == Windows(0.0, ())
    assert read(query, "pier who the".split()) == Windows(0.75, ("pier", "who", "the"))


def test_of_equally_dense_stretches_the_first_counts_with_its_repetitions():
    assert seen("built who built pier x x x x pier old the").words == (
        "built",
        "who",
        "built",
        "pier",
    )


def test_a_single_word_is_a_stretch():
    assert read(tokenize_query("pier"), ["pier"]) == Windows(1.0, ("pier",))
    assert read(tokenize_query("pier"), []) == Windows(0.0, ())


@given(questions, sentences)
def test_stretches_equal_their_slow_reference(question, said):
    query = tokenize_query(question)
    found = read(query, said)
    share, inside = slow_signals.windows(query.sequence, said)
    assert found == Windows(pytest.approx(share), inside)


@given(questions, sentences, sentences)
def test_a_passage_that_quotes_the_question_has_a_stretch_of_all_of_it(question, before, after):
    query = tokenize_query(question)
    assert read(query, [*before, *query.sequence, *after]).share == 1.0


# Dense


def test_dense_by_hand():
    whole = seen("who built the old pier")
    assert window_density(QUERY, whole, {"built": 1, "old": 1, "pier": 1}, HALVES) == 0.0
    # What is said again weighs a quarter, of the 0.4 that are all there is to say.
    assert window_density(QUERY, whole, {"built": 1, "old": 1, "pier": 2}, HALVES) == pytest.approx(
        0.25 / 0.4
    )
    assert window_density(QUERY, whole, {"built": 2, "old": 1, "pier": 1}, HALVES) == 1.0
    # Four of five words are a third of the way from 0.7 to 1, and hold 3/4 of the content.
    four = seen("who the pier built")
    assert four.share == 0.8
    assert window_density(QUERY, four, {"built": 2, "pier": 1}, HALVES) == pytest.approx(
        1 / 3 * 0.25 / 0.5
    )
    assert window_density(QUERY, Windows(0.7, four.words), {"built": 2}, HALVES) == 0.0


def test_a_stretch_that_does_not_ask_is_an_answer():
    answer = seen("the old pier built")
    assert answer.share == 0.8
    assert window_density(QUERY, answer, {"built": 2, "old": 2, "pier": 2}, HALVES) == 0.0


@given(questions, sentences)
def test_dense_equals_its_slow_reference(question, said):
    query = tokenize_query(question)
    weights = slow_signals.weights_of(query.sequence, [said])
    counts = Counter(word for word in said if word in query.distinct)
    found = window_density(query, read(query, said), counts, weights)
    slow = slow_signals.window_density(query.sequence, said, weights)
    assert found == pytest.approx(slow, abs=1e-12)
    assert 0.0 <= found <= 1.0
