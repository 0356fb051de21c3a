"""Which passages go once the gate has fired."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.calibration_file import gate_threshold
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import suspicions
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


def chosen(p_values, suspicion, isolated):
    """What goes where no passage would fire the gate by itself, or says what another says."""
    never = np.full(len(p_values), np.inf)
    return select(p_values, suspicion, never, never, {}.__getitem__).with_isolated(isolated)


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
    marked = chosen(p_values, suspicion, isolated)
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
    assert (chosen(p_values, suspicion, np.zeros(n, dtype=bool)) == found).all()
    assert (chosen(p_values, suspicion, np.ones(n, dtype=bool)) == found | joining).all()
    isolated = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    marked = chosen(p_values, suspicion, isolated)
    assert (marked[~joining] == found[~joining]).all()


def test_companions_go_only_with_one_of_their_own_group():
    p_values = np.array([0.0001, _COMPANION_P, _COMPANION_P, *[1.0] * 17])
    assert discoveries(p_values).sum() == 1
    together = np.isin(np.arange(20), [0, 1, 3])
    suspicion = np.array([10.0, 4.0, 4.0, *[-1.0] * 17])
    assert np.flatnonzero(chosen(p_values, suspicion, together)).tolist() == [0, 1]
    apart = np.isin(np.arange(20), [1, 2, 3])
    assert np.flatnonzero(chosen(p_values, suspicion, apart)).tolist() == [0]


def test_companions_go_only_if_their_evidence_is_not_much_weaker():
    p_values = np.array([0.0001, *[_COMPANION_P] * 3, *[1.0] * 16])
    suspicion = np.array([10.0, 4.0, 3.9, 9.0, *[-1.0] * 16])
    everybody = np.ones(20, dtype=bool)
    assert np.flatnonzero(chosen(p_values, suspicion, everybody)).tolist() == [0, 1, 3]
    # Where even the most suspicious speaks for clean, nobody is its companion.
    assert np.flatnonzero(chosen(p_values, suspicion - 20.0, everybody)).tolist() == [0]


@pytest.mark.parametrize("value", [0.001, 1.0])
def test_one_passage_goes_alone(value):
    assert chosen(np.array([value]), np.array([3.0]), np.array([False])).tolist() == [True]


def test_what_would_fire_the_gate_goes_but_takes_no_companion_along():
    p_values, suspicion = np.array([0.0001, 0.02, 0.02, 1.0]), np.array([10.0, 6.0, 5.0, -1.0])
    said = [frozenset("ab"), frozenset("cd"), frozenset("xy"), frozenset("z")]
    never = np.full(4, np.inf)
    selection = select(p_values, suspicion, np.full(4, 5.9), never, said.__getitem__)
    assert selection.found.tolist() == [True, False, False, False]
    assert selection.going.tolist() == [True, True, False, False]
    assert selection.joining.tolist() == [False, False, True, False]
    with_the_second = selection.with_isolated(np.array([False, True, True, False]))
    assert with_the_second.tolist() == [True, True, False, False]
    with_the_first = selection.with_isolated(np.array([True, False, True, False]))
    assert with_the_first.tolist() == [True, True, True, False]


def test_what_says_the_same_needs_no_more_than_is_unusual_of_a_passage():
    """The gate of a large set asks for more: one of many passages is unusual by chance."""
    p_values, suspicion = np.array([0.0001, 0.02]), np.array([10.0, 3.0])
    said, line = [frozenset("ab")] * 2, np.full(2, 8.5)
    never = np.full(2, np.inf)
    assert select(p_values, suspicion, line, never, said.__getitem__).going.tolist() == [1, 0]
    own = np.full(2, 6.4)
    assert select(p_values, suspicion, line, own, said.__getitem__).going.tolist() == [1, 1]
    assert select(p_values, suspicion, line, own + 0.1, said.__getitem__).going.tolist() == [1, 0]


# What says the same

SAID = [frozenset("abcd"), frozenset("abce"), frozenset("abxy"), frozenset("wxyz"), frozenset()]


def test_what_says_the_same_adds_to_what_a_passage_shows_itself():
    suspicion = np.array([8.0, 2.7, 2.7, 2.7, 2.7])
    found = np.array([True, False, False, False, False])

    def at(line, shown=suspicion):
        return alike(shown, found, np.full(len(shown), line), SAID.__getitem__).tolist()

    # Cosines to the first: 3/4, 2/4, 0 and none; from 0.4 on they add 3.4 nats. The fourth goes
    # with the third, which says half of what it says.
    assert at(6.0) == [0, 1, 1, 1, 0]
    assert at(6.2) == [0, 0, 0, 0, 0]
    # A lower line does not make likeness say more.
    assert at(1.0, np.array([8.0, 2.3, 2.39, 2.7, 2.7])) == [0, 0, 0, 0, 0]


def test_half_as_alike_adds_half_as_much():
    one, other = frozenset("abcdefghijklmnop"), frozenset("abCDEFGHIJKLMNOP")
    suspicion, found = np.array([8.0, 5.0]), np.array([True, False])
    # A cosine of 2/16 adds 1.0625 nats.
    for line, goes in ((6.06, True), (6.07, False)):
        assert alike(suspicion, found, np.full(2, line), [one, other].__getitem__).tolist() == [
            False,
            goes,
        ]


def test_each_further_one_that_says_the_same_adds_half_as_much():
    said = [frozenset("ab")] * 4
    suspicion, found = np.array([9.0, 8.0, 7.0, 0.1]), np.array([True, True, True, False])
    for number, nats in ((1, 3.4), (2, 5.1), (3, 5.95)):
        found = np.arange(4) < number
        shown = np.where(found, suspicion, -9.0)
        for line, goes in ((6.0, True), (6.01, False)):
            shown[3] = 6.0 - nats + 1e-9
            assert alike(shown, found, np.full(4, line), said.__getitem__)[3] == goes


def test_what_follows_takes_others_along():
    said = [frozenset("abcd"), frozenset("abxy"), frozenset("xyuv")]
    suspicion, found = np.array([8.0, 3.0, 3.0]), np.array([True, False, False])
    assert alike(suspicion, found, np.full(3, 6.0), said.__getitem__).tolist() == [
        False,
        True,
        True,
    ]
    suspicion[1] = 2.5  # it stays, and says nothing of the third
    assert not alike(suspicion, found, np.full(3, 6.0), said.__getitem__).any()


def test_what_may_spend_nothing_does_not_follow():
    said, found = [frozenset("ab")] * 3, np.array([True, False, False])
    lines = np.array([6.0, 6.0, np.inf])
    assert alike(np.array([8.0, 5.0, 5.0]), found, lines, said.__getitem__).tolist() == [0, 1, 0]


def test_likeness_does_not_suffice_by_itself():
    """A passage without any evidence of its own stays, however many say the same."""
    n = 60
    suspicion = np.full(n, suspicions(np.zeros((1, len(SIGNALS))))[0])
    found = np.arange(n) < n - 1
    suspicion[found] = 20.0
    said = [frozenset("ab")] * n
    assert not alike(suspicion, found, np.zeros(n), said.__getitem__).any()


def test_only_the_clearest_are_compared_with():
    """Of 30 that go the last says the same, and nobody asks it."""
    n = 31
    suspicion = np.array([*np.linspace(12.0, 9.0, n - 1), 4.0])
    found = np.arange(n) < n - 1
    said = [frozenset("xy")] * (n - 2) + [frozenset("ab")] * 2
    assert not alike(suspicion, found, np.full(n, 5.0), said.__getitem__).any()
    said[0] = frozenset("ab")
    assert alike(suspicion, found, np.full(n, 5.0), said.__getitem__)[-1]


def test_a_chain_of_likeness_reads_each_passage_once_and_ends():
    """Each says half of what the one before says: none is compared with more than 20."""
    n, read, compared = 300, [], []

    class Said(frozenset):
        def __and__(self, other):
            compared.append(len(other))
            return frozenset(self) & frozenset(other)

    def words(row):
        read.append(row)
        return Said(range(10 * row, 10 * row + 20))

    suspicion = np.where(np.arange(n) < 1, 20.0, 2.5)
    marked = alike(suspicion, np.arange(n) < 1, np.full(n, 5.8), words)
    assert np.flatnonzero(marked).tolist() == list(range(1, 21))
    assert sorted(read) == list(range(n))
    assert len(compared) <= 20 * n


def test_no_words_are_read_where_nothing_could_go():
    found = np.array([True, False])
    assert not alike(np.array([8.0, -1.1]), found, np.full(2, 5.0), {}.__getitem__).any()


@given(st.data())
def test_whatever_else_goes_takes_nobody_out(data):
    """Decoys about other things must not save a text that says what one that goes says."""
    n = data.draw(st.integers(2, 12))
    suspicion = np.array(data.draw(st.lists(st.integers(-2, 9), min_size=n, max_size=n)), float)
    words = data.draw(st.lists(st.frozensets(st.sampled_from("abcdef")), min_size=n, max_size=n))
    found = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    found[0] = True
    more = found | np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    line = np.full(n, 6.0)
    few, many = (one | alike(suspicion, one, line, words.__getitem__) for one in (found, more))
    assert (many | ~few).all()


@given(st.integers(0, 24), st.data())
def test_alike_against_the_formula(quarters, data):
    n, line = data.draw(st.integers(1, 12)), quarters / 4
    shown = data.draw(st.lists(st.integers(-12, 48), min_size=n, max_size=n))
    suspicion = np.array(shown) / 4
    words = data.draw(st.lists(st.frozensets(st.sampled_from("abcdef")), min_size=n, max_size=n))
    found = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    found[data.draw(st.integers(0, n - 1))] = True
    marked = alike(suspicion, found, np.full(n, line), words.__getitem__)
    gone = set(np.flatnonzero(found).tolist())
    more = set(gone)
    while more:
        more = set()
        for row in set(range(n)) - gone:
            cosines = [
                len(words[row] & words[other]) / np.sqrt(len(words[row]) * len(words[other]))
                for other in gone
                if words[row] and words[other]
            ]
            total = suspicion[row]
            for place, one in enumerate(sorted(cosines, reverse=True)):
                total += _LIKENESS * min(one, _ALIKE) / 2**place
            if total >= max(line, _ENOUGH):
                more.add(row)
        gone |= more
    assert set(np.flatnonzero(marked).tolist()) == gone - set(np.flatnonzero(found).tolist())


def test_likeness_needs_what_the_shipped_line_is_to_a_tenth():
    line = gate_threshold(None, 0.01, 5, with_reference=False)
    assert round(line, 1) == _ENOUGH
