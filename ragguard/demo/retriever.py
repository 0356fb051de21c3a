"""An exact vector retriever: a knowledge base small enough to search whole."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import Embedder, HashedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage

__all__ = ["VectorRetriever"]


class VectorRetriever:
    """Ranks every passage by its similarity to the query. Every passage is embedded once.

    `retriever.retrieve` is a `ragguard.attribution.Retrieve` over the whole knowledge base.

    Args:
        passages: The knowledge base; ids must be unique.
        embedder: Any embedder; None for the built-in one.

    Raises:
        InvalidInputError: Two passages have the same id.
    """

    def __init__(
        self, passages: Iterable[Passage] = (), *, embedder: Embedder | None = None
    ) -> None:
        self._embedder = HashedEmbedder() if embedder is None else embedder
        self._passages: list[Passage] = []
        self._rows: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self.add(passages)

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def embedder(self) -> Embedder:
        """The embedder that made the vectors."""
        return self._embedder

    def add(self, passages: Iterable[Passage]) -> None:
        """Embed and index more passages, in one batch.

        Raises:
            InvalidInputError: An id is in the knowledge base already, or twice in `passages`.
        """
        new = list(passages)
        seen = {passage.id for passage in self._passages}
        for passage in new:
            if passage.id in seen:
                raise InvalidInputError(
                    f"the id {passage.id!r} is in the knowledge base already; remove it first"
                )
            seen.add(passage.id)
        if not new:
            return
        rows = self._embedder.embed([passage.text for passage in new])
        self._rows = np.vstack([self._rows, rows]) if self._passages else rows
        self._passages += [
            Passage(passage.text, id=passage.id, embedding=row, metadata=passage.metadata)
            for passage, row in zip(new, rows, strict=True)
        ]

    def remove(self, ids: Iterable[str]) -> list[Passage]:
        """Take passages out by id and return those that were there."""
        gone = set(ids)
        removed = [passage for passage in self._passages if passage.id in gone]
        keep = [i for i, passage in enumerate(self._passages) if passage.id not in gone]
        self._passages = [self._passages[i] for i in keep]
        self._rows = self._rows[keep]
        return removed

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        """Return the `limit` passages most similar to `query`, best first.

        Each carries its cosine as `score` and its vector as `embedding`. Equal scores keep the
        order in which the passages were added.
        """
        if not self._passages or limit <= 0:
            return []
        scores = self._rows @ self._embedder.embed([query])[0]
        best = np.argsort(-scores, kind="stable")[:limit]
        return [
            Passage(
                self._passages[i].text,
                id=self._passages[i].id,
                score=float(scores[i]),
                embedding=self._rows[i],
                metadata=self._passages[i].metadata,
            )
            for i in best
        ]
