"""The guard in a vector store's own vector space, with what the store has already embedded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from numpy.typing import NDArray
from ragguard import Passage
from ragguard.embedding import as_embedder
from ragguard.embedding.adapt import unit_rows
from ragguard.knowledge.langchain import LangChainStore

Vector = Sequence[float]
Known = Sequence[Document] | Sequence[Passage]
StoredVectors = Callable[[Known], Sequence[Vector | None]]
"""Returns the stored vector of every document, by its id; None where the store has none."""

_retrieved: ContextVar[tuple[object, Sequence[Document]]] = ContextVar(
    "langchain_ragguard_retrieved", default=(None, ())
)


class StoreEmbedder:
    """A store's own model as the guard's embedder.

    Vectors that the store keeps are read back instead of computed, and only when the guard asks
    for them, which it does for suspicious sets alone.
    """

    def __init__(self, store: VectorStore, embeddings: Embeddings) -> None:
        self._made_of = (store, embeddings)
        self._inner = as_embedder(embeddings)
        self.name = self._inner.name  # as the guard itself would name these embeddings
        self._stored: StoredVectors | None = stored_vectors(store)

    def __reduce__(self) -> tuple[Any, ...]:
        # Anew: a method of the model that something wraps may not be found again by its name.
        return StoreEmbedder, self._made_of

    @contextmanager
    def knowing(self, documents: Sequence[Document]) -> Iterator[None]:
        """Within the context, texts of `documents` are known by their ids in the store."""
        token = _retrieved.set((self, documents))
        try:
            yield
        finally:
            _retrieved.reset(token)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), d), rows of length 1."""
        known = self._known()
        unknown = [text for text in texts if text not in known]
        fresh = iter(self._inner.embed(unknown)) if unknown else iter(())
        rows = [known[text] if text in known else next(fresh) for text in texts]
        return unit_rows(np.asarray(rows, dtype=np.float32))

    def _known(self) -> dict[str, Vector]:
        owner, documents = _retrieved.get()
        if self._stored is None or owner is not self:
            return {}
        vectors = self._stored(documents)
        return {
            document.page_content: vector
            for document, vector in zip(documents, vectors, strict=True)
            if vector is not None
        }


class KnowledgeBase:
    """What attribution searches: the whole store, with the vectors that it keeps.

    Args:
        store: The store.
        search_kwargs: How the retriever searches it; its filters hold for attributions, too.
    """

    def __init__(self, store: VectorStore, search_kwargs: dict[str, Any]) -> None:
        self._search = LangChainStore(store, search_kwargs)
        self._stored = stored_vectors(store)

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        """Return the `limit` passages most similar to the query, with their stored vectors."""
        found = self._search.retrieve(query, limit)
        vectors = self._stored(found) if self._stored else [None] * len(found)
        return [
            passage if vector is None else replace(passage, embedding=np.asarray(vector))
            for passage, vector in zip(found, vectors, strict=True)
        ]


def stored_vectors(store: VectorStore) -> StoredVectors | None:
    """Return how to read the vectors that `store` keeps, or None if it does not show them.

    Known are `InMemoryVectorStore`, `FAISS` and `Chroma`, and what derives from them.
    """
    for kind in type(store).__mro__:
        if kind.__name__ in _READERS:
            return partial(_READERS[kind.__name__], store)
    return None


def _in_memory_vectors(store: Any, documents: Known) -> list[Vector | None]:
    rows = [store.store.get(document.id) for document in documents]
    return [None if row is None else row["vector"] for row in rows]


def _chroma_vectors(store: Any, documents: Known) -> list[Vector | None]:
    ids = list({document.id for document in documents if document.id})
    if not ids:
        return [None] * len(documents)
    answer = store.get(ids=ids, include=["embeddings"])
    by_id: dict[str | None, Vector] = dict(zip(answer["ids"], answer["embeddings"], strict=True))
    return [by_id.get(document.id) for document in documents]


def _faiss_vectors(store: Any, documents: Known) -> list[Vector | None]:
    ids = store.index_to_docstore_id
    held, count, rows_of = _seen.get(store, (None, 0, {}))
    # Additions grow this dict and deletions replace it, so these two tell of every change.
    if held is not ids or count != len(ids):
        rows_of = {id_: row for row, id_ in ids.items()}
        _seen[store] = ids, len(ids), rows_of
    rows = [rows_of.get(document.id or "") for document in documents]
    try:
        return [None if row is None else store.index.reconstruct(row) for row in rows]
    except RuntimeError:  # an inverted-file index without a direct map
        return [None] * len(documents)


_seen: WeakKeyDictionary[Any, tuple[Any, int, dict[str, int]]] = WeakKeyDictionary()
"""Of a FAISS store its rows by id, with what they were read of."""

_READERS: dict[str, Callable[[Any, Known], Sequence[Vector | None]]] = {
    "InMemoryVectorStore": _in_memory_vectors,
    "FAISS": _faiss_vectors,
    "Chroma": _chroma_vectors,
}
