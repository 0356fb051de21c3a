"""In any order: the densest windows of a passage."""

import pytest
import slow_signals
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.features.coverage import Match
from ragguard.inline.features.window import densest_window, window_density
from ragguard.inline.tokens import TokenizedPassage, tokenize_query

words = st.sampled_from("pier lamp tide who built the of x".split())
sentences = st.lists(words, max_size=25)
questions = st.lists(words, min_size=1, max_size=9).map(" ".join)

QUERY = tokenize_query("who built the old pier")
HALVES = {"built": 0.5, "old": 0.25, "pier": 0.25}


def read(query, said):
    return densest_window(Match(query, TokenizedPassage(tuple(said)), {}, 1.0))


def seen(text):
    return read(QUERY, text.split())


# Stretches


def test_stretches_by_hand():
    assert seen("who built the old pier") == (1.0, ("who", "built", "the", "old", "pier"))
    assert seen("x pier old the built who x") == (1.0, ("pier", "old", "the", "built", "who"))
    assert seen("x the pier x who built") == (0.8, ("the", "pier", "who", "built"))


def test_a_stretch_is_as_long_as_the_question():
    assert seen("who x built x the") == (0.6, ("who", "built", "the"))
    assert seen("who x built x x the") == (0.0, ())


def test_half_of_the_words_is_no_stretch():
    query = tokenize_query("who built the pier")
    assert read(query, "pier who".split()) == (0.0, ())
    assert read(query, "pier who the".split()) == (0.75, ("pier", "who", "the"))


def test_of_equally_dense_stretches_the_first_counts_with_its_repetitions():
    assert seen("built who built pier x x x x pier old the")[1] == (
        "built",
        "who",
        "built",
        "pier",
    )


def test_a_single_word_is_a_stretch():
    assert read(tokenize_query("pier"), ["pier"]) == (1.0, ("pier",))
    assert read(tokenize_query("pier"), []) == (0.0, ())


@given(questions, sentences)
def test_stretches_equal_their_slow_reference(question, said):
    query = tokenize_query(question)
    found = read(query, said)
    share, inside = slow_signals.windows(query.sequence, said)
    assert found == (pytest.approx(share), inside)


@given(questions, sentences, sentences)
def test_a_passage_that_quotes_the_question_has_a_stretch_of_all_of_it(question, before, after):
    query = tokenize_query(question)
    assert read(query, [*before, *query.sequence, *after])[0] == 1.0


# Dense


def density(window, counts):
    said = [word for word, count in counts.items() for _ in range(count)]
    return window_density(Match(QUERY, TokenizedPassage(tuple(said)), HALVES, 1.0), *window)


def test_dense_by_hand():
    whole = seen("who built the old pier")
    assert density(whole, {"built": 1, "old": 1, "pier": 1}) == 0.0
    # What is said again weighs a quarter, of the 0.4 that are all there is to say.
    assert density(whole, {"built": 1, "old": 1, "pier": 2}) == pytest.approx(0.25 / 0.4)
    assert density(whole, {"built": 2, "old": 1, "pier": 1}) == 1.0
    # Four of five words are a third of the way from 0.7 to 1, and hold 3/4 of the content.
    four = seen("who the pier built")
    assert four[0] == 0.8
    assert density(four, {"built": 2, "pier": 1}) == pytest.approx(1 / 3 * 0.25 / 0.5)
    assert density((0.7, four[1]), {"built": 2}) == 0.0


def test_a_stretch_that_does_not_ask_is_an_answer():
    answer = seen("the old pier built")
    assert answer[0] == 0.8
    assert density(answer, {"built": 2, "old": 2, "pier": 2}) == 0.0


@pytest.mark.parametrize(
    ("said", "dense"), [("was the old pier built", 1.0), ("the old pier was built", 0.0)]
)
def test_a_statement_turns_the_words_of_a_question_without_an_interrogative_round(said, dense):
    query = tokenize_query("was the old pier built")
    twice = TokenizedPassage((*said.split(), "x", "old", "pier", "built"))
    match = Match(query, twice, dict.fromkeys(query.content, 1 / 3), 1.0)
    assert window_density(match, *densest_window(match)) == dense


@given(questions, sentences)
def test_dense_equals_its_slow_reference(question, said):
    query = tokenize_query(question)
    weights = slow_signals.weights_of(query.sequence, [said])
    match = Match(query, TokenizedPassage(tuple(said)), weights, 1.0)
    found = window_density(match, *densest_window(match))
    slow = slow_signals.window_density(query.sequence, said, weights)
    assert found == pytest.approx(slow, abs=1e-12)
    assert 0.0 <= found <= 1.0
