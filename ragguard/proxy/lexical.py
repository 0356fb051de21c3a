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

P0 is a distribution over all finite strings: a table of frequent English words, and for every other
string a spelling model that draws a length, then a script, then the characters.

What the model cannot see is meaning: a passage that supports a response in other words looks to it
like one that does not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ragguard.arguments import require_text, require_texts
from ragguard.proxy.base import Scores
from ragguard.stems import stems_of

_UNIGRAM_PRIOR = 20.0
_BIGRAM_PRIOR = 2.0
_QUERY_SHARE = 0.1

# By falling frequency; the shares follow the Zipf-Mandelbrot law 1 / (rank + 2).
_FREQUENT = (
    "the of and to in a is was for on as by with that at from it his he an be are this were which "
    "or had also its has not but have their one they who after been her first two she new other "
    "when there all during into some up time most more only out over such about between can no "
    "than then if made where would what will these him may many later used world being three "
    "under while including through both because so them any each until against since same those "
    "before year years how do did does well called known name i you your we my our me us s t like "
    "just could should people very said even much way make get see yes now"
).split()
_FREQUENT_SHARE = 0.5
_ZIPF = [1.0 / (rank + 2.0) for rank in range(1, len(_FREQUENT) + 1)]
_FREQUENT_PROBABILITY = {
    word: _FREQUENT_SHARE * weight / sum(_ZIPF)
    for word, weight in zip(_FREQUENT, _ZIPF, strict=True)
}

_MEAN_EXTRA_LENGTH = 4.5
# English letter frequencies, percent.
_LETTER_PERCENT = {
    **{"e": 12.4, "t": 9.0, "a": 8.2, "o": 7.5, "i": 7.0, "n": 6.8, "s": 6.4, "h": 6.0, "r": 6.0},
    **{"d": 4.3, "l": 4.0, "c": 2.8, "u": 2.8, "m": 2.4, "w": 2.3, "f": 2.2, "g": 2.0, "y": 2.0},
    **{"p": 1.9, "b": 1.5, "v": 1.0, "k": 0.8, "j": 0.15, "x": 0.15, "q": 0.1, "z": 0.1},
}
_LETTERS = {c: percent / sum(_LETTER_PERCENT.values()) for c, percent in _LETTER_PERCENT.items()}
_DIGITS = dict.fromkeys("0123456789.,:", 1.0 / 13.0)
_IDEOGRAPHS = range(0x3040, 0xA000)
_CODE_POINTS = 0x110000
_LETTERS_SHARE, _DIGITS_SHARE, _IDEOGRAPHS_SHARE, _ANY_SHARE = 0.9, 0.05, 0.025, 0.025


@lru_cache(maxsize=1 << 16)
def word_log_probability(word: str) -> float:
    """Return the log-probability of a non-empty `word` before any text is read (P0), in nats."""
    spelled = math.log1p(-_FREQUENT_SHARE) + _spelling_log_probability(word)
    listed = _FREQUENT_PROBABILITY.get(word)
    return spelled if listed is None else math.log(listed + math.exp(spelled))


def _spelling_log_probability(word: str) -> float:
    extra, mean = len(word) - 1, _MEAN_EXTRA_LENGTH
    length = extra * math.log(mean) - mean - math.lgamma(extra + 1.0)  # 1 + Poisson
    scripts = [math.log(_ANY_SHARE) - len(word) * math.log(_CODE_POINTS)]
    for share, known in ((_LETTERS_SHARE, _LETTERS), (_DIGITS_SHARE, _DIGITS)):
        if all(c in known for c in word):
            scripts.append(math.log(share) + sum(math.log(known[c]) for c in word))
    if all(ord(c) in _IDEOGRAPHS for c in word):
        scripts.append(math.log(_IDEOGRAPHS_SHARE) - len(word) * math.log(len(_IDEOGRAPHS)))
    best = max(scripts)
    return length + best + math.log(sum(math.exp(s - best) for s in scripts))


class PointerModel:
    """The distribution of the next word, given a context's words and the word before."""

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


def copied_from(query: Sequence[str]) -> dict[str, float]:
    """Return the probability with which each word of a query is copied from it."""
    return {word: _QUERY_SHARE * count / len(query) for word, count in Counter(query).items()}


def with_query(log_probability: float, word: str, copied: Mapping[str, float]) -> float:
    """Return `log_probability` of `word` where it may be `copied_from` a query instead."""
    if not copied:
        return log_probability
    from_query = copied.get(word)
    if from_query is None:
        return math.log1p(-_QUERY_SHARE) + log_probability
    return math.log((1.0 - _QUERY_SHARE) * math.exp(log_probability) + from_query)


class LexicalProxy:
    """Scores contexts by exact log-probabilities under a smoothed pointer model.

    A context's scores do not depend on the other contexts of the call.
    """

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Score n contexts, in nats per word; an empty query or response scores 0 everywhere.

        An empty context leaves the background model alone.

        Raises:
            InvalidInputError: A text is not a str.
        """
        texts = require_texts("contexts", contexts)
        texts += [require_text("query", query), require_text("response", response)]
        *read, query_words, response_words = stems_of(texts)
        copied = copied_from(query_words)
        semantic_correlation = np.zeros(len(read))
        generation_influence = np.zeros(len(read))
        for i, words in enumerate(read):
            model = PointerModel(words)
            semantic_correlation[i] = _mean_log_probability(model, query_words, {})
            generation_influence[i] = _mean_log_probability(model, response_words, copied)
        return Scores(semantic_correlation, generation_influence)


def _mean_log_probability(
    model: PointerModel, words: Sequence[str], copied: Mapping[str, float]
) -> float:
    found = [
        with_query(model.log_probability(word, previous), word, copied)
        for previous, word in zip((None, *words), words, strict=False)
    ]
    return math.fsum(found) / len(found) if found else 0.0
