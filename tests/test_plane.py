"""Classical scaling: distances in the plane are those of the similarities, where a plane can."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.explain import plane


def distances(places):
    return np.linalg.norm(places[:, None] - places[None], axis=2)


def test_by_hand():
    # Two opposite vectors: cosine -1, distance 2, so at +1 and -1 of the first axis.
    places, share = plane(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert np.abs(places) == pytest.approx(np.array([[1.0, 0.0], [1.0, 0.0]]), abs=1e-7)
    assert places[0, 0] == pytest.approx(-places[1, 0])
    assert share == pytest.approx(1.0)


def test_three_right_angles_are_an_equilateral_triangle():
    places, share = plane(np.eye(3))
    expected = np.full((3, 3), np.sqrt(2.0))
    np.fill_diagonal(expected, 0.0)
    assert distances(places) == pytest.approx(expected)
    assert share == pytest.approx(1.0)


@given(st.lists(st.floats(0, 6.28), min_size=1, max_size=8))
def test_vectors_of_a_plane_keep_their_distances(angles):
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places, share = plane(rows @ rows.T)
    assert distances(places) == pytest.approx(distances(rows), abs=1e-6)
    assert places.mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert share == pytest.approx(1.0)


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_never_farther_apart_than_in_truth_and_never_mirrored(seed, n):
    rows = np.random.default_rng(seed).normal(size=(n, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    places, share = plane(rows @ rows.T)
    assert (distances(places) <= distances(rows) + 1e-9).all()
    assert 0.0 < share <= 1.0 + 1e-12
    largest = np.abs(places).argmax(axis=0)
    assert (places[largest, [0, 1]] >= 0.0).all()
    centred = rows - rows.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2  # principal components, the same plane
    assert share == pytest.approx(values[:2].sum() / values.sum())


@pytest.mark.parametrize("n", [1, 2, 5])
def test_equal_items_lie_on_one_point(n):
    places, share = plane(np.ones((n, n)))
    assert places == pytest.approx(np.zeros((n, 2)), abs=1e-7)
    assert share == 1.0
