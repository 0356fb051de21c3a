"""Key words in a row: content words without what parts them in a sentence."""

from typing import NamedTuple

import pytest
import slow_signals
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.features.coverage import Match
from ragguard.inline.features.keyword_stuffing import keyword_stuffing_signals
from ragguard.inline.tokens import TokenizedPassage, tokenize_query

words = st.sampled_from("pier lamp tide gulls who the of s x".split())
sentences = st.lists(words, max_size=15)
questions = st.lists(words, min_size=1, max_size=12).map(" ".join)

# Six content words; three pairs are parted by function words, "marrow bay" and "bay built" are not.
QUERY = tokenize_query("Who was the keeper of the lighthouse in Marrow Bay built by the Cranes?")


class KeywordRuns(NamedTuple):
    bigrams: float
    at_boundary: float


def runs(query, text, *, english=True):
    passage = TokenizedPassage(tuple(text.split() if isinstance(text, str) else text))
    weights = dict.fromkeys(query.content, 1 / len(query.content))
    found = keyword_stuffing_signals(Match(query, passage, weights, 1.0, english=english))
    return KeywordRuns(found.get("keyword_bigrams", 0.0), found.get("keywords_at_boundary", 0.0))


def test_the_question_of_these_tests():
    assert QUERY.content == ("keeper", "lighthouse", "marrow", "bay", "built", "cranes")
    assert QUERY.parted == {
        ("keeper", "lighthouse"),
        ("lighthouse", "marrow"),
        ("built", "cranes"),
    }


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        # In order: three pairs that the question parts are all there is to say, one is nothing.
        ("x keeper lighthouse marrow bay built cranes x", 1.0),
        ("x keeper lighthouse marrow x", 0.5),
        ("x keeper lighthouse x", 0.0),
        # Names and terms stand side by side in the question too.
        ("x marrow bay built x", 0.0),
        ("x keeper lighthouse x lighthouse marrow x built cranes x", 0.0),
        # Not in another order.
        ("x cranes built bay marrow x", 0.0),
        ("x bay marrow lighthouse x", 0.0),
        ("x bay keeper cranes marrow x", 0.0),
        ("x bay marrow x", 0.0),
        # Said twice is one pair, and a word beside itself none.
        ("x marrow marrow bay bay x", 0.0),
        ("x bay marrow bay marrow bay x", 0.0),
        # The longest row  counts.
        ("x keeper lighthouse marrow x cranes built bay marrow x", 0.5),
        ("x", 0.0),
        ("", 0.0),
    ],
)
def test_runs_by_hand(text, parted):
    assert runs(QUERY, text) == KeywordRuns(pytest.approx(parted), 0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("keeper lighthouse marrow bay built cranes x", 1.0),
        ("x keeper lighthouse marrow bay built cranes", 1.0),
        ("keeper lighthouse marrow bay built cranes", 1.0),
        ("x keeper lighthouse marrow bay built cranes x", 0.0),
        # Four of six words, of which half says nothing and nine tenths say all.
        ("lighthouse marrow bay built x", (4 / 6 - 0.5) / 0.4),
        ("x bay built cranes keeper", (4 / 6 - 0.5) / 0.4),
        ("lighthouse marrow bay x", 0.0),
        # One pair that the question has not it must have.
        ("marrow bay built x", 0.0),
        ("keeper", 0.0),
    ],
)
def test_runs_at_a_boundary_by_hand(text, expected):
    assert runs(QUERY, text).at_boundary == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Two pairs at a boundary are half of three, and one is what any order of clauses has.
        ("built cranes keeper lighthouse marrow x", (5 / 6 - 0.5) / 0.4),
        ("keeper lighthouse marrow bay x", 0.5 * (4 / 6 - 0.5) / 0.4),
        ("lighthouse marrow bay built x", 0.0),
    ],
)
def test_runs_at_a_boundary_where_function_words_are_unknown(text, expected):
    assert runs(QUERY, text, english=False).at_boundary == pytest.approx(expected)
    assert runs(QUERY, text).at_boundary > 0.0


def test_few_key_words_at_a_boundary_say_less():
    assert runs(tokenize_query("who is the keeper of the pier"), "keeper pier x").at_boundary == (
        pytest.approx(2 / slow_signals.FEW_KEYS)
    )
    three = tokenize_query("the keeper of the pier of the town")
    assert runs(three, "keeper pier town x").at_boundary == pytest.approx(
        min(1.0, 3 / slow_signals.FEW_KEYS)
    )


def test_a_question_of_one_key_word_has_no_row():
    assert runs(tokenize_query("who is the keeper"), "keeper keeper keeper") == KeywordRuns(
        0.0, 0.0
    )


@given(questions, sentences)
def test_runs_equal_their_slow_reference(question, said):
    query = tokenize_query(question)
    found = runs(query, said)
    slow = slow_signals.keyword_runs(query.sequence, said)
    expected = [slow["keyword_bigrams"], slow["keywords_at_boundary"]]
    assert list(found) == pytest.approx(expected)
    assert min(found) >= 0.0
    assert max(found) <= 1.0


@given(questions)
def test_the_question_itself_has_no_row(question):
    # Whatever stands side by side in it stands so in the question.
    query = tokenize_query(question)
    assert runs(query, query.sequence) == KeywordRuns(0.0, 0.0)
