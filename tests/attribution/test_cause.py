"""From suspects to blame: only with a counterfactual that agrees."""

import numpy as np
import pytest

from ragguard.attribution.cause import find_cause, suspects
from ragguard.attribution.scope import Scope
from ragguard.passage import Passage


class AnyMarked:
    """Passages lead to the response if one of them is marked."""

    def reproduces(self, passages):
        return any(p.text.startswith("bad") for p in passages)


def find(pattern, suspected, support=None, *, first=True, top_k=3):
    passages = [Passage(f"{'bad' if c == 'b' else 'good'} {i}") for i, c in enumerate(pattern)]
    scope = Scope(passages, (first, False), complete=True)
    if support is None:
        support = [float(c == "b") for c in pattern]
    return find_cause(
        scope,
        np.array(suspected, dtype=bool),
        np.array(support),
        AnyMarked(),
        top_k=top_k,
    )


def test_suspects_that_alone_explain_the_response_are_blamed():
    finding = find("bgbggg", [1, 0, 1, 0, 0, 0])
    assert finding.cause == "poisoning"
    assert finding.responsible.tolist() == [True, False, True, False, False, False]
    assert "2 of 6" in finding.reason


@pytest.mark.parametrize(
    ("pattern", "suspected", "first", "said"),
    [
        ("gggggg", [1, 0, 0, 0, 0, 0], False, "3 best passages do not lead"),
        ("bggggg", [0, 0, 0, 0, 0, 0], True, "stand apart from the rest"),
        ("bggggg", [0, 1, 0, 0, 0, 0], True, "on their own"),
        ("gggbgg", [0, 0, 0, 1, 0, 0], True, "on their own"),
    ],
)
def test_no_blame_without_counterfactual(pattern, suspected, first, said):
    finding = find(pattern, suspected, first=first)
    assert finding.cause == "unclear"
    assert not finding.responsible.any()
    assert said in finding.reason


def test_what_still_leads_to_the_response_is_blamed_too():
    finding = find("bbgbgbggg", [1, 0, 0, 0, 0, 0, 0, 0, 0])
    assert finding.responsible.tolist() == [c == "b" for c in "bbgbgbggg"]


def test_a_response_given_anyway_is_nobodys_fault():
    finding = find("bbgggg", [1, 0, 0, 0, 0, 0], support=[1.0, 0.1, 0, 0, 0, 0])
    assert finding.cause == "unclear"
    assert "too" in finding.reason
    assert not finding.responsible.any()


def test_empty_scope():
    finding = find_cause(
        Scope([], (), complete=True),
        np.zeros(0, bool),
        np.zeros(0),
        AnyMarked(),
        top_k=5,
    )
    assert finding.cause == "unclear"
    assert finding.responsible.shape == (0,)


def test_suspects_far_down_must_support_the_response_nearly_as_clearly():
    finding = find("bbgggbb", [1, 1, 0, 0, 0, 1, 1], support=[1.0, 0.8, 0, 0, 0, 0.54, 0.5])
    assert np.flatnonzero(finding.responsible).tolist() == [0, 1, 5]
    # Those that the generator saw are judged together, by the counterfactual.
    finding = find("bbgggg", [1, 1, 0, 0, 0, 0], support=[1.0, 0.3, 0, 0, 0, 0])
    assert finding.responsible.tolist() == [True, True, False, False, False, False]


def test_suspects_are_the_high_cluster_that_states_the_response():
    scores = np.array([2.0, 2.1, 1.9, -1.0, -1.1, -0.9, -1.0, -1.2])
    support = np.array([0.9, 0.1, 0.5, 0.9, 0.0, 0.0, 0.0, 0.0])
    mask, p_value = suspects(scores, support)
    assert np.flatnonzero(mask).tolist() == [0, 2]
    assert p_value < 0.01


def test_without_any_support_the_high_cluster_stays_for_the_model_to_judge():
    scores = np.array([2.0, 2.1, 1.9, -1.0, -1.1, -0.9, -1.0, -1.2])
    assert np.flatnonzero(suspects(scores, np.zeros(8))[0]).tolist() == [0, 1, 2]


def test_abstains_where_one_cluster_explains_the_scores():
    scores = np.linspace(-1.0, 1.0, 20) ** 3
    scores[[0, -1]] = 0.0
    even = np.array([-2.0, *[0.0] * 10, 2.0])
    for values in (scores, even):
        mask, p_value = suspects(values, np.r_[1.0, np.zeros(len(values) - 1)])
        assert p_value > 0.5 or not mask[:-1].all()
    mask, p_value = suspects(even, 0.3 + 0.15 * even)
    assert p_value > 0.5
    assert not mask.any()


def test_the_one_passage_that_states_the_response_is_suspected_where_scores_are_alike():
    even = np.array([-2.0, *[0.0] * 10, 2.0])
    mask, p_value = suspects(even, np.r_[1.0, np.zeros(11)])
    assert p_value > 0.5
    assert np.flatnonzero(mask).tolist() == [0]


def test_a_scope_of_nothing_but_support_is_suspected_whole():
    mask, _ = suspects(np.array([-2.0, *[0.0] * 10, 2.0]), np.ones(12))
    assert mask.all()


def test_fewer_than_four_scores_are_judged_by_support():
    mask, p_value = suspects(np.array([1.0, -1.0]), np.array([0.2, 0.9]))
    assert mask.tolist() == [False, True]
    assert p_value == 1.0
