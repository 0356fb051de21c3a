"""The detectors that ship: what they are made of."""

import pytest

from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import BY_HAND, DETECTORS

EVERY = pytest.mark.parametrize("detector", DETECTORS.values(), ids=list(DETECTORS))


@EVERY
def test_every_weight_is_of_a_known_signal(detector):
    assert detector.weights
    assert set(detector.weights) <= set(SIGNALS)


@EVERY
def test_no_signal_speaks_for_a_passage(detector):
    assert min(detector.weights.values()) >= 0.0


def test_every_signal_is_heard():
    heard = {
        name
        for detector in DETECTORS.values()
        for name, weight in detector.weights.items()
        if weight > 0.0
    }
    assert heard == set(SIGNALS)


def test_those_set_by_hand_are_among_them_and_alone_hear_their_signal():
    fitted = {name: one for name, one in DETECTORS.items() if name not in BY_HAND}
    assert {name: DETECTORS[name] for name in BY_HAND} == BY_HAND
    assert set(fitted)
    heard = {name for one in fitted.values() for name in one.weights}
    by_hand = {name for one in BY_HAND.values() for name in one.weights}
    assert by_hand == {"prompt_injection", "gibberish"}
    assert heard.isdisjoint(by_hand)
