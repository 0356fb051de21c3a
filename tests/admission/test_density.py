from __future__ import annotations

import numpy as np
import pytest

from ragguard.admission.density import density


def unit(rows):
    rows = np.asarray(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def words(*sets):
    """Return sketches: sets of numbers that stand for fingerprints."""
    none = 2**32 - 1
    return np.array([sorted(one) + [none] * (8 - len(one)) for one in sets], np.uint32)


def test_density_is_the_mean_similarity_to_those_with_other_words():
    rows = unit([[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    read = words({1, 2, 3}, {4, 5, 6}, {7, 8, 9})
    assert density(rows, read).tolist() == pytest.approx([0.5, 0.5, 0.0])


def test_texts_that_share_a_fifth_of_their_words_do_not_count():
    rows = unit([[1, 0], [1, 0], [1, 1]])
    read = words({1, 2, 3, 4, 5}, {1, 6, 7, 8, 9}, {20, 21, 22, 23, 24})
    assert density(rows, read).tolist() == pytest.approx([0.5**0.5] * 3, abs=1e-6)


def test_a_cluster_stands_out_as_when_all_are_compared():
    rng = np.random.default_rng(7)
    far = rng.normal(size=(400, 32))
    near = rng.normal(size=32) + 0.1 * rng.normal(size=(4, 32))
    rows = unit(np.concatenate([far, near]))
    found = density(rows, words(*[{3 * at, 3 * at + 1} for at in range(404)]))
    assert found[-4:].min() > found[:-4].max()


def test_one_passage_and_none():
    assert density(unit([[1.0, 0.0]]), words({1})).tolist() == [0.0]
    assert density(np.empty((0, 2), np.float32), np.empty((0, 8), np.uint32)).tolist() == []
