"""Any knowledge base as `retrieve(query, limit)`, the search that attribution asks for.

Attribution reads further down the ranking than the generator does, so a retriever's own limit must
not end the search: it is asked again with a larger k, on a copy where k is part of it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ragguard.attribution.attribution import Retrieve
from ragguard.embedding import as_embedder
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.passage import Passage, as_passages

__all__ = ["as_passage", "as_retrieve"]

_Texts = Sequence[str | Passage] | Mapping[int, str | Passage]


def as_retrieve(source: Any, *, texts: _Texts | None = None, embedder: Any = None) -> Retrieve:
    """Return `source` as a search of the whole knowledge base, best first.

    Args:
        source: A LangChain vector store or retriever, a LlamaIndex index or retriever, a FAISS
            index, an object with `retrieve(query, limit)`, or a callable `(query, limit)`. One that
            caps its answers may take `offset` as a third argument; it is then asked page by page. A
            LangChain retriever over a vector store searches by similarity here, whatever its search
            type, and a retriever without a k of its own answers with what it returns by itself.
        texts: For a FAISS index: its texts, by position or by id.
        embedder: For a FAISS index: what made its vectors; anything that `as_embedder` takes.

    Raises:
        InvalidInputError: `source` is none of these, or `texts` come without a FAISS index or are
            missing for one.
    """
    is_faiss = hasattr(source, "ntotal") and callable(getattr(source, "search", None))
    if is_faiss != (texts is not None):
        raise InvalidInputError(
            "a FAISS index holds vectors only; pass texts= (by position or by id) with it"
            if is_faiss
            else f"texts= belongs to a FAISS index, not to a {type(source).__name__}"
        )
    if isinstance(source, type):
        raise InvalidInputError(f"pass an instance of {source.__name__}, not the class")
    if texts is not None:
        return _faiss(source, texts, embedder)
    for adapt in (_vector_store, _over_vector_store, _index, _retriever, _runnable):
        found = adapt(source)
        if found is not None:
            return found
    if callable(source):
        return _paged(source) if _takes(source, "", 1, offset=0) else source
    raise InvalidInputError(
        f"retrieve must be a callable retrieve(query, limit), not a {type(source).__name__}; a "
        "LangChain or LlamaIndex retriever, vector store or index will do, and so will a FAISS "
        "index with texts="
    )


def as_passage(document: Any, score: float | None = None) -> Passage:
    """Return a str, a LangChain `Document`, a LlamaIndex node or a `Passage` as a passage.

    Raises:
        InvalidInputError: It is none of these.
    """
    if isinstance(document, Passage):
        return document
    if isinstance(document, str):
        return Passage(document, score=score)
    node = getattr(document, "node", document)  # LlamaIndex: NodeWithScore
    score = getattr(document, "score", None) if score is None else score
    metadata = getattr(node, "metadata", None)
    content = getattr(node, "page_content", None)
    if isinstance(content, str):
        return Passage(content, id=getattr(node, "id", None), score=score, metadata=metadata)
    if callable(getattr(node, "get_content", None)):
        return Passage(node.get_content(), id=node.node_id, score=score, metadata=metadata)
    raise InvalidInputError(
        f"a retriever returned a {type(document).__name__}; it must return documents, nodes, "
        "str or Passage"
    )


def _vector_store(source: Any, options: Mapping[str, Any] | None = None) -> Retrieve | None:
    if not callable(getattr(source, "similarity_search", None)):
        return None
    extra = dict(options or {})

    def retrieve(query: str, limit: int) -> list[Passage]:
        try:
            scored = source.similarity_search_with_score(query, k=limit, **extra)
        except (AttributeError, NotImplementedError):
            return [as_passage(d) for d in source.similarity_search(query, k=limit, **extra)]
        return [as_passage(document, float(score)) for document, score in scored]

    return retrieve


_NOT_FOR_SIMILARITY = frozenset({"k", "fetch_k", "lambda_mult", "score_threshold"})


def _over_vector_store(source: Any) -> Retrieve | None:
    """A LangChain `VectorStoreRetriever`: its store, searched with its filters."""
    own = getattr(source, "search_kwargs", None) or {}
    options = {name: value for name, value in own.items() if name not in _NOT_FOR_SIMILARITY}
    return _vector_store(getattr(source, "vectorstore", None), options)


def _index(source: Any) -> Retrieve | None:
    """A LlamaIndex index, which makes a retriever for every k."""
    if not callable(getattr(source, "as_retriever", None)):
        return None

    def retrieve(query: str, limit: int) -> list[Passage]:
        found = source.as_retriever(similarity_top_k=limit).retrieve(query)
        return [as_passage(node) for node in found]

    return retrieve


def _retriever(source: Any) -> Retrieve | None:
    """An object with `retrieve`: with a limit like ours, or a LlamaIndex retriever."""
    method = getattr(source, "retrieve", None)
    if not callable(method):
        return None
    if _takes(method, "", 1):
        return _paged(method) if _takes(method, "", 1, offset=0) else method

    def retrieve(query: str, limit: int) -> list[Passage]:
        found = _with_k(source, "similarity_top_k", limit).retrieve(query)
        return [as_passage(node) for node in found][:limit]

    return retrieve


def _runnable(source: Any) -> Retrieve | None:
    """A LangChain retriever."""
    if not callable(getattr(source, "invoke", None)):
        return None

    def retrieve(query: str, limit: int) -> list[Passage]:
        found = _with_k(source, "k", limit).invoke(query)
        return [as_passage(document) for document in found][:limit]

    return retrieve


def _with_k(retriever: Any, name: str, limit: int) -> Any:
    """Return the retriever, or a copy that returns more: the caller's own stays as it is."""
    size = getattr(retriever, name, None)
    if not isinstance(size, int) or size >= limit:
        return retriever
    widened = copy.copy(retriever)
    setattr(widened, name, limit)
    return widened


