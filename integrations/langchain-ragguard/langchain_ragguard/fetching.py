"""How a retriever is asked for more documents than its caller will get."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableBinding, RunnableConfig
from langchain_core.runnables.config import run_in_executor

_MMR_CANDIDATES = 20  # LangChain's own default of `fetch_k` in a search by marginal relevance


class _BoundInAThread(RunnableBinding[str, list[Document]]):
    """Binds what a retriever's own `ainvoke`, which is not written for it, does not take."""

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        return await run_in_executor(config, self.invoke, input, config, **kwargs)


def merged(found: Sequence[Iterable[Document]]) -> Iterable[Document]:
    """Return the first of some answers, and behind it what only the others have."""
    if len(found) == 1:
        return found[0]
    first = [*found[0]]
    known = {_identity(document) for document in first}
    more = [document for document in chain(*found[1:]) if _identity(document) not in known]
    return [*first, *more]


def _identity(document: Document) -> tuple[object, ...]:
    return document.id, document.page_content, repr(document.metadata)


def _is_over_store(base: RetrieverLike) -> bool:
    fields = type(base).model_fields if isinstance(base, BaseRetriever) else {}
    return "vectorstore" in fields and "search_kwargs" in fields


def choosing(base: RetrieverLike, k: int) -> list[RetrieverLike]:
    """Return what chooses k by marginal relevance as it would without a guard, if `base` does so.

    The first k of a larger choice are others: Chroma answers the most similar ones first, and
    whoever fetches more chooses among more.
    """
    if not (_is_over_store(base) and getattr(base, "search_type", None) == "mmr"):
        return []
    known: Any = base
    return [known.model_copy(update={"search_kwargs": {**known.search_kwargs, "k": k}})]


def fetching(base: RetrieverLike, count: int) -> tuple[RetrieverLike, bool]:
    """Return a retriever that fetches `count` documents, and whether it could be told to.

    `base` itself is never changed: what has to change is changed on a copy, in the retrievers
    inside it as well. One that has no way to be asked comes back as it is.
    """
    if not isinstance(base, BaseRetriever):
        return base, False
    fields, known = type(base).model_fields, cast("Any", base)
    changes: dict[str, Any] = {name: count for name in ("k", "top_k") if name in fields}
    if _is_over_store(base):
        changes["search_kwargs"] = search = {**known.search_kwargs, "k": count}
        if getattr(base, "search_type", None) == "mmr":
            search["fetch_k"] = max(search.get("fetch_k", _MMR_CANDIDATES), count)
        return base.model_copy(update=changes), True
    if "k" in inspect.signature(base._get_relevant_documents).parameters:
        own = "k" in inspect.signature(base._aget_relevant_documents).parameters
        kind = RunnableBinding if own else _BoundInAThread
        return kind(bound=base, kwargs={"k": count}, config={}), True
    can_widen = bool(changes)
    for name in ("base_retriever", "retriever"):  # LangChain's compression and multi-query
        if name in fields:
            changes[name], inner_can = fetching(getattr(base, name), count)
            can_widen |= inner_can
    inner = known.retrievers if "retrievers" in fields else ()  # its ensembles and mergers
    if isinstance(inner, (Mapping, list, tuple)) and inner:
        named = inner if isinstance(inner, Mapping) else dict(enumerate(inner))
        wide, cans = zip(*(fetching(one, count) for one in named.values()), strict=True)
        changes["retrievers"] = dict(zip(named, wide, strict=True)) if named is inner else [*wide]
        can_widen |= all(cans)
    if "base_compressor" in fields:
        reranker = known.base_compressor
        if "top_n" in getattr(type(reranker), "model_fields", ()):
            changes["base_compressor"] = reranker.model_copy(update={"top_n": count})
        else:  # it may cut as it likes
            can_widen = False
    return (base.model_copy(update=changes) if changes else base), can_widen
