"""A knowledge base in memory: every passage ranked exactly, without an index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_whole
from ragguard.embedding.adapt import unit_rows
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.files import read_passages
from ragguard.knowledge.sources import Vectors, vectors_of
from ragguard.passage import Passage, as_passages


class KnowledgeBase:
    """Passages ranked by their cosine with the query; `retrieve` is what an attributor asks for.

    Exact and deterministic: of two passages with one cosine the earlier comes first, and a longer
    ranking begins with the shorter one. Holds 4 d bytes a passage (4 KiB with the built-in
    embedder) and reads all of them for every query. Any number of threads may retrieve, while one
    changes what is there.

    Args:
        passages: Strings become passages. A passage's own embedding is used instead of embedding
            its text, so it must come from the same model.
        embedder: Whatever `ragguard.embedding.as_embedder` takes; None for the built-in one. Give
            the attributor the same one: it will use the embeddings that `retrieve` hands out.

    Raises:
        InvalidInputError: `passages` holds something else than passages and strings.
        EmbeddingError: Embeddings are not finite or not all of one length.
    """

    def __init__(self, passages: Iterable[str | Passage] = (), *, embedder: Any = None) -> None:
        self._vectors = Vectors(embedder)
        # One attribute, so that no thread sees passages with the vectors of others.
        self._held: tuple[list[Passage], NDArray[np.float32]] = ([], np.zeros((0, 1), np.float32))
        self.add(passages)

    @classmethod
    def from_jsonl(cls, path: str | Path, *, embedder: Any = None) -> KnowledgeBase:
        """Read one passage a line: a string, or an object with "text" and optionally "id".

        Raises:
            InvalidInputError: The file cannot be read, holds no passage, or a line of it is bad;
                the message then begins with "file:number".
        """
        passages = read_passages(path)
        if not passages:
            raise InvalidInputError(
                f'{path} holds no passages; write one object with "id" and "text" a line'
            )
        return cls(passages, embedder=embedder)

    def __len__(self) -> int:
        return len(self._held[0])

    def add(self, passages: Iterable[str | Passage]) -> None:
        """Put passages in; one whose id is there already is replaced. Raises as the constructor."""
        new = as_passages(passages)
        if not new:
            return
        rows = self._embedded(new)
        others, kept = self._without({passage.id for passage in new})
        if others:
            self._require_width(rows.shape[1], kept.shape[1])
            rows = np.concatenate([kept, rows])
        rows.setflags(write=False)
        self._held = [*others, *new], rows

    def find(self, ids: Iterable[str]) -> list[Passage]:
        wanted = {ids} if isinstance(ids, str) else set(ids)
        return [passage for passage in self._held[0] if passage.id in wanted]

    def remove(self, ids: Iterable[str]) -> list[Passage]:
        removed = self.find(ids)
        self._held = self._without({passage.id for passage in removed})
        return removed

    def _without(self, ids: set[str]) -> tuple[list[Passage], NDArray[np.float32]]:
        passages, rows = self._held
        kept = [index for index, passage in enumerate(passages) if passage.id not in ids]
        rows = rows[kept]
        rows.setflags(write=False)
        return [passages[index] for index in kept], rows

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        """Return the `limit` passages that are most similar to the query, best first.

        They are copies whose `score` is the cosine and whose `embedding` is the vector, float32 of
        shape (d,) and length 1, read-only.

        Raises:
            InvalidInputError: `limit` is no whole number, or negative.
            EmbeddingError: The embedder's answer to the query does not fit the passages.
        """
        passages, rows = self._held
        count = min(require_whole("limit", limit, least=0), len(passages))
        if count == 0:
            return []
        asked = unit_rows(self._vectors.of_query(query))
        self._require_width(asked.size, rows.shape[1])
        cosines = rows @ asked
        return [
            replace(passages[index], score=float(cosines[index]), embedding=rows[index])
            for index in _best(cosines, count)
        ]

    def _embedded(self, passages: list[Passage]) -> NDArray[np.float32]:
        vectors = vectors_of(passages, self._vectors, "knowledge base")
        complete = [np.asarray(vector, dtype=np.float32) for vector in vectors]
        shapes = {vector.shape for vector in complete}
        if len(shapes) > 1 or len(complete[0].shape) != 1:
            raise EmbeddingError(
                f"the passages' embeddings have the shapes {sorted(shapes)}; they must come from "
                f"one embedder: leave them out to have {self._vectors.name!r} make them anew"
            )
        rows = np.stack(complete)
        if not np.isfinite(rows).all():
            raise EmbeddingError(
                "an embedding holds NaN or infinity; check the model that made it, or leave that "
                "passage out"
            )
        return unit_rows(rows)

    def _require_width(self, found: int, held: int) -> None:
        if found != held:
            raise EmbeddingError(
                f"embedder {self._vectors.name!r} answers vectors of {found} numbers, "
                f"the passages have {held}; use the embedder that made the "
                "passages' embeddings, or leave those out"
            )


def _best(cosines: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` largest values, largest first, ties in input order."""
    bound = np.partition(cosines, -count)[-count]
    # With all that tie with the last place: which of them partition() puts in front is left open.
    candidates = np.flatnonzero(cosines >= bound)
    return candidates[np.argsort(-cosines[candidates], kind="stable")][:count]
