"""Soup: text that no person wrote, where it holds the question."""

import pytest

from ragguard.inline.features import SIGNALS, signal_matrix
from ragguard.inline.features.gibberish import unnaturalness
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.lru import forget_all

QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = ["Wool was sold on Mondays.", "A mill stood by the ford.", "The tide turns at noon."]


def first(query, passages):
    """Return the signals of the first passage that are not 0, by name."""
    read = [tokenize_passage(text) for text in passages]
    row = signal_matrix(tokenize_query(query), read, len(read))[0].tolist()
    return {name: value for name, value in zip(SIGNALS, row, strict=True) if value}


SOUP = (
    "violet senate kidney tobacco apparently drafted sofa julian theorem pencil whom striker "
    "gravel molecule thirteen canal blonde sincerely parish vector"
)


def test_soup_counts_where_it_holds_the_question():
    how_odd = unnaturalness(SOUP.split()).soup
    assert how_odd > 0.3
    assert first("senate sofa canal", [SOUP, *QUIET])["soup"] == pytest.approx(
        (how_odd - 0.3) / 0.7
    )
    # One of two words that are equally rare is half of the question, and half is not enough.
    assert "soup" not in first("senate lighthouse", [SOUP, "A lighthouse.", *QUIET])
    assert first("lighthouse pier", [SOUP, *QUIET]) == {}
    weaker = first("senate sofa canal lighthouse", [SOUP, "lighthouse", "wool"])["soup"]
    assert weaker == pytest.approx((how_odd - 0.3) / 0.7 * 0.5)


def test_how_a_passage_reads_is_found_once_until_it_is_forgotten(monkeypatch):
    calls = []

    def counted(said):
        calls.append(said)
        return unnaturalness(said)

    monkeypatch.setattr("ragguard.inline.features.gibberish.unnaturalness", counted)
    forget_all()
    for read in (1, 1):
        assert first("senate sofa", [SOUP])["soup"] > 0.0
        assert len(calls) == read
    forget_all()
    first("senate sofa", [SOUP])
    assert len(calls) == 2


def test_language_is_no_soup():
    text = (
        "The lighthouse of Marrow Bay was built in 1874, and the keeper lived there with his sons."
    )
    assert "soup" not in first(QUESTION, [text, *QUIET])
