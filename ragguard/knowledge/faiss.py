"""A FAISS index, with the texts that it holds the vectors of."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.knowledge.sources import Adapter, Vectors, vectors_of
from ragguard.passage import Passage

Texts = Sequence[str | Passage] | Mapping[int, str | Passage]

_NUMBER = re.compile("[0-9]{1,18}")  # below 2^63, with room for those that follow


class FaissIndex(Adapter):
    """A FAISS index and its texts, which are kept in step with it.

    Scores are what the index's metric says. Vectors come back where the index can tell them.
    `texts` are by position or by id, and the id of a plain string is the number. `embedder` is what
    made the vectors; None is the built-in one.
    """

    _may_share_ids = True

    def __init__(self, index: Any, texts: Texts, embedder: Any) -> None:
        self._index = index
        self._texts: Any = texts
        self._vectors = Vectors(embedder)

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        count = min(limit, int(self._index.ntotal))
        if count < 1:
            return []
        target = self._fitting(self._vectors.of_query(query)[None])
        scores, places = self._index.search(target, count)
        # FAISS fills up with -1, such as where an IVF index probes one cell.
        if (places < 0).any() and (all_cells := self._all_cells()) is not None:
            scores, places = self._index.search(target, count, params=all_cells)
        return [
            self._at(int(place), score=float(score))
            for place, score in zip(places[0], scores[0], strict=True)
            if place >= 0
        ]

    def _find(self, ids: list[str]) -> list[Passage]:
        numbers = self._numbers()
        return [
            self._at(number, score=None, embedding=self._vector(number))
            for name in ids
            for number in numbers.get(name, ())
        ]

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        self._check_can_change()
        return super().remove(ids)

    def _delete(self, ids: list[str]) -> None:
        numbers = self._numbers()
        gone = np.array([n for name in ids for n in numbers[name]], dtype=np.int64)
        try:
            self._index.remove_ids(gone)
        except RuntimeError as error:
            raise InvalidInputError(
                f"a FAISS {type(self._index).__name__} cannot remove vectors; keep them in an "
                "IndexIDMap2 over a flat or IVF index"
            ) from error
        # From the back: what follows in a list moves up, as it does in the index.
        for number in sorted(gone.tolist(), reverse=True):
            del self._texts[number]

    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None:
        # First, or what is there would be lost to a model that does not answer.
        rows = self._fitting(vectors_of(passages, self._vectors, "index"))
        self.remove(ids)
        # The vectors are in the index; kept with the texts as well they would only grow stale.
        bare = [Passage(p.text, id=p.id, metadata=p.metadata) for p in passages]
        if not isinstance(self._texts, MutableMapping):
            self._index.add(rows)
            self._texts.extend(bare)
            return
        free = max(self._texts, default=-1) + 1
        numbers: list[int] = []
        for passage in bare:
            own = int(passage.id) if _NUMBER.fullmatch(passage.id) else free
            number = free if own in self._texts else own
            free = max(free, number + 1)
            numbers.append(number)
            plain = passage.id == str(number) and not passage.metadata
            self._texts[number] = passage.text if plain else passage
        self._index.add_with_ids(rows, np.array(numbers, dtype=np.int64))

    def _fitting(self, vectors: Any) -> NDArray[np.float32]:
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        if rows.shape[1] != int(self._index.d):
            raise EmbeddingError(
                f"embedder {self._vectors.name!r} answers vectors of length {rows.shape[1]}, the "
                f"index holds vectors of length {self._index.d}; pass the embedder that filled it"
            )
        return rows

    def _all_cells(self) -> Any | None:
        """Return the parameters of a search in all cells of an IVF index; None for another one."""
        faiss = import_module("faiss")
        try:
            cells = faiss.extract_index_ivf(self._index).nlist
        except RuntimeError:
            return None
        return faiss.SearchParametersIVF(nprobe=cells)

    def _check_can_change(self) -> None:
        if isinstance(self._texts, MutableMapping):
            return
        if not isinstance(self._texts, MutableSequence):
            raise InvalidInputError(
                f"texts= is a {type(self._texts).__name__}, which cannot follow what is removed; "
                "pass a dict by id, or a list of Passage"
            )
        if not type(self._index).__name__.startswith("IndexFlat"):
            raise InvalidInputError(
                f"positions in a FAISS {type(self._index).__name__} do not move up when a vector "
                "is removed; use an IndexIDMap2 and pass texts= by id"
            )
        if not all(isinstance(text, Passage) for text in self._texts):
            raise InvalidInputError(
                "positions move when a text is removed, so they cannot serve as ids; pass texts= "
                "as a list of Passage with ids of their own"
            )

    def _numbers(self) -> dict[str, list[int]]:
        texts = self._texts
        found: dict[str, list[int]] = {}
        for number, text in texts.items() if isinstance(texts, Mapping) else enumerate(texts):
            name = text.id if isinstance(text, Passage) else str(number)
            found.setdefault(name, []).append(number)
        return found

    def _vector(self, number: int) -> NDArray[np.float32] | None:
        try:
            return np.array(self._index.reconstruct(number), dtype=np.float32)
        except RuntimeError:  # an index without a way from ids to vectors
            return None

    def _at(self, number: int, **known: Any) -> Passage:
        try:
            found = self._texts[number]
        except (KeyError, IndexError):
            raise InvalidInputError(
                f"the index returned id {number}, for which texts= holds nothing; pass the texts "
                "that the index was filled with"
            ) from None
        passage = found if isinstance(found, Passage) else Passage(found, id=str(number))
        return replace(passage, **known)
