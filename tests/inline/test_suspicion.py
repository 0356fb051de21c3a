"""How signals add up to a suspicion, and what the gate makes of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ragguard.inline.signals import SIGNALS
from ragguard.inline.suspicion import BIAS, contributions, nonconformity, suspicions

matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.just(len(SIGNALS))),
    elements=st.floats(0.0, 1.0),
)


def test_no_signal_leaves_the_bias():
    assert suspicions(np.zeros((3, len(SIGNALS)))).tolist() == [BIAS] * 3


@given(matrices)
def test_contributions_and_the_bias_sum_to_the_suspicion(signals):
    added = contributions(signals)
    assert added.shape == signals.shape
    assert (added >= 0.0).all()
    assert added.sum(axis=1) + BIAS == pytest.approx(suspicions(signals))


@given(matrices, st.data())
def test_no_signal_speaks_for_a_passage(signals, data):
    row = data.draw(st.integers(0, len(signals) - 1))
    column = data.draw(st.integers(0, len(SIGNALS) - 1))
    stronger = signals.copy()
    stronger[row, column] = data.draw(st.floats(signals[row, column], 1.0))
    assert suspicions(stronger)[row] >= suspicions(signals)[row] - 1e-12


@given(matrices)
def test_a_set_is_as_suspicious_as_its_most_suspicious_passage(signals):
    suspicion = suspicions(signals)
    assert nonconformity(suspicion) == max(suspicion)


def test_what_speaks_to_the_model_alone_raises_suspicion():
    signals = np.zeros((1, len(SIGNALS)))
    signals[0, SIGNALS.index("address")] = 1.0
    assert suspicions(signals)[0] > BIAS
    assert contributions(signals)[0].argmax() == SIGNALS.index("address")