def _paged(search: Callable[..., Iterable[str | Passage]]) -> Retrieve:
    """Return a search that asks for page after page until it has `limit` or there are no more."""

    def retrieve(query: str, limit: int) -> list[Passage]:
        found: list[Passage] = []
        while len(found) < limit:
            page = as_passages(search(query, limit - len(found), offset=len(found)))
            if not page:
                break
            found += page
        return found[:limit]

    return retrieve


def _takes(function: Callable[..., Any], *positional: Any, **named: Any) -> bool:
    try:
        signature = inspect.signature(function)
        signature.bind(*positional, **named)
    except (TypeError, ValueError):
        return False
    return set(named) <= set(signature.parameters)


def _faiss(index: Any, texts: _Texts, embedder: Any) -> Retrieve:
    chosen = as_embedder(embedder)

    def retrieve(query: str, limit: int) -> list[Passage]:
        count = min(limit, int(index.ntotal))
        if count < 1:
            return []
        target = np.ascontiguousarray(chosen.embed([query]), dtype=np.float32)
        if target.shape != (1, int(index.d)):
            raise EmbeddingError(
                f"embedder {chosen.name!r} answers vectors of shape {target.shape[1:]}, the index "
                f"holds vectors of length {index.d}; pass the embedder that filled the index"
            )
        scores, places = index.search(target, count)
        return [
            _listed(texts, int(place), float(score))
            for place, score in zip(places[0], scores[0], strict=True)
            if place >= 0  # FAISS fills up with -1
        ]

    return retrieve


def _listed(texts: _Texts, place: int, score: float) -> Passage:
    try:
        found = texts[place]
    except (KeyError, IndexError):
        raise InvalidInputError(
            f"the index returned id {place}, for which texts= holds nothing; pass the texts that "
            "the index was filled with"
        ) from None
    if isinstance(found, Passage):
        return Passage(
            found.text,
            id=found.id,
            score=score,
            embedding=found.embedding,
            metadata=found.metadata,
        )
    return Passage(found, id=str(place), score=score)
