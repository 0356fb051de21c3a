"""The detectors that ship: what they are made of."""

import pytest

from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import BY_HAND, DETECTORS

EVERY = pytest.mark.parametrize("detector", DETECTORS.values(), ids=list(DETECTORS))


@EVERY
def test_every_term_is_a_known_signal_or_a_product_of_two(detector):
    assert detector.weights
    for term in detector.weights:
        assert isinstance(term, tuple)
        assert len(term) in (1, 2)
        assert set(term) <= set(SIGNALS)


@EVERY
def test_no_product_is_named_twice(detector):
    assert len({tuple(sorted(term)) for term in detector.weights}) == len(detector.weights)


@EVERY
def test_no_signal_speaks_for_a_passage(detector):
    assert min(detector.weights.values()) >= 0.0


def test_every_signal_is_heard():
    heard = {
        name
        for detector in DETECTORS.values()
        for term, weight in detector.weights.items()
        if weight > 0.0
        for name in term
    }
    assert heard == set(SIGNALS)


def test_those_set_by_hand_are_among_them_and_alone_hear_their_signal():
    fitted = {name: one for name, one in DETECTORS.items() if name not in BY_HAND}
    assert {name: DETECTORS[name] for name in BY_HAND} == BY_HAND
    assert set(fitted)
    heard = {name for one in fitted.values() for term in one.weights for name in term}
    by_hand = {name for one in BY_HAND.values() for term in one.weights for name in term}
    assert by_hand == {"prompt_injection", "gibberish"}
    assert heard.isdisjoint(by_hand)
