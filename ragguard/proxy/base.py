"""The proxy language model: what it is asked, what it answers, and two of them as one.

    SC(u) = 1 / |q| sum_j log P(q_j | u, q_<j)         how well a passage predicts the query
    GC(u) = 1 / |r| sum_j log P(r_j | u, q, r_<j)      and, with the query, the response

RAGOrigin, Eq. 6 and 7 (Zhang et al., arXiv 2509.13772, Section 5.3), over the tokens q_j and r_j;
`ragguard.proxy.onnx` asks a language model, `ragguard.proxy.lexical` counts words instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_method, require_number, require_text
from ragguard.errors import InvalidInputError

_CLOSING = " \t\n.!"


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


def gain_power(proxy: Proxy) -> float:
    """Return the power to which attribution raises a proxy's relative gains, in (0, 1].

    A gain is the share of the greatest possible rise of the response's log-probability that a
    passage brings. The power makes the gains of a proxy comparable with those of `LexicalProxy`,
    which has 1, as has any proxy without the attribute. Exports bring theirs in the manifest.
    """
    return float(getattr(proxy, "gain_power", 1.0))


class MixedProxy:
    """A mean of fixed weights of what two proxies score, in nats per token.

    Unlike a mean of z-scores it does not depend on which other contexts are asked for.

    Args:
        first: Has the rest of the weight; such as `LexicalProxy`.
        second: A language model, which has `share` of it. It is asked without the full stop that
            closes a response: to it that is one token more, of which the passage says nothing.
        share: In [0, 1].

    Raises:
        InvalidInputError: A proxy scores nothing, or `share` is out of range.
    """

    def __init__(self, first: Proxy, second: Proxy, share: float) -> None:
        for name, proxy in (("first", first), ("second", second)):
            require_method(name, proxy, "score(contexts, query, response)")
        self._share = require_number("share", share)
        if not 0.0 <= self._share <= 1.0:
            raise InvalidInputError(f"share must be from 0 to 1, not {share!r}; try 0.2")
        self._first = first
        self._second = second
        # The same mean of both proxies' powers.
        self.gain_power = (1.0 - self._share) * gain_power(first) + self._share * gain_power(second)

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return the mean of both proxies' scores.

        Raises:
            InvalidInputError: A text is not a str.
            ProxyError: One of the proxies fails.
        """
        response = require_text("response", response)
        ours = self._first.score(contexts, query, response)
        theirs = self._second.score(contexts, query, response.rstrip(_CLOSING) or response)
        rest = 1.0 - self._share
        return Scores(
            rest * ours.semantic_correlation + self._share * theirs.semantic_correlation,
            rest * ours.generation_influence + self._share * theirs.generation_influence,
        )
