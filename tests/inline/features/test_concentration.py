"""Concentration, by hand and against its formula."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.features.concentration import concentration
from ragguard.inline.features.coverage import Match
from ragguard.inline.features.manner import CONCENTRATION, manner_signals, shipped
from ragguard.inline.tokens import tokenize_passage, tokenize_passages, tokenize_query

WORDS = st.lists(st.sampled_from("pier lamp keeper harbour tower bell the of".split()), max_size=6)


def of(*texts):
    first, *rest = tokenize_passages(texts)
    return concentration(first, (first, *rest))


def test_it_is_the_mean_cosine_to_the_others():
    # Of two content words each, one is shared with the second, none with the third.
    assert of("The pier, the lamp", "A pier of iron", "It rained") == pytest.approx(0.25)


def test_copies_of_a_text_are_no_others():
    assert of("pier lamp", "pier lamp", "rain") == 0.0


def test_of_a_long_list_the_first_count():
    far = [f"rain {n}" for n in range(8)]
    assert of("pier lamp", *far, "lamp pier", "pier, lamp") == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    "texts", [("pier",), ("", "pier"), ("the of", "pier"), ("pier", "", "the")]
)
def test_what_has_no_words_or_no_company_is_alone(texts):
    assert of(*texts) == 0.0


def test_it_adds_to_manner_what_is_said_of_it():
    """A text that is written as planted ones are is the more suspicious, the more others agree."""
    text = "The old pier of Norhaven was built by the renowned engineer Ada Thornbury in 1874."
    query = tokenize_query("who built the old pier of norhaven")
    passage = tokenize_passage(text)
    others = tokenize_passages([f"{text} It stands {where}." for where in ("here", "there", "yet")])
    found = [
        manner_signals(Match(query, passage, {}, 1.0, 0.35, retrieved))["manner"]
        for retrieved in ((), (passage, *others))
        if manner_signals(Match(query, passage, {}, 1.0, 0.35, retrieved))
    ]
    assert found[-1] > 0.0
    alone = found[0] if len(found) == 2 else 0.0
    assert found[-1] - alone <= CONCENTRATION * 9 / 12 / 10.5 + 1e-9  # of nine content words
    assert found[-1] > alone


def test_a_text_of_few_content_words_shares_them_by_chance():
    query = tokenize_query("who built the old pier of norhaven")
    # Seven content words.
    short = "The old pier of Norhaven was built by the renowned Ada Thornbury."
    retrieved = tokenize_passages([short, *[f"{short} {n}" for n in "123"]])
    match = Match(query, retrieved[0], {}, 1.0, 0.35, retrieved)
    nats = shipped().of(retrieved[0]) + 2.0 * 7 / 8 + 2.5 * 7 / 8 + 3.0 * 7 / 12
    assert manner_signals(match)["manner"] == pytest.approx((nats - 4.5) / 10.5)


@given(WORDS, st.lists(WORDS, max_size=6))
def test_against_the_formula(own, others):
    texts = [" ".join(own), *[" ".join(other) for other in others]]
    sets = [set(words) - {"the", "of"} for words in (own, *others)]
    cosines = [
        len(sets[0] & other) / sqrt(len(sets[0]) * len(other)) if sets[0] and other else 0.0
        for other, text in zip(sets[1:], texts[1:], strict=True)
        if text != texts[0]
    ]
    expected = sum(cosines) / len(cosines) if cosines else 0.0
    assert of(*texts) == pytest.approx(expected)
    assert 0.0 <= of(*texts) <= 1.0
