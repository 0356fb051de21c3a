from __future__ import annotations

import numpy as np

from ragguard import Passage
from ragguard.admission.base import Base
from ragguard.admission.batch import Batch, bursts, edge_hashes, sketches

from .conftest import ANSWERS, ASKED, PLANTED, page


def counted(texts):
    return bursts(edge_hashes(texts), sketches(texts)).tolist()


def test_different_texts_that_begin_alike_are_a_burst():
    assert counted([*PLANTED, page(1), page(2)]) == [4, 4, 4, 4, 1, 1]


def test_those_that_end_alike_are_one_too():
    texts = [f"{answer} {ASKED}?" for answer in ANSWERS[:3]]
    assert counted([*texts, page(4)]) == [3, 3, 3, 1]


def test_copies_of_one_page_are_none():
    assert counted([page(1), page(1) + " And more.", page(1)]) == [1, 1, 1]


def test_short_texts_are_none():
    assert counted(["one two", "one two", ""]) == [1, 1, 1]
    assert counted([]) == []


def answered(texts, manner):
    batch = Batch.of([Passage(text) for text in texts])
    batch.profile[:, 0] = manner
    return batch.signs(Base(200, 0.0, 1.0))["answered"]


def test_a_text_is_judged_by_its_own_manner_and_by_how_many_begin_like_it():
    said = Batch.of([Passage(text) for text in PLANTED]).column("answered")
    assert (said > 0.5).all()
    for at, text in enumerate(PLANTED):
        assert answered([text], 3.0).tolist() == [3.0 + said[at]]
    assert answered(PLANTED, 3.0).tolist() == (3.0 + 2.0 * said).tolist()


def test_how_others_are_written_neither_clears_a_text_nor_blames_a_page():
    decoys = [f"{ASKED}? Here is {page(number)}" for number in range(8)]
    alone = answered(PLANTED[:1], 3.0)[0]
    assert (answered([PLANTED[0], *decoys], [3.0] + [-9.0] * 8)[0]) >= alone
    honest = f"{ASKED}? The old lamp at Skerrin had its roof mended, {page(5)}"
    one = answered([honest], -0.5)[0]
    assert np.isfinite(one)
    # Three planted beside it: a burst of four, which is what they can do.
    assert answered([honest, *PLANTED[:3]], [-0.5, 9.0, 9.0, 9.0])[0] <= one + 1.0
