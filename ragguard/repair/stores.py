"""Vector stores as `Removable`, each through its own delete API."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import numpy as np

from ragguard.attribution.retrieval import as_passage
from ragguard.embedding import as_embedder
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.repair.removal import Removable

__all__ = ["as_removable"]


def as_removable(
    source: Any,
    *,
    texts: MutableMapping[int, str | Passage] | None = None,
    embedder: Any = None,
) -> Removable:
    """Return a vector store as a `Removable`.

    Args:
        source: A LangChain vector store, a LlamaIndex index, a Chroma collection, a FAISS index
            with ids of its own (`IndexIDMap`), or anything with `remove` and `add` already.
        texts: For a FAISS index: its texts by id. This mapping is kept in step with the index. The
            id of a plain string is the number.
        embedder: For a FAISS index and a Chroma collection: what made their vectors. Without it
            Chroma uses the collection's own embedding function.

    Raises:
        InvalidInputError: `source` is none of these, or a FAISS index comes without `texts`.
    """
    if callable(getattr(source, "remove_ids", None)):
        if texts is None:
            raise InvalidInputError("a FAISS index holds vectors only; pass texts= by id with it")
        return _Faiss(source, texts, embedder)
    if callable(getattr(source, "get_by_ids", None)) and callable(getattr(source, "delete", None)):
        return _LangChain(source)
    if callable(getattr(source, "delete_nodes", None)) and hasattr(source, "docstore"):
        return _LlamaIndex(source)
    if callable(getattr(source, "upsert", None)) and callable(getattr(source, "get", None)):
        return _Chroma(source, embedder)
    if callable(getattr(source, "remove", None)) and callable(getattr(source, "add", None)):
        removable: Removable = source
        return removable
    raise InvalidInputError(
        f"cannot remove passages from a {type(source).__name__}; pass a LangChain vector store, a "
        "LlamaIndex index, a Chroma collection, a FAISS index with texts=, or an object with "
        "remove(ids) and add(passages)"
    )


class _LangChain:
    def __init__(self, store: Any) -> None:
        self._store = store

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        try:
            found = [as_passage(document) for document in self._store.get_by_ids(list(ids))]
        except NotImplementedError as error:
            raise InvalidInputError(
                f"{type(self._store).__name__} cannot look documents up by id, so what would be "
                "deleted cannot be checked; pass an object with remove(ids) and add(passages)"
            ) from error
        if found:
            self._store.delete([passage.id for passage in found])
        return found

    def add(self, passages: Sequence[Passage]) -> None:
        if not passages:
            return
        # Some stores replace what has the same id, others refuse it.
        self.remove([passage.id for passage in passages])
        self._store.add_texts(
            [passage.text for passage in passages],
            metadatas=[dict(passage.metadata) for passage in passages],
            ids=[passage.id for passage in passages],
        )


class _LlamaIndex:
    def __init__(self, index: Any) -> None:
        self._index = index

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        vectors = self._index.vector_store
        if vectors.stores_text:
            nodes = vectors.get_nodes(node_ids=list(ids))
        else:
            nodes = self._index.docstore.get_nodes(list(ids), raise_error=False)
        found = [as_passage(node) for node in nodes]
        if found:
            names = [passage.id for passage in found]
            self._index.delete_nodes(names, delete_from_docstore=True)
        return found

    def add(self, passages: Sequence[Passage]) -> None:
        from llama_index.core.schema import TextNode

        self.remove([passage.id for passage in passages])
        self._index.insert_nodes(
            [TextNode(text=p.text, id_=p.id, metadata=dict(p.metadata)) for p in passages]
        )


class _Chroma:
    def __init__(self, collection: Any, embedder: Any) -> None:
        self._collection = collection
        self._embedder = None if embedder is None else as_embedder(embedder)

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        if not ids:  # Chroma refuses an empty list
            return []
        found = self._collection.get(
            ids=list(ids), include=["documents", "metadatas", "embeddings"]
        )
        vectors = found["embeddings"]
        passages = [
            Passage(
                text or "",
                id=name,
                metadata=metadata,
                embedding=np.asarray(vectors[row], dtype=np.float32),
            )
            for row, (name, text, metadata) in enumerate(
                zip(found["ids"], found["documents"], found["metadatas"], strict=True)
            )
        ]
        if passages:
            self._collection.delete(ids=[passage.id for passage in passages])
        return passages

    def add(self, passages: Sequence[Passage]) -> None:
        if not passages:
            return
        rows: Any = None
        if all(passage.embedding is not None for passage in passages):
            rows = [passage.embedding for passage in passages]
        elif self._embedder is not None:
            rows = self._embedder.embed([passage.text for passage in passages])
        self._collection.upsert(
            ids=[passage.id for passage in passages],
            documents=[passage.text for passage in passages],
            # Chroma refuses an empty mapping.
            metadatas=[dict(passage.metadata) or None for passage in passages],
            embeddings=rows,
        )


class _Faiss:
    def __init__(
        self, index: Any, texts: MutableMapping[int, str | Passage], embedder: Any
    ) -> None:
        self._index = index
        self._texts = texts
        self._embedder = as_embedder(embedder)

    def _numbers(self) -> dict[str, int]:
        return {
            text.id if isinstance(text, Passage) else str(number): number
            for number, text in self._texts.items()
        }

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        numbers = self._numbers()
        known = [name for name in dict.fromkeys(ids) if name in numbers]
        if not known:
            return []
        self._index.remove_ids(np.array([numbers[name] for name in known], dtype=np.int64))
        return [_named(self._texts.pop(numbers[name]), name) for name in known]

    def add(self, passages: Sequence[Passage]) -> None:
        if not passages:
            return
        self.remove([passage.id for passage in passages])
        free = max(self._texts, default=-1) + 1
        numbers: list[int] = []
        for passage in passages:
            own = int(passage.id) if passage.id.isascii() and passage.id.isdigit() else free
            number = free if own in self._texts else own
            free = max(free, number + 1)
            numbers.append(number)
            self._texts[number] = passage
        rows = [
            self._embedder.embed([p.text])[0] if p.embedding is None else p.embedding
            for p in passages
        ]
        self._index.add_with_ids(
            np.ascontiguousarray(rows, dtype=np.float32), np.array(numbers, dtype=np.int64)
        )


def _named(text: str | Passage, name: str) -> Passage:
    return text if isinstance(text, Passage) else Passage(text, id=name)
