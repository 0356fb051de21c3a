"""LangChain's vector stores and retrievers."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ragguard.errors import InvalidInputError
from ragguard.knowledge.sources import as_passage, ask
from ragguard.passage import Passage

__all__ = ["LangChainRetriever", "LangChainStore", "widened"]

logger = logging.getLogger(__name__)

_NOT_FOR_SIMILARITY = frozenset({"k", "fetch_k", "lambda_mult", "score_threshold"})
_SIZES = ("k", "top_k", "similarity_top_k")
_INNER = ("base_retriever", "retriever", "_vector_retriever")
_INNERS = ("retrievers", "_retrievers")


class LangChainStore:
    """A vector store, which embeds what is put in; with its own score, if it has one.

    Args:
        store: The store.
        options: A retriever's search options; those that are not for a similarity search are left
            out.
    """

    def __init__(self, store: Any, options: Mapping[str, Any] | None = None) -> None:
        self._store = store
        self._options = _for_similarity(options)

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        if limit < 1:
            return []
        options = {**self._options, **self._before_filter()}
        try:
            scored = ask(self._store, "similarity_search_with_score", query, k=limit, **options)
        except NotImplementedError:
            found = ask(self._store, "similarity_search", query, k=limit, **options)
            return [as_passage(document) for document in found]
        return [as_passage(document, float(score)) for document, score in scored]

    def find(self, ids: Sequence[str]) -> list[Passage]:
        if not ids:
            return []
        try:
            documents = ask(self._store, "get_by_ids", list(dict.fromkeys(ids)))
        except NotImplementedError as error:
            raise InvalidInputError(
                f"{type(self._store).__name__} cannot look documents up by id, so what would be "
                "deleted cannot be checked; pass an object with remove(ids) and add(passages)"
            ) from error
        found = [as_passage(document) for document in documents]
        unnamed = {passage.id for passage in found} - set(ids)
        if unnamed:
            raise InvalidInputError(
                f"{type(self._store).__name__} returns documents without the ids that were asked "
                "for, so they cannot be deleted; pass an object with remove(ids) and add(passages)"
            )
        return found

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        found = self.find(ids)
        if found:
            ask(self._store, "delete", [passage.id for passage in found])
        return found

    def add(self, passages: Sequence[Passage]) -> None:
        if not passages:
            return
        # Some stores replace what has the same id, others refuse it.
        self.remove([passage.id for passage in passages])
        ask(
            self._store,
            "add_texts",
            [passage.text for passage in passages],
            metadatas=[dict(passage.metadata) for passage in passages],
            ids=[passage.id for passage in passages],
        )

    def _before_filter(self) -> dict[str, int]:
        """LangChain's FAISS filters what it has fetched, of which it fetches 20 by default."""
        total = getattr(getattr(self._store, "index", None), "ntotal", None)
        search = getattr(self._store, "similarity_search_with_score", None)
        if self._options.get("filter") is None or not isinstance(total, int) or search is None:
            return {}
        return {"fetch_k": total} if "fetch_k" in inspect.signature(search).parameters else {}


class LangChainRetriever:
    """A retriever without a vector store of its own, asked for more than its k on a copy."""

    def __init__(self, retriever: Any) -> None:
        self._retriever = retriever
        self._has_warned = False

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        """Return at most `limit` passages: what the retriever answers, where its k can be raised.

        A retriever without a k answers as many as it likes; that this ends the search is logged
        once.
        """
        wide, can_widen = widened(self._retriever, limit)
        found = [as_passage(document) for document in ask(wide, "invoke", query)]
        if len(found) < limit and not can_widen and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s answers %d passages and has no k to ask for more with: attributions search no "
                "further; pass its vector store, or a callable retrieve(query, limit)",
                type(self._retriever).__name__,
                len(found),
            )
        return found[:limit]


def widened(retriever: Any, limit: int) -> tuple[Any, bool]:
    """Return a retriever that answers `limit` passages, and whether its k could be told.

    The caller's own stays as it is: what has to change is changed on a copy, in the retrievers
    inside it as well (LangChain's ensemble and compression, LlamaIndex's fusion and auto-merging).
    """
    changes: dict[str, Any] = {}
    can_widen = False
    for name in _SIZES:
        size = getattr(retriever, name, None)
        if isinstance(size, int):
            can_widen = True
            if size < limit:
                changes[name] = limit
    if getattr(retriever, "vectorstore", None) is not None:
        can_widen = True
        changes["search_type"] = "similarity"  # others fetch no more than their fetch_k
        options = _for_similarity(getattr(retriever, "search_kwargs", None))
        changes["search_kwargs"] = {**options, "k": limit}
    for name in _INNER:
        inner = getattr(retriever, name, None)
        if callable(getattr(inner, "invoke", None)) or callable(getattr(inner, "retrieve", None)):
            changes[name], inner_can = widened(inner, limit)
            can_widen |= inner_can
    for name in _INNERS:
        inners = getattr(retriever, name, None)
        if isinstance(inners, list) and inners:
            pairs = [widened(inner, limit) for inner in inners]
            changes[name] = [wide for wide, _ in pairs]
            can_widen |= all(inner_can for _, inner_can in pairs)
    if not changes:
        return retriever, can_widen
    wide = copy.copy(retriever)
    for name, value in changes.items():
        setattr(wide, name, value)
    return wide, can_widen


def _for_similarity(options: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        name: value for name, value in (options or {}).items() if name not in _NOT_FOR_SIMILARITY
    }
