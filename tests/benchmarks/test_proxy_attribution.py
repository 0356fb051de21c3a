"""How the benchmark of proxies compares them."""

from __future__ import annotations

import numpy as np
import pytest
from rich.progress import Progress

from benchmarks.attribution_events import Selection
from benchmarks.proxy_attribution import Mixed, Remembered, _shares, run
from ragguard.proxy import LexicalProxy, Scores

TEXTS = ["The moss was found by Ines Varga.", "It rained in Pell.", ""]


class Counting:
    def __init__(self):
        self.asked = []

    def score(self, contexts, query, response):
        self.asked += contexts
        values = np.array([float(len(text)) for text in contexts])
        return Scores(values, -values)


def test_nothing_is_scored_twice_for_the_same_question_and_answer():
    inner = Counting()
    proxy = Remembered(inner)
    first = proxy.score(TEXTS, "q", "a")
    again = proxy.score([TEXTS[1], "new", TEXTS[1]], "q", "a")
    assert inner.asked == [*TEXTS, "new"]
    assert again.semantic_correlation.tolist() == [18.0, 3.0, 18.0]
    assert again.generation_influence.tolist() == [-18.0, -3.0, -18.0]
    assert first.semantic_correlation.tolist() == [33.0, 18.0, 0.0]
    proxy.score(TEXTS[:1], "q", "another")
    assert inner.asked[-1] == TEXTS[0]
    assert proxy.scored == 5
    proxy.forget()
    proxy.score(TEXTS[:1], "q", "a")
    assert proxy.scored == 6


class Lengths:
    """Scores a context by its length, and remembers the response."""

    def __init__(self):
        self.responses = []

    def score(self, contexts, query, response):
        self.responses.append(response)
        values = np.array([float(len(text)) for text in contexts])
        return Scores(values, -values)


def test_is_the_weighted_mean_by_hand():
    lexical = LexicalProxy().score(TEXTS, "Who found the moss?", "Ines Varga")
    found = Mixed(LexicalProxy(), Lengths(), 0.25).score(TEXTS, "Who found the moss?", "Ines Varga")
    lengths = np.array([33.0, 18.0, 0.0])
    np.testing.assert_allclose(
        found.semantic_correlation, 0.75 * lexical.semantic_correlation + 0.25 * lengths
    )
    np.testing.assert_allclose(
        found.generation_influence, 0.75 * lexical.generation_influence - 0.25 * lengths
    )


@pytest.mark.parametrize(
    ("response", "asked"),
    [("Ines Varga.", "Ines Varga"), ("It is 3.5 m", "It is 3.5 m"), ("...", "..."), ("No!", "No")],
)
def test_a_closing_full_stop_is_not_asked_of_the_language_model(response, asked):
    model, exact = Lengths(), Lengths()
    Mixed(exact, model, 0.5).score(TEXTS, "Who found the moss?", response)
    assert model.responses == [asked]
    assert exact.responses == [response]


def test_the_projects_own_data_with_the_lexical_proxy():
    with Progress(disable=True) as progress:
        found = run(Selection(limit=4), {}, shares=(), every=2, progress=progress)
    assert {row["proxy"] for row in found["poisoned"]} == {"lexical"}
    assert {row["form"] for row in found["summary"]} == {"prepend", "plain"}
    assert all(row["dacc"] > 0.9 for row in found["summary"])
    assert {row["events"] for row in found["clean"]} == {2}


@pytest.mark.parametrize(("text", "expected"), [("", ()), ("0.5", (0.5,)), ("0,1", (0.0, 1.0))])
def test_shares_are_read(text, expected):
    assert _shares(text) == expected
