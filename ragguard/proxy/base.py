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
    """A small language model that scores text; it never generates any.

    Attribution was fitted to `LexicalProxy`. A proxy whose passages raise the response's likelihood
    less says so by an attribute `gain_power` (see the function).
    """

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Score every context in one pass; arrays come back in the order of `contexts`."""
        ...


def gain_power(proxy: Proxy) -> float:
    """Return the power to which attribution raises a proxy's relative gains, in (0, 1].

    A gain is the share of the greatest possible rise of the response's log-probability that a
    passage brings. The power makes the gains of a proxy comparable with those of `LexicalProxy`,
    which has 1, as has any proxy without the attribute. Exports bring theirs in the manifest.
    """
    return float(getattr(proxy, "gain_power", 1.0))
