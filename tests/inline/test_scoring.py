"""How signals add up to a suspicion, and what the gate makes of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ragguard.inline.calibration_file import default_calibration
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import (
    _REPETITION,
    _WAYS,
    BY_HAND,
    DETECTORS,
    EXPECTED,
    SCORER,
    Detector,
    Scorer,
    contributions,
    nonconformity,
    repeating,
    suspicions,
)

matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.just(len(SIGNALS))),
    # Mostly nothing, as in clean traffic, and ties.
    elements=st.sampled_from([0.0, 0.0, 0.5, 1.0]) | st.floats(0.0, 1.0),
)
LARGEST_BIAS = max(detector.bias for detector in DETECTORS.values())

TWO = {
    "one": Detector(-1.0, {"verbatim_at_boundary": 2.0}),
    "other": Detector(0.5, {"prompt_injection": 4.0, "gibberish": 1.0}),
}


def signals_of(**strengths):
    """One passage with the given signals and no others."""
    row = np.zeros((1, len(SIGNALS)))
    for name, strength in strengths.items():
        row[0, SIGNALS.index(name)] = strength
    return row


def slow_scores(row, detectors=DETECTORS):
    """What every detector says of one passage: the sum from its definition."""
    return [
        detector.bias
        + sum(weight * row[SIGNALS.index(name)] for name, weight in detector.weights.items())
        for detector in detectors.values()
    ]


def slow_contributions(row):
    """What each signal adds to the most suspicious detector."""
    scores = slow_scores(row)
    deciding = list(DETECTORS.values())[int(np.argmax(scores))]
    added = dict.fromkeys(SIGNALS, 0.0)
    for name, weight in deciding.weights.items():
        added[name] = weight * row[SIGNALS.index(name)]
    return list(added.values())


def deciding_bias(row):
    """The bias of the detector that decides."""
    return list(DETECTORS.values())[int(np.argmax(slow_scores(row)))].bias


# Layout


def test_the_layout_by_hand():
    laid = Scorer(TWO)
    boundary, address, soup = (
        SIGNALS.index(name) for name in ("verbatim_at_boundary", "prompt_injection", "gibberish")
    )
    assert laid.columns.tolist() == [boundary, address, soup]
    assert laid.weights.tolist() == [2.0, 4.0, 1.0]
    assert laid.starts.tolist() == [0, 1]
    assert laid.biases.tolist() == [-1.0, 0.5]
    assert laid.owner.tolist() == [0, 1, 1]


def test_scores_by_hand():
    laid = Scorer(TWO)
    rows = np.vstack(
        [
            signals_of(),
            signals_of(verbatim_at_boundary=1.0),
            signals_of(prompt_injection=0.5, gibberish=0.5),
        ]
    )
    assert laid.scores(rows).tolist() == [[-1.0, 0.5], [1.0, 0.5], [-1.0, 3.0]]
    assert laid.suspicions(rows).tolist() == [0.5, 1.0, 3.0]


def test_no_passages_have_no_suspicions():
    assert Scorer(TWO).suspicions(np.zeros((0, len(SIGNALS)))).shape == (0,)
    assert suspicions(np.zeros((0, len(SIGNALS)))).shape == (0,)
    assert contributions(np.zeros((0, len(SIGNALS)))).shape == (0, len(SIGNALS))


detectors = st.dictionaries(
    st.text(max_size=3),
    st.builds(
        Detector,
        st.floats(-5.0, 5.0),
        st.dictionaries(st.sampled_from(SIGNALS), st.floats(0.0, 9.0), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=4,
)


@given(detectors, matrices)
def test_the_layout_of_any_detectors_says_what_they_say(some, signals):
    laid = Scorer(some)
    slow = np.array([slow_scores(row, some) for row in signals])
    assert laid.scores(signals) == pytest.approx(slow)
    assert laid.suspicions(signals) == pytest.approx(slow.max(axis=1))


# The shipped detectors

WAYS = set(DETECTORS) - set(BY_HAND) - {"manner"}  # of carrying the question


def test_no_signal_leaves_the_largest_bias():
    assert suspicions(np.zeros((3, len(SIGNALS)))).tolist() == [LARGEST_BIAS] * 3
    assert not contributions(np.zeros((3, len(SIGNALS)))).any()
    beside = np.vstack([signals_of(), signals_of(prompt_injection=1.0)])
    assert suspicions(beside)[0] == LARGEST_BIAS


@given(matrices)
def test_a_passage_is_as_suspicious_as_its_most_suspicious_detector_says(signals):
    slow = [max(slow_scores(row)) for row in signals]
    assert suspicions(signals) == pytest.approx(slow)


@given(matrices)
def test_repetition_says_less_where_it_is_to_be_expected(signals):
    lowered = {
        name: Detector(detector.bias - EXPECTED * (name in WAYS), detector.weights)
        for name, detector in DETECTORS.items()
    }
    slow = [max(slow_scores(row, lowered)) for row in signals]
    expected = np.ones(len(signals), dtype=bool)
    found = suspicions(signals, expected)
    assert found == pytest.approx(slow)
    assert (found <= suspicions(signals)).all()
    for row, added, suspicion in zip(signals, contributions(signals, expected), found, strict=True):
        biases = [
            detector.bias
            for detector, score in zip(lowered.values(), slow_scores(row, lowered), strict=True)
            if score == pytest.approx(suspicion)
        ]
        assert any(added.sum() + bias == pytest.approx(suspicion) for bias in biases)


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_what_repeats_nothing_speaks_as_much_whatever_is_expected(name):
    spoken = signals_of(**{name: 1.0})
    assert suspicions(spoken, np.ones(1, dtype=bool)) == suspicions(spoken)


@given(matrices)
def test_contributions_are_those_of_the_detector_that_decided(signals):
    added = contributions(signals)
    assert added.shape == signals.shape
    assert (added >= 0.0).all()
    assert not added[signals == 0.0].any()
    biases = np.array([deciding_bias(row) for row in signals])
    assert added.sum(axis=1) + biases == pytest.approx(suspicions(signals))
    for row, own in zip(signals, added, strict=True):
        top = sorted(slow_scores(row))[-2:]
        if top[1] - top[0] > 1e-9:  # else either of two detectors may decide
            assert own == pytest.approx(slow_contributions(row))


@given(matrices, st.data())
def test_no_signal_speaks_for_a_passage(signals, data):
    row = data.draw(st.integers(0, len(signals) - 1))
    column = data.draw(st.integers(0, len(SIGNALS) - 1))
    stronger = signals.copy()
    stronger[row, column] = data.draw(st.floats(signals[row, column], 1.0))
    after, before = suspicions(stronger), suspicions(signals)
    assert after[row] >= before[row] - 1e-12
    assert np.delete(after, row) == pytest.approx(np.delete(before, row))


@given(matrices)
def test_a_set_is_as_suspicious_as_its_most_suspicious_passage(signals):
    suspicion = suspicions(signals)
    assert nonconformity(suspicion) == max(suspicion)


# Against the shipped calibration

SHIPPED = [
    default_calibration(size, with_reference=reference)
    for size in (5, 10, 20, 50)
    for reference in (False, True)
]


def test_the_shipped_calibration_is_of_these_detectors():
    assert [calibration.scorer for calibration in SHIPPED] == [SCORER] * 8
    for calibration in SHIPPED:
        # A set without any signal is far from every alpha in use. What it scores differs between
        # the folds of the calibration, each with offsets of its own, so its p-value is not near 1.
        assert calibration.p_value(LARGEST_BIAS, calibration.size) > 0.2


@pytest.mark.parametrize("name", sorted(BY_HAND))
@pytest.mark.parametrize("calibration", SHIPPED, ids=lambda one: f"{one.size}-{one.with_reference}")
def test_a_signal_that_no_data_shows_fires_alone(name, calibration):
    at_full = float(suspicions(signals_of(**{name: 1.0}))[0])
    assert at_full >= calibration.threshold(0.01, calibration.size)
    assert calibration.p_value(at_full, calibration.size) <= 0.01


@pytest.mark.parametrize("calibration", SHIPPED, ids=lambda one: f"{one.size}-{one.with_reference}")
def test_half_an_address_does_not_fire_alone(calibration):
    at_half = float(suspicions(signals_of(prompt_injection=0.5))[0])
    assert at_half < calibration.threshold(0.01, calibration.size)


def test_what_speaks_to_the_model_alone_raises_suspicion():
    spoken = signals_of(prompt_injection=1.0)
    assert suspicions(spoken)[0] > LARGEST_BIAS
    assert contributions(spoken)[0].argmax() == SIGNALS.index("prompt_injection")


def test_repeating_is_what_has_a_signal_of_a_way_to_carry_the_question():
    rows = [
        signals_of(),
        signals_of(manner=1.0, gibberish=1.0, prompt_injection=1.0),
        signals_of(verbatim_question=0.1),
        signals_of(keywords_at_boundary=1.0, manner=1.0),
    ]
    assert repeating(np.vstack(rows)) == [2, 3]
    # Nothing is to be looked up where no way leads.
    assert repeating(np.vstack([signals_of(verbatim_question=0.1)])) == []


def test_the_ways_and_their_signals_come_first():
    ways = [name for name in DETECTORS if name not in BY_HAND and name != "manner"]
    assert list(DETECTORS)[:_WAYS] == ways
    theirs = {one for way in ways for one in DETECTORS[way].weights} - {"manner"}
    assert set(SIGNALS[:_REPETITION]) == theirs


@given(matrices)
def test_what_is_expected_matters_nowhere_if_repetition_makes_nothing_more_suspicious(signals):
    if not repeating(signals):
        expected = np.ones(len(signals), dtype=bool)
        assert (suspicions(signals, expected) == suspicions(signals)).all()
        assert (contributions(signals, expected) == contributions(signals)).all()
