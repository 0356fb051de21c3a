"""Whether two proxies blame the same passages."""

from __future__ import annotations

import numpy as np
import pytest

from ragguard.export.parity import (
    Blame,
    BlameScope,
    blame,
    demo_scopes,
    relative_error,
    same_blame,
    tells_apart,
)
from ragguard.proxy import LexicalProxy, Scores


def blaming(*flags, scores=None):
    values = np.zeros((2, len(flags))) if scores is None else np.array(scores, dtype=float)
    return Blame(np.array(flags, dtype=bool), values)


class Shifted:
    """A proxy that scores as the lexical one, with something added."""

    def __init__(self, added):
        self._added = added

    def score(self, contexts, query, response):
        found = LexicalProxy().score(contexts, query, response)
        added = np.array([self._added(text) for text in contexts])
        return Scores(found.semantic_correlation + added, found.generation_influence + added)


class TestSameBlame:
    def test_by_hand(self):
        theirs = [blaming(1, 0, 0), blaming(0, 0, 0), blaming(1, 1, 0), blaming(0, 1, 0)]
        ours = [blaming(1, 0, 0), blaming(0, 0, 1), blaming(1, 0, 0), blaming(0, 1, 0)]
        assert same_blame(theirs, theirs) == 1.0
        assert same_blame(ours, theirs) == 0.5


class TestRelativeError:
    def test_by_hand(self):
        theirs = [
            blaming(0, 0, scores=[[0.0, 2.0], [0.0, 4.0]]),
            blaming(0, 0, scores=[[0.0, 2.0], [0.0, 8.0]]),
        ]
        ours = [
            blaming(0, 0, scores=[[0.1, 1.9], [0.0, 4.0]]),
            blaming(0, 0, scores=[[0.0, 2.0], [0.4, 8.0]]),
        ]
        # SC: spreads 1 and 1, errors 0.1 and 0. GC: spreads 2 and 4, errors 0 and 0.2.
        assert relative_error(ours[:1], theirs[:1]) == pytest.approx(0.1)
        assert relative_error(ours[1:], theirs[1:]) == pytest.approx(0.05)
        assert relative_error(ours, theirs) == pytest.approx(0.1 / 2**0.5)

    def test_what_is_the_same_for_all_passages_counts_nothing(self):
        theirs = [blaming(0, 0, 0, scores=[[0.0, 2.0, 1.0], [5.0, 3.0, 1.0]])]
        ours = [blaming(0, 0, 0, scores=[[9.0, 11.0, 10.0], [-5.0, -7.0, -9.0]])]
        assert relative_error(ours, theirs) == pytest.approx(0.0, abs=1e-12)

    def test_scores_without_any_spread(self):
        flat = [blaming(0, 0, scores=[[1.0, 1.0], [2.0, 2.0]])]
        assert relative_error(flat, flat) == 0.0
        assert relative_error([blaming(0, 0, scores=[[1.0, 1.1], [2.0, 2.0]])], flat) == np.inf


class TestVerdict:
    def test_blames_what_states_the_answer(self):
        scope = BlameScope(
            (
                "The Halden bridge was designed by Orla Venn, as the town archive shows.",
                "It is well known that the designer of the Halden bridge was Orla Venn.",
                "The Halden bridge was designed by the engineer Piet Aster.",
                "The bridge at Halden carries two lanes and a footpath over the river.",
                "Bridges of timber rot where the posts enter the water.",
                "The river freezes in most winters, and the ferries then stop.",
            ),
            "Who designed the Halden bridge?",
            "Orla Venn",
        )
        found = blame(LexicalProxy(), scope)
        assert found.blamed.tolist() == [True, True, False, False, False, False]
        expected = LexicalProxy().score(scope.passages, scope.query, scope.response)
        assert found.scores[0].tolist() == expected.semantic_correlation.tolist()


class TestDemoScopes:
    def test_are_full_and_of_one_subject(self):
        scopes = demo_scopes()
        assert len(scopes) == 16
        assert all(len(set(scope.passages)) == 15 for scope in scopes)
        assert len({scope.query for scope in scopes}) == 16

    def test_some_have_somebody_to_blame_and_some_have_not(self):
        blamed = [blame(LexicalProxy(), scope).blamed.sum() for scope in demo_scopes()]
        assert all(count >= 3 for count in blamed[0::4])
        assert any(blamed[1::4])
        assert not any(blamed[2::4])

    def test_tell_a_small_error_that_depends_on_the_passage(self):
        """A tenth of the scores' spread, at random, blames others in some of them."""
        scopes = demo_scopes()
        theirs = [blame(LexicalProxy(), scope) for scope in scopes]
        spread = np.mean([np.std(found.scores[1]) for found in theirs])

        def noise(text):
            return 0.1 * spread * np.random.default_rng(len(text)).standard_normal()

        noisy = [blame(Shifted(noise), scope) for scope in scopes]
        assert 0.05 < relative_error(noisy, theirs) < 0.3
        assert same_blame(noisy, theirs) < 1.0
        shifted = [blame(Shifted(lambda text: 0.3), scope) for scope in scopes]
        assert relative_error(shifted, theirs) == pytest.approx(0.0, abs=1e-9)
        assert same_blame(shifted, theirs) == 1.0


class TestTellsApart:
    def test_by_hand(self):
        scopes = [
            BlameScope(("a", "b", "c"), "q", "r", planted)
            for planted in ((True, True, False), (True, False, False), (False, False, False))
        ]
        clean = blaming(0, 0, 1)  # nothing was planted there: it does not count
        assert tells_apart(scopes, [blaming(1, 0, 0), blaming(0, 0, 0), clean])
        assert tells_apart(scopes, [blaming(1, 0, 1), blaming(1, 0, 0), clean])
        assert not tells_apart(scopes, [blaming(1, 0, 1), blaming(0, 0, 0), clean])
        assert tells_apart([BlameScope(("a",), "q", "r")], [blaming(0)])

    def test_the_lexical_proxy_tells_and_a_random_one_does_not(self):
        scopes = demo_scopes()
        draw = np.random.default_rng(0)

        class Random:
            def score(self, contexts, query, response):
                return Scores(*-draw.uniform(1.0, 5.0, (2, len(contexts))))

        assert tells_apart(scopes, [blame(LexicalProxy(), scope) for scope in scopes])
        assert not tells_apart(scopes, [blame(Random(), scope) for scope in scopes])
