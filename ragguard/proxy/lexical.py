"""A pointer language model over words: no weights, no download, microseconds a passage.

The model reads a context and predicts the next word from what the context said, as retrieval by
query likelihood does (Zhai & Lafferty, 2004), one order higher: a bigram model smoothed by the
context's unigram model smoothed by the background, both with a Dirichlet prior (MacKay & Peto,
1995):

    P(w | c)    = (n(w) + mu P0(w)) / (n + mu)
    P(w | v, c) = (n(v w) + nu P(w | c)) / (n(v) + nu)

A response is predicted with the query in view too, as in the prompt of RAGOrigin (Eq. 7): with
probability kappa the next word is copied from the query instead. That share is the same for every
context, so words that the response takes from the question speak for no passage.

Words are counted under their `stem`, so that "two seasons" and "season 2" share both.

What the model cannot see is meaning: a passage that supports a response in other words, or by
implication, looks to it like one that does not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from ragguard.arguments import require_text, require_texts
from ragguard.proxy.base import Scores
from ragguard.proxy.unigram_prior import word_log_probability
from ragguard.stems import stems_of

__all__ = ["LexicalProxy", "PointerModel", "with_query"]

_UNIGRAM_PRIOR = 20.0
_BIGRAM_PRIOR = 2.0
_QUERY_SHARE = 0.1


class PointerModel:
    """The distribution of the next word, given what has been read and the word before.

    Args:
        context: The context's words in order.
    """

    def __init__(self, context: Sequence[str]) -> None:
        self._counts = Counter(context)
        self._pairs = Counter(pairwise(context))
        self._followed = Counter(context[:-1])
        self._total = len(context) + _UNIGRAM_PRIOR

    def log_probability(self, word: str, previous: str | None) -> float:
        """Return log P(word | previous, context), in nats; `previous` is None at the start."""
        copied = self._counts[word] / self._total
        background = _UNIGRAM_PRIOR / self._total
        if previous is not None and self._followed[previous]:
            followed = self._followed[previous]
            backoff = _BIGRAM_PRIOR / (followed + _BIGRAM_PRIOR)
            copied = self._pairs[previous, word] / (followed + _BIGRAM_PRIOR) + backoff * copied
            background *= backoff
        prior = word_log_probability(word)
        if copied:
            return math.log(copied + background * math.exp(prior))
        # In logs: the prior of a very long word is below the smallest float.
        return math.log(background) + prior


def with_query(log_probability: float, word: str, query: Counter[str]) -> float:
    """Return `log_probability` of `word` after the share of copying from `query` is given away."""
    if not query:
        return log_probability
    from_query = _QUERY_SHARE * query[word] / query.total()
    if not from_query:
        return math.log1p(-_QUERY_SHARE) + log_probability
    return math.log((1.0 - _QUERY_SHARE) * math.exp(log_probability) + from_query)


class LexicalProxy:
    """Scores contexts by exact log-probabilities under a smoothed pointer model.

    A context's scores do not depend on the other contexts of the call.
    """

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Score every context; an empty query or response scores 0 everywhere.

        Args:
            contexts: n texts; an empty one leaves the background model alone.
            query: The user's question.
            response: What the system answered.

        Returns:
            `Scores` with float64 arrays of shape (n,), nats per word.

        Raises:
            InvalidInputError: A text is not a str.
        """
        texts = require_texts("contexts", contexts)
        texts += [require_text("query", query), require_text("response", response)]
        *read, query_words, response_words = stems_of(texts)
        query_counts = Counter(query_words)
        semantic_correlation = np.zeros(len(read))
        generation_influence = np.zeros(len(read))
        for i, words in enumerate(read):
            model = PointerModel(words)
            semantic_correlation[i] = _mean(_sequence(model, query_words))
            generation_influence[i] = _mean(
                with_query(p, word, query_counts)
                for p, word in zip(_sequence(model, response_words), response_words, strict=True)
            )
        return Scores(semantic_correlation, generation_influence)


def _sequence(model: PointerModel, words: Sequence[str]) -> list[float]:
    return [
        model.log_probability(word, previous)
        for previous, word in zip((None, *words), words, strict=False)
    ]


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else 0.0
