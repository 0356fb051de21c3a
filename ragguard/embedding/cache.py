"""Embeds each text once: a content-hash LRU cache in front of any embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder, QueryEmbedder, as_embedder, unit_rows
from ragguard.errors import EmbeddingError, RagguardError
from ragguard.lru import LRU
from ragguard.passage import text_digest
from ragguard.text import MAX_CHARS, both_ends

__all__ = ["CachedEmbedder"]


class CachedEmbedder:
    """An embedder that keeps the vectors of recent texts. Safe to share between threads.

    Args:
        inner: The embedder that computes what is not cached, one batch a call.
        max_bytes: Size of the cached vectors; the least recently used go first.
    """

    def __init__(self, inner: Embedder, *, max_bytes: int = 64 * 2**20) -> None:
        self._inner = inner
        self._of_query = inner.embed_query if isinstance(inner, QueryEmbedder) else None
        self._rows: LRU[bytes, NDArray[np.float32]] = LRU(max_bytes)
        self._width: int | None = None

    @classmethod
    def of(cls, embedder: Any) -> CachedEmbedder:
        """Return what `as_embedder` takes with a cache in front, unless it has one already."""
        return embedder if isinstance(embedder, cls) else cls(as_embedder(embedder))

    @property
    def name(self) -> str:
        return self._inner.name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), d), rows of length 1 (zero for a blank text).

        Of a text of more than `MAX_CHARS` characters the embedder is given both ends: one that
        refuses long texts must not be made to fail by whoever plants one.

        Raises:
            EmbeddingError: The inner embedder fails, or its answer has the wrong shape, another
                length than before, or is not finite.
        """
        if not texts:
            return np.zeros((0, self._width or 1), dtype=np.float32)
        keys = [text_digest(text) for text in texts]
        known = {key: self._rows.get(key) for key in keys}
        found = {key: row for key, row in known.items() if row is not None}
        missing = {
            key: both_ends(text, MAX_CHARS)
            for key, text in zip(keys, texts, strict=True)
            if key not in found and text.strip()
        }
        if missing:
            fresh = dict(zip(missing, self._compute(list(missing.values())), strict=True))
            found |= fresh
            for key, row in fresh.items():
                # A copy: a row view would keep its whole batch alive.
                self._rows.put(key, row.copy(), row.nbytes)
        # A blank text never reaches the embedder: some models answer NaN to it.
        if self._width is None:
            self._compute(["word"])  # any word tells how long the vectors of blank texts are
        rows = np.zeros((len(texts), self._width or 1), dtype=np.float32)
        for row, key in zip(rows, keys, strict=True):
            if key in found:
                row[:] = found[key]
        return rows

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """Return a question's vector, float32 of shape (d,) and length 1 (zero if it is blank).

        Raises:
            EmbeddingError: As `embed`.
        """
        return self.embed_both(query, ())[0]

    def embed_both(
        self, query: str, texts: Sequence[str]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return a question's vector and those of texts, as `embed_query` and `embed` do.

        Raises:
            EmbeddingError: As `embed`.
        """
        of_query = self._of_query
        if of_query is None or not query.strip():
            rows = self.embed([query, *texts])
            return rows[0], rows[1:]
        row = self._compute([both_ends(query, MAX_CHARS)], lambda asked: [of_query(asked[0])])[0]
        return row, self.embed(texts)

    def _compute(
        self, texts: list[str], embed: Callable[[list[str]], Any] | None = None
    ) -> NDArray[np.float32]:
        rows = self._checked(texts, embed or self._inner.embed)
        width = rows.shape[1]
        if self._width is not None and width != self._width:
            raise EmbeddingError(
                f"embedder {self._inner.name!r} answers vectors of {width} numbers, before it was "
                f"{self._width}; give every model its own embedder"
            )
        self._width = width
        return rows

    def _checked(self, texts: list[str], embed: Callable[[list[str]], Any]) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):  # what does not fit in float32 is infinite, see below
                rows = np.asarray(embed(texts), dtype=np.float32)
        except RagguardError:
            raise
        except Exception as error:  # whatever a model or a remote service raises
            raise EmbeddingError(
                f"embedder {self.name!r} failed on {len(texts)} texts: "
                f"{type(error).__name__}: {error}"
            ) from error
        if rows.ndim != 2 or rows.shape[0] != len(texts) or rows.shape[1] == 0:
            raise EmbeddingError(
                f"embedder {self.name!r} answered an array of shape {rows.shape} to "
                f"{len(texts)} texts; it must return one row a text, shape ({len(texts)}, d)"
            )
        if not np.isfinite(rows).all():
            bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise EmbeddingError(
                f"embedder {self.name!r} answered NaN or infinity for the text that begins "
                f"{texts[bad][:60]!r}; check the model, or leave that passage out"
            )
        return unit_rows(rows)
