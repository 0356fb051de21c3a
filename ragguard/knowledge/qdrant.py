"""A collection in Qdrant: on a server, in a folder, or in memory."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ragguard.errors import InvalidInputError
from ragguard.knowledge.sources import Adapter, Vectors, has, resolved, vectors_of
from ragguard.passage import Passage

_NUMBER = re.compile("[0-9]{1,20}")


class QdrantCollection(Adapter):
    """A Qdrant collection whose points have one dense vector each.

    A passage's id is its point's, as text; its metadata is the payload without the text.
    Scores are what the collection's metric says.

    Args:
        client: A `QdrantClient` or an `AsyncQdrantClient`.
        name: The collection.
        text: The key of the payload under which the text is.
        embedder: What made the vectors; anything that `as_embedder` takes. None: nothing can be
            searched, and only what carries its vector can be put in.

    Raises:
        InvalidInputError: `client` is no Qdrant client, there is no such collection, or its points
            have several vectors or sparse ones, which could not be put back.
    """

    def __init__(self, client: Any, name: str, *, text: str = "text", embedder: Any = None) -> None:
        if not has(client, "query_points"):
            raise InvalidInputError(f"client must be a QdrantClient, not {type(client).__name__}")
        if not resolved(client.collection_exists(name)):
            raise InvalidInputError(
                f"Qdrant has no collection {name!r}; list them with client.get_collections()"
            )
        parameters = resolved(client.get_collection(name)).config.params
        named = parameters.vectors if isinstance(parameters.vectors, dict) else {}
        if len(named) > 1 or parameters.sparse_vectors or parameters.vectors is None:
            raise InvalidInputError(
                f"the points of {name!r} have several vectors, or sparse ones; wrap the collection "
                "in an object with retrieve(query, limit), remove(ids) and add(passages)"
            )
        self._client = client
        self._name = name
        self._text = text
        self._vectors = None if embedder is None else Vectors(embedder)
        self._vector_name: str | None = next(iter(named), None)

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        if self._vectors is None:
            raise InvalidInputError(
                "a Qdrant collection is searched by vectors; pass embedder= with what made them"
            )
        if limit < 1:
            return []
        target = self._vectors.of_query(query).tolist()
        asked = {"using": self._vector_name, "limit": limit, "with_payload": True}
        found = resolved(self._client.query_points(self._name, query=target, **asked))
        payloads = [point.payload or {} for point in found.points]
        if payloads and not any(self._text in payload for payload in payloads):
            raise InvalidInputError(
                f"no point has {self._text!r} in its payload; pass text= with the key under which "
                f"the texts are, of: {', '.join(sorted({key for one in payloads for key in one}))}"
            )
        return [self._passage(point, point.score) for point in found.points]

    def _find(self, ids: list[str]) -> list[Passage]:
        points = [point for point in map(_point_id, ids) if point is not None]
        if not points:
            return []
        wanted = {"with_payload": True, "with_vectors": True}
        found = resolved(self._client.retrieve(self._name, ids=points, **wanted))
        return [self._passage(point) for point in found]

    def _delete(self, ids: list[str]) -> None:
        points = list(map(_point_id, ids))
        resolved(self._client.delete(self._name, points_selector=points, wait=True))

    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None:
        point_type = import_module("qdrant_client.models").PointStruct
        points = []
        rows = vectors_of(passages, self._vectors, "Qdrant collection")
        for passage, row, name in zip(passages, rows, ids, strict=True):
            vector = np.asarray(row).tolist()
            point = _point_id(name)
            if point is None:
                raise InvalidInputError(f"Qdrant takes numbers and UUIDs for ids, not {name!r}")
            named = vector if self._vector_name is None else {self._vector_name: vector}
            payload = {**passage.metadata, self._text: passage.text}
            points.append(point_type(id=point, vector=named, payload=payload))
        resolved(self._client.upsert(self._name, points=points, wait=True))

    def _passage(self, point: Any, score: float | None = None) -> Passage:
        payload = dict(point.payload or {})
        text = payload.pop(self._text, "")
        vector = getattr(point, "vector", None)
        if isinstance(vector, dict):
            vector = vector[self._vector_name]
        return Passage(
            str(text),
            id=str(point.id),
            score=score,
            embedding=None if vector is None else np.asarray(vector, dtype=np.float32),
            metadata=payload,
        )


def _point_id(name: str) -> int | str | None:
    if _NUMBER.fullmatch(name) and int(name) < 2**64:
        return int(name)
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return None
