"""Two proxies as one."""

from __future__ import annotations

import numpy as np
import pytest

from ragguard.errors import InvalidInputError
from ragguard.proxy import LexicalProxy, MixedProxy, Scores

TEXTS = ["The moss was found by Ines Varga.", "It rained in Pell.", ""]


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
    found = MixedProxy(LexicalProxy(), Lengths(), 0.25).score(
        TEXTS, "Who found the moss?", "Ines Varga"
    )
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
    MixedProxy(exact, model, 0.5).score(TEXTS, "Who found the moss?", response)
    assert model.responses == [asked]
    assert exact.responses == [response]


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "half"])
def test_a_share_out_of_range(share):
    with pytest.raises(InvalidInputError, match="share"):
        MixedProxy(LexicalProxy(), LexicalProxy(), share)


def test_what_scores_nothing():
    with pytest.raises(InvalidInputError, match="second must be an object with a method score"):
        MixedProxy(LexicalProxy(), len, 0.5)


def test_its_power_of_gains_is_the_weighted_mean():
    model = Lengths()
    model.gain_power = 0.4
    assert MixedProxy(LexicalProxy(), model, 0.25).gain_power == pytest.approx(0.85)
    assert MixedProxy(LexicalProxy(), Lengths(), 0.25).gain_power == 1.0
