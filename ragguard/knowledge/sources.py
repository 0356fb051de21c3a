"""What the adapters share: awaiting, documents as passages, wider retrievers, vectors as stored."""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.async_bridge import BackgroundLoop
from ragguard.embedding.adapt import answered, answered_to_one, as_embedder, functions_of
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.text import encodable

logger = logging.getLogger(__name__)

_BATCH = 256  # texts embedded at once
_NOT_FOR_SIMILARITY = frozenset({"k", "fetch_k", "lambda_mult", "score_threshold"})
_SIZES = ("k", "top_k", "similarity_top_k")
_INNER = ("base_retriever", "retriever", "_vector_retriever", "retrievers", "_retrievers")

resolved = BackgroundLoop("ragguard-knowledge-loop").resolved
"""Returns a value, or what it comes to if it can be awaited.

All of a process's sources are awaited on this one loop: give attribution a client of its own.
"""


def has(source: Any, *methods: str) -> bool:
    """Return whether a framework's object has all of these methods."""
    return all(callable(getattr(source, method, None)) for method in methods)


def ask(source: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a method of a framework's object, or its asynchronous twin where it has that alone."""
    for name in (method, f"a{method}"):
        function = getattr(source, name, None)
        if callable(function):
            try:
                return resolved(function(*args, **options))
            except NotImplementedError:
                continue
    raise NotImplementedError(f"{type(source).__name__} has no {method} and no a{method}")


class Adapter(ABC):
    """A knowledge base that is asked for each id once, and for nothing where there is no id."""

    _may_share_ids = False
    """Whether several texts can stand under one id."""

    def find(self, ids: Sequence[str]) -> list[Passage]:
        some = storable(dict.fromkeys(ids))
        return self._find(some) if some else []

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        found = self.find(ids)
        if found:
            self._delete(list(dict.fromkeys(passage.id for passage in found)))
        return found

    def add(self, passages: Sequence[Passage]) -> None:
        if passages and not self._may_share_ids:
            passages = [*{passage.id: passage for passage in passages}.values()]
        if passages:
            self._add(passages, [passage.id for passage in passages])

    @abstractmethod
    def _find(self, ids: list[str]) -> list[Passage]: ...

    @abstractmethod
    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None: ...

    def _delete(self, ids: list[str]) -> None:
        raise NotImplementedError


def storable(ids: Iterable[str]) -> list[str]:
    """Return those that a database may hold, which are UTF-8 without zeros; others stop it."""
    return [name for name in ids if "\0" not in name and encodable(name) == name]


def by_id(passages: Iterable[Passage]) -> dict[str, list[Passage]]:
    """Return passages by their ids, of which a knowledge base may hold several texts."""
    found: dict[str, list[Passage]] = {}
    for passage in passages:
        found.setdefault(passage.id, []).append(passage)
    return found


def as_passage(document: Any, score: float | None = None) -> Passage:
    """Return a str, a LangChain `Document`, a LlamaIndex node or a `Passage` as a passage."""
    if isinstance(document, Passage):
        return document
    if isinstance(document, str):
        return Passage(document, score=score)
    node = getattr(document, "node", document)  # LlamaIndex: NodeWithScore
    score = getattr(document, "score", None) if score is None else score
    metadata = getattr(node, "metadata", None)
    content = getattr(node, "page_content", None)
    if isinstance(content, str):
        name = getattr(node, "id", None)
        if name is None and isinstance(metadata, dict):
            name = metadata.get("_id")  # where langchain-qdrant puts the point's id
        name = None if name is None else str(name)
        return Passage(content, id=name, score=score, metadata=metadata)
    if callable(getattr(node, "get_content", None)):
        return Passage(node.get_content(), id=node.node_id, score=score, metadata=metadata)
    raise InvalidInputError(
        f"a retriever returned a {type(document).__name__}; it must return documents, nodes, "
        "str or Passage"
    )


class Retriever:
    """A framework's retriever, which `invoke` or `retrieve` asks for more than its k on a copy."""

    def __init__(self, retriever: Any, method: str) -> None:
        self._retriever = retriever
        self._method = method
        self._has_warned = False

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        """Return at most `limit` passages; that there may be more is logged once."""
        wide, can_widen = _widened(self._retriever, limit)
        found = [as_passage(document) for document in ask(wide, self._method, query)]
        if len(found) < limit and not can_widen and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s answers %d passages and has no k to ask for more with: attributions search no "
                "further; pass its vector store, or a callable retrieve(query, limit)",
                type(self._retriever).__name__,
                len(found),
            )
        return found[:limit]


def _widened(retriever: Any, limit: int) -> tuple[Any, bool]:
    """Return a retriever and those inside it with a k of `limit`, and whether that was possible."""
    sizes = ((name, getattr(retriever, name, None)) for name in _SIZES)
    known = {name: size for name, size in sizes if isinstance(size, int)}
    changes: dict[str, Any] = {name: limit for name, size in known.items() if size < limit}
    can_widen = bool(known)
    if getattr(retriever, "vectorstore", None) is not None:
        can_widen = True
        changes["search_type"] = "similarity"  # others fetch no more than their fetch_k
        options = for_similarity(getattr(retriever, "search_kwargs", None))
        changes["search_kwargs"] = {**options, "k": limit}
    for name in _INNER:
        inner = getattr(retriever, name, None)
        inners = inner if isinstance(inner, list) else [inner]
        if inners and all(has(one, "invoke") or has(one, "retrieve") for one in inners):
            wides, cans = zip(*(_widened(one, limit) for one in inners), strict=True)
            changes[name] = list(wides) if inners is inner else wides[0]
            can_widen |= all(cans)
    if not changes:
        return retriever, can_widen
    wide = copy.copy(retriever)
    for name, value in changes.items():
        setattr(wide, name, value)
    return wide, can_widen


def for_similarity(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a LangChain retriever's search options, without those of another kind of search."""
    return {
        name: value for name, value in (options or {}).items() if name not in _NOT_FOR_SIMILARITY
    }


class Vectors:
    """What filled a knowledge base with vectors, each at its own length, as distances need it."""

    def __init__(self, embedder: Any) -> None:
        known = as_embedder(embedder)
        self.name = known.name
        # By its own functions, since `known` may scale every vector to length 1.
        self._of_texts, self._of_query = functions_of(known if embedder is None else embedder)

    def of_query(self, query: str) -> NDArray[np.float32]:
        """Return the query's vector, float32 of shape (d,)."""
        if self._of_query is not None:
            return answered_to_one(self.name, encodable(query), self._of_query)
        row: NDArray[np.float32] = self.of_texts([query])[0]
        return row

    def of_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the texts' vectors, float32 of shape (n, d)."""
        return answered(self.name, [encodable(text) for text in texts], self._of_texts)


def vectors_of(passages: Sequence[Passage], vectors: Vectors | None, base: str) -> list[Any]:
    """Return a vector for each passage: its own, else the embedder's."""
    bare = [passage for passage in passages if passage.embedding is None]
    if bare and vectors is None:
        raise InvalidInputError(
            f"passage {bare[0].id!r} has no embedding; pass embedder= with the {base}"
        )
    made: list[Any] = []
    while vectors is not None and len(made) < len(bare):
        made.extend(vectors.of_texts([p.text for p in bare[len(made) :][:_BATCH]]))
    rest = iter(made)
    return [next(rest) if p.embedding is None else p.embedding for p in passages]
