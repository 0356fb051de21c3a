"""What the guard asks of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    `name` identifies the vector space: calibrations and cached vectors are kept per name.
    """

    @property
    def name(self) -> str:
        """A stable name of the vector space, such as "hashed-ngrams-512"."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), d), rows of length 1 (zero for a blank text)."""
        ...
