"""A Chroma collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragguard.knowledge.sources import Adapter, Vectors, resolved, vectors_of
from ragguard.passage import Passage


class ChromaCollection(Adapter):
    """A Chroma collection, of a synchronous or an asynchronous client; scores are distances.

    Without an embedder the collection's own embedding function makes the vectors.
    """

    def __init__(self, collection: Any, embedder: Any) -> None:
        self._collection = collection
        self._vectors = None if embedder is None else Vectors(embedder)

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        count = min(limit, resolved(self._collection.count()))
        if count < 1:
            return []
        asked: dict[str, Any] = {"query_texts": [query]}
        if self._vectors is not None:
            asked = {"query_embeddings": self._vectors.of_query(query)[None]}
        wanted = ["documents", "metadatas", "distances"]
        found = resolved(self._collection.query(**asked, n_results=count, include=wanted))
        rows = zip(*(found[name][0] for name in ("ids", *wanted)), strict=True)
        return [
            Passage(text or "", id=name, score=distance, metadata=metadata)
            for name, text, metadata, distance in rows
        ]

    def _find(self, ids: list[str]) -> list[Passage]:
        wanted = ["documents", "metadatas", "embeddings"]
        found = resolved(self._collection.get(ids=ids, include=wanted))
        rows = zip(*(found[name] for name in ("ids", *wanted)), strict=True)
        return [
            Passage(
                text or "", id=name, metadata=metadata, embedding=np.asarray(row, dtype=np.float32)
            )
            for name, text, metadata, row in rows
        ]

    def _delete(self, ids: list[str]) -> None:
        resolved(self._collection.delete(ids=ids))

    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None:
        by_itself = self._vectors is None and any(p.embedding is None for p in passages)
        rows = None if by_itself else vectors_of(passages, self._vectors, "Chroma collection")
        there = self.remove(ids)  # an upsert would merge the metadata with what is there
        try:
            self._put(passages, rows)
        except BaseException:
            if there:
                self._put(there, [passage.embedding for passage in there])
            raise

    def _put(self, passages: Sequence[Passage], rows: list[Any] | None) -> None:
        resolved(
            self._collection.add(
                ids=[passage.id for passage in passages],
                documents=[passage.text for passage in passages],
                # Chroma refuses an empty mapping.
                metadatas=[dict(passage.metadata) or None for passage in passages],
                embeddings=rows,
            )
        )
