"""Reads back the vectors that a store keeps, so that no document is embedded again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_ragguard.passages import Vector

__all__ = ["StoredVectors", "stored_vectors"]

StoredVectors = Callable[[Sequence[Document]], Sequence[Vector | None]]
"""Returns the stored vector of every document, None where the store has none."""


def stored_vectors(store: VectorStore) -> StoredVectors | None:
    """Return how to read the vectors that `store` keeps, or None if it does not show them.

    Known are `InMemoryVectorStore`, `FAISS` and `Chroma`, and what derives from them.
    """
    for kind in type(store).__mro__:
        if kind.__name__ in _READERS:
            return _READERS[kind.__name__](store)
    return None


def _in_memory_vectors(store: Any) -> StoredVectors:
    def read(documents: Sequence[Document]) -> list[Vector | None]:
        rows = [store.store.get(document.id) for document in documents]
        return [None if row is None else row["vector"] for row in rows]

    return read


def _chroma_vectors(store: Any) -> StoredVectors:
    def read(documents: Sequence[Document]) -> list[Vector | None]:
        ids = list({document.id for document in documents if document.id})
        if not ids:
            return [None] * len(documents)
        answer = store.get(ids=ids, include=["embeddings"])
        by_id: dict[str | None, Vector] = dict(
            zip(answer["ids"], answer["embeddings"], strict=True)
        )
        return [by_id.get(document.id) for document in documents]

    return read


def _faiss_vectors(store: Any) -> StoredVectors:
    seen: tuple[Any, int, dict[str, int]] | None = None

    def read(documents: Sequence[Document]) -> list[Vector | None]:
        nonlocal seen
        ids = store.index_to_docstore_id
        # Additions grow this dict and deletions replace it, so these two tell of every change.
        if seen is None or seen[0] is not ids or seen[1] != len(ids):
            seen = (ids, len(ids), {id_: row for row, id_ in ids.items()})
        rows = [seen[2].get(document.id or "") for document in documents]
        try:
            return [None if row is None else store.index.reconstruct(row) for row in rows]
        except RuntimeError:  # an inverted-file index without a direct map
            return [None] * len(documents)

    return read


_READERS: dict[str, Callable[[Any], StoredVectors]] = {
    "InMemoryVectorStore": _in_memory_vectors,
    "FAISS": _faiss_vectors,
    "Chroma": _chroma_vectors,
}
