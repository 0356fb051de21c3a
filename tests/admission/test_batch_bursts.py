from __future__ import annotations

from ragguard.admission.batch import bursts, edge_hashes, sketches

from .conftest import ANSWERS, ASKED, PLANTED, page


def counted(texts):
    return bursts(edge_hashes(texts), sketches(texts))[0].tolist()


def test_texts_of_one_burst_have_one_number():
    texts = [*PLANTED, page(1), page(2)]
    _, burst = bursts(edge_hashes(texts), sketches(texts))
    assert len(set(burst[:4].tolist())) == 1
    assert len(set(burst.tolist())) == 3


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
