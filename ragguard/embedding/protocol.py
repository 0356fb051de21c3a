"""What the guard asks of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder", "QueryEmbedder", "embed_query"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    `name` identifies the vector space: calibrations and cached vectors are kept per name.
    """

    @property
    def name(self) -> str:
        """A stable name of the vector space, such as "hashed-ngrams-512"."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), d), rows of length 1 (zero for a blank text)."""
        ...


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that reads questions otherwise than passages, as asymmetric models do."""

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """Return float32 of shape (d,), of length 1, to be compared with the passages' rows."""
        ...


def embed_query(embedder: Embedder, query: str) -> NDArray[np.float32]:
    """Return the vector of a question, shape (d,): by the embedder's own way, if it has one.

    Raises:
        EmbeddingError: As the embedder.
    """
    if isinstance(embedder, QueryEmbedder):
        return embedder.embed_query(query)
    row: NDArray[np.float32] = embedder.embed([query])[0]
    return row
