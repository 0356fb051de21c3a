"""How to ask a retriever for more documents than its caller will get."""

from __future__ import annotations

import inspect
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableBinding, RunnableConfig
from langchain_core.runnables.config import run_in_executor

__all__ = ["fetching"]

_MMR_CANDIDATES = 20  # LangChain's own default of `fetch_k` in a search by marginal relevance


class _BoundInAThread(RunnableBinding[str, list[Document]]):
    """Binds what a retriever's own `ainvoke`, which is not written for it, does not take."""

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        return await run_in_executor(config, self.invoke, input, config, **kwargs)


def fetching(base: RetrieverLike, count: int) -> tuple[RetrieverLike, bool]:
    """Return a retriever that fetches `count` documents, and whether it could be told to.

    `base` itself is never changed: what has to change is changed on a copy, in the retrievers
    inside it as well. One that has no way to be asked comes back as it is.
    """
    if not isinstance(base, BaseRetriever):
        return base, False
    fields = type(base).model_fields
    if "vectorstore" in fields and "search_kwargs" in fields:
        search = {**base.search_kwargs, "k": count}  # type: ignore[attr-defined]
        if getattr(base, "search_type", None) == "mmr":
            search["fetch_k"] = max(search.get("fetch_k", _MMR_CANDIDATES), count)
        return base.model_copy(update={"search_kwargs": search}), True
    if "k" in inspect.signature(base._get_relevant_documents).parameters:
        own = type(base)._aget_relevant_documents is not BaseRetriever._aget_relevant_documents
        kind = RunnableBinding if own else _BoundInAThread
        return kind(bound=base, kwargs={"k": count}, config={}), True
    changes: dict[str, Any] = {name: count for name in ("k", "top_k") if name in fields}
    can_widen = bool(changes)
    for name in ("base_retriever", "retriever"):  # LangChain's compression and multi-query
        if name in fields:
            changes[name], inner_can = fetching(getattr(base, name), count)
            can_widen |= inner_can
    if "retrievers" in fields:  # its ensembles and mergers
        pairs = [fetching(inner, count) for inner in base.retrievers]  # type: ignore[attr-defined]
        changes["retrievers"] = [wide for wide, _ in pairs]
        can_widen |= all(inner_can for _, inner_can in pairs)
    return (base.model_copy(update=changes) if changes else base), can_widen
