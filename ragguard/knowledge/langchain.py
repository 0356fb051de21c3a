"""LangChain's vector stores."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ragguard.errors import InvalidInputError
from ragguard.knowledge.sources import Adapter, as_passage, ask, for_similarity, has
from ragguard.passage import Passage


class LangChainStore(Adapter):
    """A vector store, which embeds what is put in; with its own score, if it has one.

    Of a retriever's search `options` those that are not for a similarity search are left out.
    """

    def __init__(self, store: Any, options: Mapping[str, Any] | None = None) -> None:
        self._store = store
        self._options = for_similarity(options)

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        if limit < 1:
            return []
        options = {**self._options, **before_filter(self._store, self._options)}
        try:
            scored = ask(self._store, "similarity_search_with_score", query, k=limit, **options)
        except NotImplementedError:
            found = ask(self._store, "similarity_search", query, k=limit, **options)
            return [as_passage(document) for document in found]
        return [as_passage(document, float(score)) for document, score in scored]

    def _find(self, ids: list[str]) -> list[Passage]:
        try:
            documents = ask(self._store, "get_by_ids", ids)
        except NotImplementedError as error:
            raise InvalidInputError(
                f"{type(self._store).__name__} cannot look documents up by id, so what would be "
                "deleted cannot be checked; pass an object with remove(ids) and add(passages)"
            ) from error
        except ValueError:  # LangChain's Chroma cannot make a document of a text without metadata
            if not has(self._store, "get"):
                raise
            held = ask(self._store, "get", ids)
            rows = zip(held["ids"], held["documents"], held["metadatas"], strict=True)
            return [Passage(text, id=name, metadata=given or {}) for name, text, given in rows]
        found = [as_passage(document) for document in documents]
        unnamed = {passage.id for passage in found} - set(ids)
        if unnamed:
            raise InvalidInputError(
                f"{type(self._store).__name__} returns documents without the ids that were asked "
                "for, so they cannot be deleted; pass an object with remove(ids) and add(passages)"
            )
        return found

    def _delete(self, ids: list[str]) -> None:
        ask(self._store, "delete", ids)

    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None:
        texts = [passage.text for passage in passages]
        # Some stores replace what has the same id, and others refuse it.
        if there := [passage.id for passage in self.find(ids)]:
            # What is there must not be lost to a model that does not answer.
            if (model := getattr(self._store, "embeddings", None)) is not None:
                ask(model, "embed_documents", texts)
            self._delete(there)
        metadatas = [dict(passage.metadata) for passage in passages]
        ask(self._store, "add_texts", texts, metadatas=metadatas, ids=ids)


def before_filter(store: Any, options: Mapping[str, Any]) -> dict[str, int]:
    """Return how much LangChain's FAISS is to fetch before it filters: all, and not 20."""
    total = getattr(getattr(store, "index", None), "ntotal", None)
    search = getattr(store, "similarity_search_with_score", None)
    if options.get("filter") is None or not isinstance(total, int) or search is None:
        return {}
    return {"fetch_k": total} if "fetch_k" in inspect.signature(search).parameters else {}
