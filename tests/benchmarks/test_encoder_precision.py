"""What a coarser encoder changes, on embedders whose vectors are written down."""

import numpy as np
import pytest

from benchmarks.encoder_precision import compare, smallest_cosine
from benchmarks.retrieval import RetrievedSet
from ragguard.passage import Passage
from ragguard.verdict import Verdict


class Table:
    """Embeds by looking up; `name` is what an embedder needs."""

    def __init__(self, **vectors):
        self.name = "table"
        self.vectors = vectors

    def embed(self, texts):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


class Leftmost:
    """A guard that drops a passage whose first coordinate exceeds 0.9."""

    def __init__(self, embedder, on_error):
        assert on_error == "raise"
        self.embedder = embedder

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def filter(self, question, passages):
        rows = self.embedder.embed([passage.text for passage in passages])
        dropped = [p for p, row in zip(passages, rows, strict=True) if row[0] > 0.9]
        kept = [passage for passage in passages if passage not in dropped]
        return Verdict(kept, dropped, bool(dropped), 1.0, [])


def found(*texts):
    nothing = np.zeros(len(texts), dtype=bool)
    return RetrievedSet("q", texts, np.zeros((len(texts), 2), np.float32), nothing, nothing)


WHOLE = Table(q=[1, 0], a=[1, 0], b=[0, 1], c=[0.8, 0.6])
# "a" turns so far that it is no longer dropped; "q" is another length in the same direction.
SMALL = Table(q=[2, 0], a=[0.8, 0.6], b=[0, 1], c=[0.8, 0.6])
SETS = {"clean": [found("b", "c")], "attacked": [found("a", "b"), found("b", "c", "b")]}


def test_vectors_and_verdicts_are_compared():
    rows = compare(SETS, WHOLE, SMALL, {"leftmost": Leftmost})
    clean, attacked = rows
    place = {"defence": "leftmost"}
    assert clean == {
        **{"traffic": "clean", "sets": 1, "dropped": 0, "same": 1, "largest": 0.0, "mean": 0.0},
        **place,
    }
    # Seven texts, questions included, of which one has the cosine 0.8.
    assert (attacked["sets"], attacked["dropped"], attacked["same"]) == (2, 1, 1)
    assert attacked["largest"] == pytest.approx(0.2, abs=1e-6)
    assert attacked["mean"] == pytest.approx(0.2 / 7, abs=1e-6)


def test_equal_texts_are_passages_of_their_own():
    twice = {"attacked": [found("a", "a", "b")]}
    (row,) = compare(twice, WHOLE, WHOLE, {"leftmost": Leftmost})
    assert (row["dropped"], row["same"], row["largest"]) == (1, 1, 0.0)
    assert Passage("a", id="0") != Passage("a", id="1")


def test_the_smallest_cosine_is_of_all_sets():
    every = [one for sets in SETS.values() for one in sets]
    assert smallest_cosine(WHOLE.embed, SMALL.embed, every) == pytest.approx(0.8, abs=1e-6)
    assert smallest_cosine(WHOLE.embed, SMALL.embed, every[:1]) == pytest.approx(1.0, abs=1e-6)
