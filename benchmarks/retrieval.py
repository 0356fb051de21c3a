"""Retrieval: hits and poison ranked together by one embedder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Record
from benchmarks.forms import FORMS
from ragguard.embedding import Embedder

OVER_FETCH = 3
"""An over-fetching caller asks for this many times the k that the generator gets."""


@dataclass(frozen=True)
class RetrievedSet:
    """What a retriever returned for one question: n texts, best first."""

    question: str
    texts: tuple[str, ...]
    embeddings: NDArray[np.float32]  # of shape (n, d), unit rows
    poisoned: NDArray[np.bool_]  # of shape (n,): the attacker's
    golden: NDArray[np.bool_]  # of shape (n,): those that answer the question

    def first(self, n: int) -> RetrievedSet:
        """Return the set as a retriever asked for `n` passages would have returned it."""
        return RetrievedSet(
            self.question, self.texts[:n], self.embeddings[:n], self.poisoned[:n], self.golden[:n]
        )


def planted(record: Record, kind: str, form: str, count: int) -> list[str]:
    """Return what the attacker plants: the first `count` texts of a kind, or all there are."""
    return [FORMS[form](record.question, text) for text in record.poison.get(kind, ())[:count]]


def retrieve(
    record: Record, embedder: Embedder, limit: int, poison: Sequence[str] = ()
) -> RetrievedSet:
    """Rank a record's hits and the planted texts by similarity to the question.

    Equal similarities keep the order hits before poison.
    """
    texts = [*record.hits, *poison]
    rows = embedder.embed(texts)
    best = np.argsort(-(rows @ embedder.embed([record.question])[0]), kind="stable")[:limit]
    chosen = tuple(texts[i] for i in best)
    return RetrievedSet(
        record.question,
        chosen,
        rows[best],
        best >= len(record.hits),
        np.array([text in record.golden for text in chosen], dtype=bool),
    )
