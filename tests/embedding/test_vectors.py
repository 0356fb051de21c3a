"""The vectors of a set: those that the passages carry, or those of the embedder in one batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ragguard import Passage
from ragguard.embedding import HashedEmbedder
from ragguard.embedding.vectors import similarity_matrix, vectors
from ragguard.errors import EmbeddingError


class Recorder:
    name = "recorder"

    def __init__(self):
        self.batches = []

    def embed(self, texts):
        self.batches.append(list(texts))
        return HashedEmbedder(16).embed(texts)


def carrying(*rows):
    return [Passage(str(number), id=str(number), embedding=row) for number, row in enumerate(rows)]


def test_carried_vectors_are_used_and_scaled_to_length_1():
    embedder = Recorder()
    rows = vectors(carrying([3.0, 4.0], np.array([0, -2]), np.float16([1, 0])), embedder)
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, -1.0], [1.0, 0.0]]))
    assert rows.dtype == np.float32
    assert embedder.batches == []


def test_a_mixture_is_embedded_anew_as_a_whole_in_one_batch():
    embedder = Recorder()
    passages = [Passage("a", embedding=np.ones(16)), Passage("b")]
    rows = vectors(passages, embedder)
    assert embedder.batches == [["a", "b"]]
    assert (rows == HashedEmbedder(16).embed(["a", "b"])).all()


def test_a_zero_vector_stays_zero():
    assert vectors(carrying([0.0, 0.0], [1.0, 0.0]), Recorder())[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324, 1.7e308])
def test_very_large_and_small_entries_keep_their_direction(size):
    rows = vectors(carrying(np.array([size, 0.0]), np.array([size, size])), Recorder())
    assert rows == pytest.approx(np.array([[1.0, 0.0], [0.5**0.5, 0.5**0.5]]))


@pytest.mark.parametrize(
    "other",
    [
        np.float64(1.0),
        [],
        np.array(["a", "b"]),
        np.array([1j, 1.0]),
        np.array([True, False]),
        np.array([None, 1.0]),
        [[1.0], [1.0, 2.0]],
        {"a": 1.0},
    ],
    ids=str,
)
def test_what_is_no_vector_is_refused_with_the_id_of_a_passage(other):
    with pytest.raises(EmbeddingError, match=r"passage '[01]' carries an embedding"):
        vectors(carrying(np.ones(2), other), Recorder())
    with pytest.raises(EmbeddingError, match=r"passage '[01]' carries an embedding"):
        vectors(carrying(other, np.ones(2)), Recorder())


@pytest.mark.parametrize(
    "other",
    [np.ones(3), np.ones((1, 2)), np.ones(0), np.array([np.nan, 1.0]), [np.inf, 1.0]],
    ids=str,
)
def test_one_vector_that_cannot_be_used_has_all_embedded_anew(other):
    recorder = Recorder()
    rows = vectors(carrying(np.ones(2), other), recorder)
    assert rows.tolist() == Recorder().embed(["0", "1"]).tolist()


def test_an_array_that_cannot_be_read_is_refused():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("is on another device")

    with pytest.raises(EmbeddingError, match="another device"):
        vectors(carrying(Tensor()), Recorder())


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 5)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_all_finite_vectors_become_unit_rows_with_cosines_in_range(matrix):
    rows = vectors(carrying(*matrix), Recorder())
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    assert lengths == pytest.approx(matrix.any(axis=1).astype(float))
    similarity = similarity_matrix(rows)
    assert (similarity == similarity.T).all()
    assert (np.abs(similarity) <= 1.0).all()
