"""Strewn in: words of the question that the passage reads better without."""

import numpy as np
import pytest
import slow_signals
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.class_bigram import SHAPES, UNITS, WordClasses
from ragguard.inline.features import insertion
from ragguard.inline.features.coverage import Match
from ragguard.inline.features.insertion import inserted_share
from ragguard.inline.tokens import TokenizedPassage, tokenize_query

VOCABULARY = "who built the old pier of lamp was in harbour zzyzx 1874 \u6771\u4eac".split()
words = st.sampled_from(VOCABULARY)
sentences = st.lists(words, max_size=20)
questions = st.lists(words, min_size=1, max_size=8).map(" ".join)


def share(query, said):
    return inserted_share(Match(query, TokenizedPassage(tuple(said)), {}, 1.0))


# Share, by a model of the words a, b and x


@pytest.fixture
def small_model(monkeypatch):
    """A model in which x is 2 nats odd after a, a 1 nat odd after x, and "a a" as language is."""
    classes = WordClasses({"a": SHAPES, "b": SHAPES + 1, "x": SHAPES + 2})
    nats = {("a", "x"): 2, ("x", "a"): 1, ("a", "a"): 0, ("b", "x"): -8, ("x", "b"): -8}
    odd = np.zeros(256 * 256, dtype=np.int32)
    for (first, second), value in nats.items():
        odd[classes[first] + 256 * classes[second]] = value * UNITS
    model = type("Model", (), {"classes": classes, "oddness": odd})()
    monkeypatch.setattr(insertion, "class_bigram", lambda: model)


@pytest.mark.usefixtures("small_model")
def test_the_share_by_hand():
    query = tokenize_query("x y")
    # Three nats are more than the one that says all there is to say: one word of two.
    assert share(query, "a x a".split()) == 0.5
    # A gain of 0 is two of the three nats between a word that fits and one that does not.
    assert share(query, "q x q".split()) == pytest.approx(2 / 3 / 2)
    # One that fits best of all saves nothing.
    assert share(query, "b x b".split()) == 0.0
    assert share(query, "a a".split()) == share(query, []) == 0.0


@pytest.mark.usefixtures("small_model")
def test_of_several_places_the_one_where_it_fits_least_counts_less():
    query = tokenize_query("x y")
    assert share(query, "b x b a x a".split()) == pytest.approx(1 / 1.25 / 2)
    assert share(query, "b x b a x a x".split()) == pytest.approx(1 / 1.5 / 2)


@pytest.mark.usefixtures("small_model")
def test_beside_its_neighbour_of_the_question_a_word_is_quoted():
    query = tokenize_query("x y z")
    assert share(query, "a x y a".split()) == 0.0
    # The other way round neither is: x saves one nat, and without y two more would be lost.
    assert share(query, "a y x a".split()) == pytest.approx(1 / 3)
    # A quoted place is no place that does not fit, but one more place.
    assert share(query, "x y a x a".split()) == pytest.approx(1 / 1.25 / 3)


@pytest.mark.usefixtures("small_model")
def test_at_an_edge_a_word_has_a_neighbour_that_says_nothing():
    query = tokenize_query("x y")
    assert share(query, ["x"]) == pytest.approx(2 / 3 / 2)
    # After a: two nats of its own, and a gain of 1 is enough.
    assert share(query, "a x".split()) == 0.5
    assert share(query, "x b".split()) == 0.0


# By the shipped model


def test_words_strewn_into_a_text_fit_less_than_those_of_a_sentence():
    query = tokenize_query("who built the old pier of the harbour")
    natural = "the ferry leaves the harbour and the old pier twice a day and it was built in summer"
    strewn = (
        "the ferry who leaves twice built a day the in old summer it pier takes of forty harbour"
    )
    assert share(query, strewn.split()) > 2 * share(query, natural.split())
    assert share(query, "who built the old pier of the harbour".split()) == 0.0


@given(questions, sentences)
def test_the_share_equals_its_slow_reference(question, said):
    query = tokenize_query(question)
    found = share(query, said)
    assert found == pytest.approx(slow_signals.inserted_share(query.sequence, said))
    assert 0.0 <= found <= 1.0
