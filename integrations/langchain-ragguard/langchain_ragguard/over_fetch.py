"""How to ask a retriever for more documents than its caller will get."""

from __future__ import annotations

import inspect
from typing import Any

from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.vectorstores import VectorStoreRetriever

__all__ = ["fetching"]

_MMR_CANDIDATES = 20  # LangChain's own default of `fetch_k` in a search by marginal relevance


def fetching(base: RetrieverLike, count: int) -> tuple[RetrieverLike, dict[str, Any]]:
    """Return a retriever that fetches `count` documents, and the options to invoke it with.

    `base` itself is never changed. One that has no way to be asked comes back as it is.
    """
    if not isinstance(base, BaseRetriever):
        return base, {}
    if isinstance(base, VectorStoreRetriever):
        search = {**base.search_kwargs, "k": count}
        if base.search_type == "mmr":
            search["fetch_k"] = max(search.get("fetch_k", _MMR_CANDIDATES), count)
        return base.model_copy(update={"search_kwargs": search}), {}
    if "k" in inspect.signature(base._get_relevant_documents).parameters:
        return base, {"k": count}
    if "k" in type(base).model_fields:
        return base.model_copy(update={"k": count}), {}
    return base, {}
