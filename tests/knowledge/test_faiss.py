"""What only FAISS does: cells, positions, and indices that cannot forget."""

import numpy as np
import pytest

from ragguard.attribution.search import as_retrieve
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.passage import Passage
from ragguard.repair import as_removable

faiss = pytest.importorskip("faiss")

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 8)).astype(np.float32)
TEXTS = {number: f"text {number}" for number in range(len(ROWS))}
TARGET = ROWS[0]


def embed(texts):
    """Every query is the first row, at its own length."""
    return np.tile(TARGET, (len(texts), 1))


def ranked():
    return np.argsort(np.linalg.norm(ROWS - TARGET, axis=1), kind="stable").tolist()


def test_vectors_keep_their_length():
    index = faiss.IndexFlatL2(8)
    index.add(ROWS)
    found = as_retrieve(index, texts=TEXTS, embedder=embed)("q", 300)
    assert [int(p.id) for p in found] == ranked()


def test_an_ivf_index_is_searched_beyond_its_first_cell():
    index = faiss.index_factory(8, "IVF16,Flat")
    index.train(ROWS)
    index.add(ROWS)
    assert (index.search(TARGET[None], 200)[1] < 0).any()
    retrieve = as_retrieve(index, texts=TEXTS, embedder=embed)
    assert [int(p.id) for p in retrieve("q", 300)] == ranked()
    assert index.nprobe == 1


def test_a_graph_cannot_forget():
    index = faiss.IndexIDMap2(faiss.IndexHNSWFlat(8, 16))
    index.add_with_ids(ROWS, np.arange(len(ROWS)))
    assert len(as_retrieve(index, texts=TEXTS, embedder=embed)("q", 50)) == 50
    texts = dict(TEXTS)
    with pytest.raises(InvalidInputError, match="cannot remove vectors"):
        as_removable(index, texts=texts, embedder=embed).remove(["3"])
    assert texts == TEXTS


@pytest.mark.parametrize(
    ("index", "texts", "message"),
    [
        (faiss.IndexFlatL2(8), tuple(TEXTS.values()), "is a tuple"),
        (faiss.IndexFlatL2(8), list(TEXTS.values()), "cannot serve as ids"),
        (faiss.IndexHNSWFlat(8, 16), [Passage("a")], "do not move up"),
    ],
)
def test_positions_that_cannot_be_followed(index, texts, message):
    index.add(ROWS)
    with pytest.raises(InvalidInputError, match=message):
        as_removable(index, texts=texts, embedder=embed).remove(["3"])


def test_several_go_by_position():
    index = faiss.IndexFlatL2(8)
    index.add(ROWS)
    texts = [Passage(text, id=f"p{number}") for number, text in TEXTS.items()]
    base = as_removable(index, texts=texts, embedder=embed)
    gone = base.remove(["p299", "p0", "p7"])
    assert [p.id for p in gone] == ["p299", "p0", "p7"]
    for passage, number in zip(gone, (299, 0, 7), strict=True):
        np.testing.assert_array_equal(passage.embedding, ROWS[number])
    assert index.ntotal == len(texts) == 297
    for place, passage in enumerate(texts):
        np.testing.assert_array_equal(index.reconstruct(place), ROWS[int(passage.id[1:])])


@pytest.mark.parametrize("answer", ["words", [[1.0, "x"]], [1.0, 2.0], [[np.nan] * 8]])
def test_what_is_no_vector(answer):
    index = faiss.IndexFlatL2(8)
    index.add(ROWS)
    with pytest.raises(EmbeddingError, match="answered"):
        as_retrieve(index, texts=TEXTS, embedder=lambda texts: answer)("q", 1)
