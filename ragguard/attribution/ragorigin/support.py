"""How far passages support a response, by a proxy language model alone: ours.

    gain     = ((GC(passage) - GC(nothing)) / (GC(claim) - GC(nothing)))^p,   in [0, 1]
    support  = coverage of the question * gain^3,
               at least 0.65 where it is 0.35 and the text is written as planted ones are

p is the proxy's `gain_power`: 1 for the lexical proxy, by which the rest was chosen.

It stands in for the answer of the generator that RAGOrigin's Eq. 3 asks, so that attribution takes
no call to a large language model. A likelihood cannot tell a text that states the answer in words
of its own from one that mentions it among much else; `ragguard.attribution.statement` can.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import foreign
from ragguard.attribution.claim import claim, only_decides, spelled
from ragguard.attribution.refusal import decides_alike, is_refusal, refusal_support
from ragguard.attribution.statement import (
    statement_coverage,
    states_by_design,
    written_as_planted,
)
from ragguard.errors import ProxyError
from ragguard.passage import Passage
from ragguard.proxy.base import Proxy, gain_power

# Chosen, as is the power in `passage_support`, on one half of the benchmark's records.
MIN_SUPPORT = 0.3
"""Support from which a passage is taken to state the response: two thirds of its words or so."""

STATING_GAIN = MIN_SUPPORT ** (1.0 / 3.0)
"""Gain from which a passage that speaks of the whole question is taken to state the response."""

SUFFICIENT_SUPPORT = 0.65
"""Support with which one passage explains the response alone; of several it must add up to 1."""

PLANTED_SUPPORT = 0.35
"""Support that is sufficient for a text that is `written_as_planted`."""

# Passages that state the same answer and so need not be `written_for` it: hardly any three benign
# ones do, and an attacker could make any text speak of much else.
_AGREEING = 3

STANDING_UNTESTABLE = 0.65
"""Standing of suspects that have nobody to stand apart from."""

_LEAST_STANDING = 0.3  # of suspects whose support alone explains the response

VERBATIM_GAIN = 0.95
"""Relative gain of SC from which a passage is taken to hold the question word for word."""


def relative_gain(
    with_passage: NDArray[np.float64], without: float, ceiling: float
) -> NDArray[np.float64]:
    """Return how much of the greatest possible rise in log-probability each passage brings.

    `with_passage` is GC given each passage, in nats per token, `without` that given no context,
    `ceiling` that given what states the response outright. float64 arrays of shape (n,), what is
    returned in [0, 1]: zeros where no context brings a rise.
    """
    if ceiling <= without:
        return np.zeros_like(with_passage)
    return np.clip((with_passage - without) / (ceiling - without), 0.0, 1.0)


def passage_support(
    gain: NDArray[np.float64], question_coverage: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each passage's support of the response, in [0, 1]: coverage * gain^3.

    A passage that holds the response's words by chance ("2", "Essex") does not speak of the
    question; one that speaks of the question but shares half of the words does not state the
    response, for which the cube stands.
    """
    return np.asarray(question_coverage * gain**3, dtype=np.float64)


def explains(support: NDArray[np.float64]) -> bool:
    """Return True if passages with these supports, read together, lead to the response."""
    stating = support[support >= MIN_SUPPORT]
    return bool((stating >= SUFFICIENT_SUPPORT).any()) or float(stating.sum()) >= 1.0


def explains_response(support: NDArray[np.float64], standing: float) -> bool:
    """Return True if suspects with these supports lead to the response, as far as they stand apart.

    If they explain it (`explains`), they need hardly stand apart. The less clearly they state it
    (the best of them, or, where that is more, all together), the further they must: by `standing`,
    in [0, 1], or `STANDING_UNTESTABLE` where that cannot be told.
    """
    if explains(support):
        return standing >= _LEAST_STANDING
    stating = support[support >= MIN_SUPPORT]
    best = max(float(stating.max(initial=0.0)), SUFFICIENT_SUPPORT * float(stating.sum()))
    return best * standing >= SUFFICIENT_SUPPORT * STANDING_UNTESTABLE


