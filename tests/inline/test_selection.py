"""Which passages go once the gate has fired."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.calibration_file import gate_threshold
from ragguard.inline.selection import (
    _ALIKE,
    _COMPANION_P,
    _COMPANION_SHARE,
    _ENOUGH,
    _LIKENESS,
    alike,
    companions,
    discoveries,
    rejected,
    select,
)

shares = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=12)


def slow_discoveries(p_values, rate):
    """Benjamini and Hochberg: the largest i with p_(i) <= i / n * rate, and all before it."""
    n = len(p_values)
    order = sorted(range(n), key=lambda index: p_values[index])
    last = max((i for i in range(1, n + 1) if p_values[order[i - 1]] <= rate * i / n), default=0)
    return set(order[:last])


def test_discoveries_by_hand():
    assert discoveries(np.array([0.01, 0.04, 0.03, 0.9]), 0.05).tolist() == [
        True,
        False,
        False,
        False,
    ]
    # 0.04 <= 0.05 * 3 / 3 takes 0.03 > 0.05 * 1 / 3 with it.
    assert discoveries(np.array([0.04, 0.03, 0.035]), 0.05).all()
    assert not discoveries(np.array([0.06, 0.9]), 0.05).any()


@given(shares, st.floats(0.01, 0.5))
def test_discoveries_equal_the_slow_reference(p_values, rate):
    marked = discoveries(np.array(p_values), rate)
    assert set(np.flatnonzero(marked)) == slow_discoveries(p_values, rate)


@pytest.mark.parametrize("n", range(1, 11))
def test_the_familywise_error_of_clean_passages_stays_below_the_rate(n):
    # With no false null hypothesis, any discovery is an error: at most `rate` of all sets.
    draws = np.random.default_rng(n).uniform(size=(2000, n))
    wrong = np.mean([discoveries(p_values, 0.05).any() for p_values in draws])
    assert wrong <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@given(shares, st.data())
def test_the_most_suspicious_goes_and_the_others_need_evidence_of_their_own(p_values, data):
    n = len(p_values)
    isolated = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    p_values = np.array(p_values)
    suspicion = -np.log(p_values) - 1.0
    marked = select(p_values, suspicion, isolated)
    found = discoveries(p_values)
    assert marked[p_values.argmin()]
    assert (marked | ~found).all()
    extra = marked & ~found
    extra[p_values.argmin()] = False
    assert (isolated | ~extra).all()
    assert (p_values[extra] <= _COMPANION_P).all()
    assert (suspicion[extra] >= _COMPANION_SHARE * suspicion.max()).all()


@given(shares, st.data())
def test_isolation_decides_on_those_that_may_join_and_on_nothing_else(p_values, data):
    n = len(p_values)
    suspicion = np.array(data.draw(st.lists(st.floats(-9.0, 9.0), min_size=n, max_size=n)))
    p_values = np.array(p_values)
    found = rejected(p_values)
    joining = companions(p_values, suspicion, found)
    assert not (found & joining).any()
    assert (select(p_values, suspicion, np.zeros(n, dtype=bool)) == found).all()
    assert (select(p_values, suspicion, np.ones(n, dtype=bool)) == found | joining).all()
    isolated = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    marked = select(p_values, suspicion, isolated)
    assert (marked[~joining] == found[~joining]).all()


def test_companions_go_only_with_one_of_their_own_group():
    p_values = np.array([0.0001, _COMPANION_P, _COMPANION_P, *[1.0] * 17])
    assert discoveries(p_values).sum() == 1
    together = np.isin(np.arange(20), [0, 1, 3])
    suspicion = np.array([10.0, 4.0, 4.0, *[-1.0] * 17])
    assert np.flatnonzero(select(p_values, suspicion, together)).tolist() == [0, 1]
    apart = np.isin(np.arange(20), [1, 2, 3])
    assert np.flatnonzero(select(p_values, suspicion, apart)).tolist() == [0]


def test_companions_go_only_if_their_evidence_is_not_much_weaker():
    p_values = np.array([0.0001, *[_COMPANION_P] * 3, *[1.0] * 16])
    suspicion = np.array([10.0, 4.0, 3.9, 9.0, *[-1.0] * 16])
    everybody = np.ones(20, dtype=bool)
    assert np.flatnonzero(select(p_values, suspicion, everybody)).tolist() == [0, 1, 3]
    # Where even the most suspicious speaks for clean, nobody is its companion.
    assert np.flatnonzero(select(p_values, suspicion - 20.0, everybody)).tolist() == [0]


@pytest.mark.parametrize("value", [0.001, 1.0])
def test_one_passage_goes_alone(value):
    assert select(np.array([value]), np.array([3.0]), np.array([False])).tolist() == [True]


# What says the same

SAID = [frozenset("abcd"), frozenset("abce"), frozenset("abxy"), frozenset("wxyz"), frozenset()]


def test_what_says_the_same_adds_to_what_a_passage_shows_itself():
    p_values, suspicion = np.full(5, 0.01), np.array([8.0, 2.5, 2.5, 2.5, 2.5])
    found = np.array([True, False, False, False, False])

    def at(line):
        return alike(p_values, suspicion, found, line, SAID.__getitem__).tolist()

    # Cosines to the first: 3/4, 2/4, 0 and none; from 0.3 on they add 3.6 nats.
    assert at(6.0) == [0, 1, 1, 0, 0]
    assert at(6.2) == [0, 0, 0, 0, 0]
    # A lower line does not make likeness say more.
    weak = np.array([8.0, 2.1, 2.25, 2.5, 2.5])
    assert alike(p_values, weak, found, 1.0, SAID.__getitem__).tolist() == [0, 0, 1, 0, 0]
    usual = np.array([0.01, 0.06, 0.05, 0.01, 0.01])
    assert alike(usual, suspicion, found, 6.0, SAID.__getitem__).tolist() == [0, 0, 1, 0, 0]


def test_half_as_alike_adds_half_as_much():
    one, other = frozenset("abcdefghijklmnop"), frozenset("abCDEFGHIJKLMNOP")
    suspicion, found = np.array([8.0, 5.0]), np.array([True, False])
    # A cosine of 2/16 adds 1.5 nats.
    for line, goes in ((6.5, True), (6.51, False)):
        marked = alike(np.full(2, 0.01), suspicion, found, line, [one, other].__getitem__)
        assert marked.tolist() == [False, goes]


def test_only_the_clearest_are_compared_with():
    """Of 30 that go the last says the same, and nobody asks it."""
    n = 31
    suspicion = np.array([*np.linspace(12.0, 9.0, n - 1), 4.0])
    found = np.arange(n) < n - 1
    said = [frozenset("xy")] * (n - 2) + [frozenset("ab")] * 2
    assert not alike(np.full(n, 0.01), suspicion, found, 5.0, said.__getitem__).any()
    said[0] = frozenset("ab")
    assert alike(np.full(n, 0.01), suspicion, found, 5.0, said.__getitem__)[-1]


def test_no_words_are_read_where_nothing_could_go():
    found = np.array([True, False])
    for p_value, suspicion in ((0.5, 3.0), (0.01, 1.0)):
        shown = np.array([0.01, p_value]), np.array([8.0, suspicion])
        assert not alike(*shown, found, 5.0, {}.__getitem__).any()


@given(shares, st.integers(0, 24), st.data())
def test_alike_against_the_formula(p_values, quarters, data):
    n, line = len(p_values), quarters / 4
    shown = data.draw(st.lists(st.integers(-12, 48), min_size=n, max_size=n))
    suspicion = np.array(shown) / 4
    words = data.draw(st.lists(st.frozensets(st.sampled_from("abcdef")), min_size=n, max_size=n))
    found = rejected(np.array(p_values))
    marked = alike(np.array(p_values), suspicion, found, line, words.__getitem__)
    for row in range(n):
        cosines = [
            len(words[row] & words[other]) / np.sqrt(len(words[row]) * len(words[other]))
            for other in np.flatnonzero(found)
            if words[row] and words[other]
        ]
        total = suspicion[row] + _LIKENESS * min(max([0.0, *cosines]), _ALIKE)
        goes = not found[row] and p_values[row] <= _COMPANION_P and total >= max(line, _ENOUGH)
        assert marked[row] == goes


def test_likeness_needs_what_the_shipped_line_is_to_a_tenth():
    line = gate_threshold(None, 0.01, 5, with_reference=False)
    assert round(line, 1) == _ENOUGH
