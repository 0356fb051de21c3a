"""Knowledge bases of every kind, as what passages can be taken out of and put back into."""

from __future__ import annotations

from collections.abc import MutableMapping, MutableSequence, Sequence
from typing import Any, Protocol

from ragguard.errors import InvalidInputError
from ragguard.knowledge.chroma import ChromaCollection
from ragguard.knowledge.faiss import FaissIndex
from ragguard.knowledge.langchain import LangChainStore
from ragguard.knowledge.llama_index import LlamaIndexIndex, LlamaIndexVectorStore
from ragguard.knowledge.sources import has
from ragguard.passage import Passage


class Removable(Protocol):
    """A knowledge base from which passages can be taken out by id; `find(ids)` is asked before."""

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        """Take out the passages with these ids and return those that were there, as they were."""

    def add(self, passages: Sequence[Passage]) -> None:
        """Put passages in under their ids, in place of what has one of the ids.

        Of several with one id all go in, where the knowledge base can hold them.
        """


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
        texts: For a FAISS index alone: its texts, by id for an index with ids of its own
            (`IndexIDMap2`), or a list of `Passage` for a flat one; kept in step with it. A plain
            string's id is the number.
        embedder: For a FAISS index, a Chroma collection and a LlamaIndex vector store: what made
            their vectors; None is the collection's own embedding function, or the built-in one.

    Raises:
        InvalidInputError: `source` is none of these, or a FAISS index comes without `texts`, or
            anything else with them.
    """
    if has(source, "remove_ids"):
        if texts is None:
            raise InvalidInputError("a FAISS index holds vectors only; pass texts= by id with it")
        return FaissIndex(source, texts, embedder)
    if texts is not None:
        raise InvalidInputError(
            f"texts= goes with a FAISS index, not with a {type(source).__name__}; leave it out, or "
            "pass the index that holds the vectors of these texts"
        )
    if has(source, "get_by_ids", "delete"):
        return LangChainStore(source)
    if (
        has(source, "delete_nodes")
        and hasattr(source, "docstore")
        and hasattr(source, "vector_store")
    ):
        return LlamaIndexIndex(source)
    if has(source, "delete_nodes", "get_nodes") and hasattr(source, "stores_text"):
        return LlamaIndexVectorStore(source, embedder)
    if has(source, "query_points"):
        raise InvalidInputError(
            "a QdrantClient holds many collections; pass "
            "ragguard.knowledge.QdrantCollection(client, name)"
        )
    if has(source, "upsert", "get"):
        return ChromaCollection(source, embedder)
    if has(source, "remove", "add"):
        removable: Removable = source
        return removable
    raise InvalidInputError(
        f"cannot remove passages from a {type(source).__name__}; pass a LangChain vector store, a "
        "LlamaIndex index, a Chroma collection, a QdrantCollection, a PgVectorTable, a FAISS index "
        "with texts=, or an object with remove(ids) and add(passages)"
    )
