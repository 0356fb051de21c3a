"""The group: another passage of the set does the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ragguard.inline.features import SIGNALS, group, signal_matrix
from ragguard.inline.tokens import tokenize_passage, tokenize_query

GROUP = [name for name in SIGNALS if name.startswith("group_")]
QUIET = ["Wool was sold on Mondays.", "A mill stood by the ford.", "The tide turns at noon."]

sentences = st.lists(
    st.sampled_from("pier lamp tide gull who built the of".split()), max_size=10
).map(" ".join)


def columns(query, passages):
    """Return the signals of the passages by name."""
    read = [tokenize_passage(text) for text in passages]
    return dict(zip(SIGNALS, signal_matrix(tokenize_query(query), read, len(read)).T, strict=True))


def test_group_by_hand():
    shares = np.array([[0.9, 0.0], [0.4, 0.0], [0.6, 0.3]])
    assert group(shares).tolist() == [[0.6, 0.0], [0.4, 0.0], [0.6, 0.0]]
    assert group(np.array([[0.5], [0.5]])).tolist() == [[0.5], [0.5]]
    assert group(np.array([[1.0, 0.2]])).tolist() == [[0.0, 0.0]]
    assert group(np.zeros((0, 2))).shape == (0, 2)


many_shares = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 3)),
    # Few values, so that two passages often hold the same share.
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0.0, 1.0),
)


@given(many_shares)
def test_group_is_the_smaller_of_ones_own_share_and_the_best_of_the_others(shares):
    k, m = shares.shape
    slow = [
        [
            min(shares[row, at], max(shares[other, at] for other in range(k) if other != row))
            for at in range(m)
        ]
        if k > 1
        else [0.0] * m
        for row in range(k)
    ]
    assert group(shares).tolist() == slow


@given(many_shares, st.data())
def test_another_passage_never_lowers_group(shares, data):
    added = data.draw(hnp.arrays(np.float64, shares.shape[1], elements=st.floats(0.0, 1.0)))
    assert (group(np.vstack([shares, added]))[:-1] >= group(shares)).all()


# Of a single content word the rarity does not count, so that another passage changes nothing else.
@pytest.mark.parametrize(
    "question", ["who is the pier of the who", "who is it of the pier in which the pier is"]
)
@given(st.lists(sentences, min_size=1, max_size=5), sentences)
def test_another_retrieved_passage_never_lowers_group(question, texts, added):
    texts = [*texts, f"{question} {texts[0]}"]
    before, after = columns(question, texts), columns(question, [*texts, added])
    for name in GROUP:
        assert (after[name][:-1] >= before[name]).all(), name


# What shows each signal, of this question.
QUESTION = "Who was it that built the old stone pier of the grey lamp and tide"
SHOWING = {
    "group_quote_and_restate": f"{QUESTION}. The old stone pier of the grey lamp was built",
    "group_boundary_overlap": f"{QUESTION}. The old stone pier of the grey lamp was built",
    "group_window_density": f"{QUESTION}. The old stone pier of the grey lamp was built",
    "group_unordered_window": "tide and lamp grey the of pier stone old the built that it was who",
    "group_inserted_words": (
        "the ferry who leaves twice was a day it in summer that and takes built forty minutes "
        "the to reach old the harbour stone where boats pier from over of the sea the wait for "
        "grey a change lamp of wind and then tide"
    ),
    "group_keyword_run": "tide lamp pier grey stone built old",
}


def test_every_group_signal_is_tried():
    assert list(SHOWING) == GROUP


@pytest.mark.parametrize("name", GROUP)
def test_group_is_one_other_that_does_the_same(name):
    poison = SHOWING[name]
    alone, two = columns(QUESTION, [poison, *QUIET]), columns(QUESTION, [poison, poison, *QUIET])
    assert alone[name].tolist() == [0.0] * 4
    assert two[name][0] == two[name][1] > 0.0
    assert two[name][2:].max() == 0.0
    assert two[name].tolist() == two[name.removeprefix("group_")].tolist()
    weaker = columns(QUESTION, [poison, "old stone pier of the grey lamp", *QUIET])
    assert weaker[name][0] == weaker[name][1] <= two[name][0]