class SupportMeter:
    """The `Probe` that asks no generator: does the passages' support of the claim explain it?

    It scores passages for one event by its `claim`, and remembers what it has scored. It is
    `refused` if the response is a refusal (`is_refusal`), and `wordless` if it is one, or says yes
    or no and nothing else: no likelihood leads from it to the passage that brought it. What is
    known in other ways to speak of the question has a coverage of `least_coverage`.
    """

    def __init__(
        self, proxy: Proxy, query: str, response: str, *, least_coverage: float = 0.0
    ) -> None:
        self._proxy = proxy
        self.least_coverage = least_coverage  # to be set before the first support is asked for
        self._power = gain_power(proxy)
        self._query = query
        self.claim = claim(query, response)
        # What states the claim outright: the ceiling of GC. "Yes" states nothing by itself.
        self._decides = only_decides(self.claim)
        self._stated = f"{query} {self.claim}" if self._decides else self.claim
        self.refused = is_refusal(query, response)
        self.wordless = self.refused or self._decides
        self._as_read = {text: text for text in ("", self._stated, query)}  # others by `spelled`
        self._rows: dict[str, list[float]] = {}
        self._supports: dict[str, float] = {}

    def reproduces(self, passages: Sequence[Passage]) -> bool:
        """Return True if the passages' support `explains` the response."""
        return explains(self.support([passage.text for passage in passages]))

    def leads(self, passages: Sequence[Passage], standing: float) -> bool:
        """Return True if the support of these suspects, as far as they stand apart, explains it.

        Where fewer than three support the response, one of them must have been `written_for` it: a
        page that only mentions what was answered, among much else, was misread, and not planted.
        Of a refusal the standing does not count: what sounds a little like one stands apart easily.
        """
        texts = [passage.text for passage in passages]
        support = self.support(texts)
        stating = list(compress(texts, support >= MIN_SUPPORT))
        if len(stating) < _AGREEING and not self.written_for(stating):
            return False
        return explains_response(support, STANDING_UNTESTABLE if self.refused else standing)

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return SC and GC of the texts, float64 array of shape (2, len(texts)), nats per token.

        Raises:
            ProxyError: The proxy fails, or its answer has the wrong shape or is not finite.
        """
        # Without context, and with the claim or the query itself: the ends of `relative_gain`.
        wanted = dict.fromkeys(("", self._stated, self._query, *texts))
        missing = [text for text in wanted if text not in self._rows]
        if missing:
            name = type(self._proxy).__name__
            new = [text for text in missing if text not in self._as_read]
            with foreign(name, ProxyError):
                self._as_read |= zip(new, spelled(self.claim, new), strict=True)
                contexts = [self._as_read[text] for text in missing]
                found = self._proxy.score(contexts, self._query, self.claim)
            with suppress(AttributeError, TypeError, ValueError):
                columns = found.semantic_correlation, found.generation_influence
                rows = np.stack([np.asarray(one, np.float64) for one in columns], axis=1)
                if rows.shape == (len(missing), 2) and np.isfinite(rows).all():
                    self._rows |= dict(zip(missing, rows.tolist(), strict=True))
            if missing[0] not in self._rows:
                raise ProxyError(
                    f"{name} must return Scores, finite and of shape "
                    f"({len(missing)},) for {len(missing)} contexts; check its model"
                )
        return np.array([self._rows[text] for text in texts]).reshape(-1, 2).T

    def support(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return each text's support of the response, float64 array of shape (len(texts),).

        That is its `passage_support`, or what else supports a response that no likelihood leads to,
        if that is more: of a refusal, its `refusal_support`; of a yes or no, 1 if the passage
        carries the question and `decides_alike`.
        """
        missing = [text for text in dict.fromkeys(texts) if text not in self._supports]
        if missing:
            self._supports |= dict(zip(missing, self._measured(missing).tolist(), strict=True))
        return np.array([self._supports[text] for text in texts], dtype=np.float64)

    def gains(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return each text's `relative_gain` of GC to the power p, float64 array (len(texts),)."""
        _, (without, ceiling, *given) = self.scores(["", self._stated, *texts])
        return np.asarray(relative_gain(np.array(given), without, ceiling) ** self._power)

    def _measured(self, texts: Sequence[str]) -> NDArray[np.float64]:
        gain = self.gains(texts)
        # Most texts of a scope gain nothing, and what of the question they cover does not matter.
        gained = [self._as_read[text] for text in compress(texts, gain > 0.0)]
        covered = np.zeros(len(texts))
        covered[gain > 0.0] = statement_coverage(self._query, self.claim, gained)
        covered = np.maximum(covered, self.least_coverage)
        support = passage_support(gain, covered)
        if not self.wordless:
            stated = (support >= PLANTED_SUPPORT) & (support < SUFFICIENT_SUPPORT)
            stated[stated] = written_as_planted(list(compress(texts, stated)))
            support[stated] = SUFFICIENT_SUPPORT
        if self._decides:
            carries = self.carried(texts) >= VERBATIM_GAIN
            deciding = decides_alike(self._query, self.claim, list(compress(texts, carries)))
            support[carries] = np.maximum(support[carries], deciding)
        if self.refused:
            support = np.maximum(support, refusal_support(self._query, texts))
        return support

    def carried(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return how far each text holds the question, float64 array of shape (len(texts),).

        The `relative_gain` of SC: 1 for the question itself, 0 for no text.
        """
        (without, ceiling, *given), _ = self.scores(["", self._query, *texts])
        return relative_gain(np.array(given), without, ceiling)

    def written_for(self, texts: Sequence[str]) -> bool:
        """Return True if one of the texts may have been written for this event.

        Such a text holds the question word for word, or `states_by_design`. One that forbids an
        answer holds none, so for a refusal any text may be.
        """
        return self.refused or bool(
            (self.carried(texts) >= VERBATIM_GAIN).any()
            or states_by_design(self._query, self.claim, texts).any()
        )
