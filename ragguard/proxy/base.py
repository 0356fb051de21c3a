"""The proxy language model: what it is asked and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Scores:
    """How well each context predicts the query and the response.

    Attributes:
        semantic_correlation: SC, float64 array of shape (n,): mean log-probability of the query's
            tokens given the context, nats per token (RAGOrigin Eq. 6).
        generation_influence: GC, float64 array of shape (n,): mean log-probability of the
            response's tokens given context and query, nats per token (RAGOrigin Eq. 7).
    """

    semantic_correlation: NDArray[np.float64]
    generation_influence: NDArray[np.float64]


class Proxy(Protocol):
    """A small language model that scores text; it never generates any."""

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Score every context in one pass; arrays come back in the order of `contexts`."""
        ...
