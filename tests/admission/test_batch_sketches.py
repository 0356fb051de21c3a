from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragguard.admission.batch import near_copies, shared, sketches, some_together, unlike

from .conftest import page


def test_shared_is_the_share_of_the_shorter_sketch():
    none = 2**32 - 1
    some = np.array([[1, 2, 3, none], [1, 2, 3, 4], [none] * 4], np.uint32)
    others = np.array([[2, 3, 9, 10], [5, 6, 7, 8], [none] * 4], np.uint32)
    assert shared(some, others).tolist() == [2 / 3, 0.0, 0.0]


def test_sketches_hold_the_lowest_fingerprints_in_order():
    read = sketches([page(1), "short"])
    assert read.shape == (2, 64)
    assert (np.diff(read[0].astype(np.int64)) > 0).sum() >= 6
    assert (read[1] == 2**32 - 1).all()


def test_near_copies_find_each_other_and_nothing_else():
    texts = [page(1), page(1).replace("roof", "door"), page(2), page(1) + " It was sold again.", ""]
    assert near_copies(sketches(texts)).tolist() == [2, 2, 0, 2, 0]


def test_of_near_copies_one_is_left():
    read = sketches([page(1), page(1), page(2), page(1), page(3)])
    assert unlike(read) == [0, 2, 4]


def test_a_thousand_equal_texts_are_compared_with_a_few():
    assert near_copies(sketches([page(1)] * 1_000)).max() == 63


@given(st.lists(st.integers(0, 5), max_size=30))
def test_owners_of_one_key_come_together_once(keys):
    found = list(some_together(np.array(keys, np.uint64), np.arange(len(keys))))
    expected = [[at for at, one in enumerate(keys) if one == key] for key in sorted(set(keys))]
    assert [one.tolist() for one in found] == [one for one in expected if len(one) > 1]
