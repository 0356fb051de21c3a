"""Vector stores as `Removable`, each through its own delete API."""

from __future__ import annotations

from collections.abc import MutableMapping, MutableSequence
from typing import Any

from ragguard.errors import InvalidInputError
from ragguard.knowledge.chroma import ChromaCollection
from ragguard.knowledge.faiss import FaissIndex
from ragguard.knowledge.langchain import LangChainStore
from ragguard.knowledge.llama_index import LlamaIndexIndex, LlamaIndexVectorStore
from ragguard.passage import Passage
from ragguard.repair.removal import Removable

__all__ = ["as_removable"]


def as_removable(
    source: Any,
    *,
    texts: MutableMapping[int, str | Passage] | MutableSequence[str | Passage] | None = None,
    embedder: Any = None,
) -> Removable:
    """Return a vector store as a `Removable`.

    Args:
        source: A LangChain vector store, a LlamaIndex index or vector store, a Chroma collection, a
            FAISS index, or anything with `remove` and `add` already, such as
            `ragguard.knowledge.QdrantCollection` and `ragguard.knowledge.PgVectorTable`.
        texts: For a FAISS index: its texts, by id for an index with ids of its own (`IndexIDMap2`),
            or a list of `Passage` for a flat one. They are kept in step with the index. The id of a
            plain string is the number.
        embedder: For a FAISS index, a Chroma collection and a LlamaIndex vector store: what made
            their vectors. Without it Chroma uses the collection's own embedding function, and FAISS
            the built-in embedder.

    Raises:
        InvalidInputError: `source` is none of these, or a FAISS index comes without `texts`.
    """

    def has(*methods: str) -> bool:
        return all(callable(getattr(source, method, None)) for method in methods)

    if has("remove_ids"):
        if texts is None:
            raise InvalidInputError("a FAISS index holds vectors only; pass texts= by id with it")
        return FaissIndex(source, texts, embedder)
    if has("get_by_ids", "delete"):
        return LangChainStore(source)
    if has("delete_nodes") and hasattr(source, "docstore"):
        return LlamaIndexIndex(source)
    if has("delete_nodes", "get_nodes") and hasattr(source, "stores_text"):
        return LlamaIndexVectorStore(source, embedder)
    if has("query_points"):
        raise InvalidInputError(
            "a QdrantClient holds many collections; pass "
            "ragguard.knowledge.QdrantCollection(client, name)"
        )
    if has("upsert", "get"):
        return ChromaCollection(source, embedder)
    if has("remove", "add"):
        removable: Removable = source
        return removable
    raise InvalidInputError(
        f"cannot remove passages from a {type(source).__name__}; pass a LangChain vector store, a "
        "LlamaIndex index, a Chroma collection, a QdrantCollection, a PgVectorTable, a FAISS index "
        "with texts=, or an object with remove(ids) and add(passages)"
    )
