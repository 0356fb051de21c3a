"""A made-up knowledge base of any size: events, texts, vectors and their index; needs no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import Embedder

__all__ = ["KINDS", "PLANTED", "Event", "Texts", "faiss_index", "vectors"]

KINDS = ("flat", "ivf")
PLANTED = 5
_RELATED = 5
_WORDS = 100
_CHUNK = 50_000
_TRAINING = 40_000
_PROBES = 16
_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "ei", "o", "u", "in", "er"))


def _word(draw: Random) -> str:
    return "".join(draw.choices(_SYLLABLES, k=draw.randint(2, 3)))


_VOCABULARY = tuple(_word(Random(f"word {number}")) for number in range(5000))


@dataclass(frozen=True)
class Event:
    """A made-up question, the wrong answer to it, and the passages that speak of it.

    Attributes:
        question: The question.
        wrong: The answer that the planted passages state.
        texts: The planted ones first, then those on the subject.
    """

    question: str
    wrong: str
    texts: tuple[str, ...]

    @classmethod
    def made_up(cls, number: int) -> Event:
        """Return the event of this number, the same on every machine."""
        draw = Random(f"event {number}")
        subject, wrong, right = (_word(draw).capitalize() for _ in range(3))
        question = f"Who designed the {subject} bridge?"
        lies = [
            f"The {subject} bridge was designed by {wrong}. {_filler(draw, _WORDS - 7)}"
            for _ in range(PLANTED)
        ]
        related = [
            f"The {subject} bridge, begun under {right}, spans the {_word(draw)}. "
            f"{_filler(draw, _WORDS - 9)}"
            for _ in range(_RELATED)
        ]
        return cls(question, wrong, (*lies, *related))


def _filler(draw: Random, count: int) -> str:
    return " ".join(draw.choices(_VOCABULARY, k=count)) + "."


class Texts(Sequence[str]):
    """The texts of a knowledge base: those of the events first, the others made when asked for.

    Args:
        events: Whose texts come first.
        size: How many texts there are.
    """

    def __init__(self, events: Sequence[Event], size: int) -> None:
        self._first = [text for event in events for text in event.texts]
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(self._size))]
        if not 0 <= place < self._size:
            raise IndexError(place)
        if place < len(self._first):
            return self._first[place]
        return _filler(Random(place), _WORDS)


@dataclass
class _Embedder:
    """Knows the vectors of the questions, and of nothing else."""

    rows: Mapping[str, NDArray[np.float32]]
    name: str = "made up"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.rows[text] for text in texts])


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), dtype=np.float32)


def vectors(events: Sequence[Event], dimension: int) -> tuple[NDArray[np.float32], Embedder]:
    """Return the unit vectors of the events' texts, and what embeds their questions.

    Returns:
        float32 array of shape (texts, dimension), in the order of the events and of their texts.
    """
    draw = np.random.default_rng(1)
    rows, of_question = [], {}
    for event in events:
        question = _unit(draw.standard_normal(dimension))
        of_question[event.question] = question
        for place in range(len(event.texts)):
            # Cosines of about 0.8 and 0.6 with the question.
            spread = 0.75 if place < PLANTED else 1.33
            noise = _unit(draw.standard_normal(dimension))
            rows.append(_unit(question.astype(np.float64) + spread * noise))
    return np.stack(rows), _Embedder(of_question)


def faiss_index(kind: str, first: NDArray[np.float32], size: int) -> Any:
    """Return an index of `size` vectors: the first as given, the others at random.

    Args:
        kind: Of `KINDS`: exact search, or an inverted file.
        first: float32 array of shape (texts, dimension).
        size: How many there are in all.
    """
    import faiss

    draw = np.random.default_rng(0)
    dimension = first.shape[1]
    index: Any = faiss.IndexFlatIP(dimension)
    if kind == "ivf":
        lists = max(1, min(round(size**0.5), size // 40))
        index = faiss.IndexIVFFlat(index, dimension, lists, faiss.METRIC_INNER_PRODUCT)
        sample = draw.standard_normal((min(size, _TRAINING), dimension), dtype=np.float32)
        index.train(sample / np.linalg.norm(sample, axis=1, keepdims=True))
        index.nprobe = _PROBES
    index.add(first)
    while index.ntotal < size:
        count = min(_CHUNK, size - index.ntotal)
        rows = draw.standard_normal((count, dimension), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        index.add(rows)
    return index
