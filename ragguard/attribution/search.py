"""Any knowledge base as `retrieve(query, limit)`, the search that attribution asks for.

Attribution reads further down the ranking than the generator does, so a retriever's own limit must
not end the search: it is asked again with a larger k, on a copy where k is part of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ragguard.arguments import foreign, require_not_blank
from ragguard.attribution.result import Retrieve
from ragguard.errors import InvalidInputError, RetrievalError
from ragguard.knowledge.chroma import ChromaCollection
from ragguard.knowledge.faiss import FaissIndex, Texts
from ragguard.knowledge.langchain import LangChainStore
from ragguard.knowledge.llama_index import LlamaIndexIndex
from ragguard.knowledge.sources import Retriever, has, resolved
from ragguard.passage import Passage, as_passages

MAX_LIMIT = 20_000
"""Passages that one search fetches at most: copies of a few texts must not fill the memory."""


def as_retrieve(source: Any, *, texts: Texts | None = None, embedder: Any = None) -> Retrieve:
    """Return `source` as a synchronous search of the whole knowledge base, best first.

    An asynchronous source is awaited on a loop of its own. Where the source answers anything but a
    sequence of str and `Passage` the search raises `InvalidInputError`, and where it raises,
    `RetrievalError`.

    Args:
        source: A LangChain vector store or retriever, a LlamaIndex index or retriever, a Chroma
            collection, a FAISS index, an object with `retrieve(query, limit)` such as
            `ragguard.knowledge.QdrantCollection`, or a callable `(query, limit)`. One that caps its
            answers may take `offset` as a third argument; it is then asked page by page. One that
            takes `tenant` by name is told whose event it searches for (`of_tenant`). A
            LangChain retriever over a vector store searches by similarity here, whatever its search
            type; one that returns parent documents returns them here as well; and one without a k
            of its own answers with what it returns by itself.
        texts: For a FAISS index: its texts, by position or by id.
        embedder: For a FAISS index and a Chroma collection: what made their vectors; anything that
            `as_embedder` takes. Without it Chroma uses the collection's own embedding function, and
            FAISS the built-in embedder.

    Raises:
        InvalidInputError: `source` is none of these, or `texts` come without a FAISS index or are
            missing for one.
    """
    is_faiss = hasattr(source, "ntotal") and has(source, "search")
    if is_faiss != (texts is not None):
        raise InvalidInputError(
            "a FAISS index holds vectors only; pass texts= (by position or by id) with it"
            if is_faiss
            else f"texts= belongs to a FAISS index, not to a {type(source).__name__}"
        )
    if isinstance(source, type):
        raise InvalidInputError(f"pass an instance of {source.__name__}, not the class")
    if isinstance(source, _Search):
        return source
    return _Search(_search_method(source, texts, embedder))


def _search_method(source: Any, texts: Texts | None, embedder: Any) -> Any:
    if texts is not None:
        return FaissIndex(source, texts, embedder).retrieve

    if has(source, "similarity_search") or has(source, "asimilarity_search"):
        return LangChainStore(source).retrieve
    store = getattr(source, "vectorstore", None)
    # What has a docstore beside it answers with other texts than those that it searches.
    if has(store, "similarity_search") and getattr(source, "docstore", None) is None:
        return LangChainStore(store, getattr(source, "search_kwargs", None)).retrieve
    if has(source, "as_retriever"):
        return LlamaIndexIndex(source).retrieve
    if has(source, "query_points"):
        raise InvalidInputError(
            "a QdrantClient holds many collections; pass "
            "ragguard.knowledge.QdrantCollection(client, name, embedder=...)"
        )
    if has(source, "query", "upsert", "count"):
        return ChromaCollection(source, embedder).retrieve
    if has(source, "retrieve"):
        own = _takes(source.retrieve)
        return source.retrieve if own else Retriever(source, "retrieve").retrieve
    if has(source, "invoke"):
        return Retriever(source, "invoke").retrieve
    if callable(source) and _takes(source, unless_said=True):
        return source
    raise InvalidInputError(
        f"retrieve must be a callable retrieve(query, limit), not a {type(source).__name__}; a "
        "LangChain or LlamaIndex retriever, vector store or index will do, and so will a Chroma "
        "collection, a QdrantCollection, or a FAISS index with texts="
    )


def search_of(query: str, response: str, retrieve: Any) -> Retrieve:
    """Return the search for one event, whose query and response must not be blank."""
    require_not_blank(query=query, response=response)
    return as_retrieve(retrieve)


def of_tenant(retrieve: Retrieve, tenant: str) -> Retrieve:
    """Return the search for a tenant, "" for the default one.

    A `retrieve` that takes `tenant` by name is told it, None for the default tenant; one that does
    not searches the same for all.
    """
    if isinstance(retrieve, _Search):
        return _Search(of_tenant(retrieve.search, tenant))
    searches: Any = retrieve
    takes = _takes(retrieve, tenant="")
    return partial(searches, tenant=tenant or None) if takes else retrieve


class _Search:
    """A search whose answers are checked, asked for page after page where it takes `offset`."""

    def __init__(self, search: Callable[..., Any]) -> None:
        self.search = search
        self._paged = _takes(search, offset=0)

    def __call__(self, query: str, limit: int) -> list[Passage]:
        limit = min(limit, MAX_LIMIT)
        if not self._paged:
            return self._page(query, limit)[:limit]
        found: list[Passage] = []
        while len(found) < limit:
            page = self._page(query, limit - len(found), offset=len(found))
            if not page:
                break
            found += page
        return found[:limit]

    @foreign("retrieve", RetrievalError)
    def _page(self, query: str, limit: int, **options: int) -> list[Passage]:
        answer = self.search(query, limit, **options)
        found = answer if isinstance(answer, (list, tuple)) else resolved(answer)
        if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
            raise InvalidInputError(
                "retrieve must return a sequence of str or Passage, best first, [] where it finds "
                f"none; it returned a {type(found).__name__}"
            )
        return as_passages(found)


def _takes(function: Callable[..., Any], *, unless_said: bool = False, **named: Any) -> bool:
    """Return whether a function takes query, limit and these by name; `unless_said` if unknown."""
    try:
        signature = inspect.signature(function)
        signature.bind("", 1, **named)
    except TypeError:
        return False
    except ValueError:
        return unless_said
    return set(named) <= set(signature.parameters)
