"""One call of the embedder for the passages of many sets."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.errors import RagguardError
from ragguard.passage import Passage

__all__ = ["embedded_at_once"]

logger = logging.getLogger(__name__)


def embedded_at_once(sets: Iterable[Sequence[Passage]], embedder: Embedder) -> Embedder:
    """Return an embedder that knows the vectors of these sets, from one call of `embedder`.

    Passages of a set in which all carry a vector are not embedded. If the call fails, `embedder`
    itself is returned: one text that cannot be embedded must not cost the other sets theirs.

    Args:
        sets: The passages of each set that needs vectors.
        embedder: Computes them.
    """
    texts = dict.fromkeys(
        passage.text
        for passages in sets
        if any(passage.embedding is None for passage in passages)
        for passage in passages
    )
    if not texts:
        return embedder
    try:
        rows = embedder.embed(list(texts))
    except RagguardError as error:
        logger.warning(
            "%d texts cannot be embedded at once, trying set by set: %s", len(texts), error
        )
        return embedder
    return _Known(embedder.name, dict(zip(texts, rows, strict=True)))


class _Known:
    """Vectors of a batch; they stay even where the batch is larger than the embedder's cache."""

    def __init__(self, name: str, rows: dict[str, NDArray[np.float32]]) -> None:
        self.name = name
        self._rows = rows

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the rows of texts of the batch."""
        return np.stack([self._rows[text] for text in texts])
