"""Candidates: signals that were tried and dropped, kept so that their worth can be measured.

Each is a number in [0, 1] that grows with suspicion, as the signals of `ragguard.inline.features`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import chain, pairwise
from math import fsum

import numpy as np
from numpy.typing import NDArray

from benchmarks.fitting.samples import signals_of
from benchmarks.retrieval import RetrievedSet
from ragguard.inline.class_bigram import class_bigram
from ragguard.inline.features.coverage import idf_weights
from ragguard.inline.tokens import (
    TokenizedPassage,
    TokenizedQuery,
    tokenize_passage,
    tokenize_query,
)
from ragguard.text import STOP_WORDS

__all__ = [
    "CANDIDATES",
    "candidate_matrix",
    "closeness",
    "concentration",
    "noise",
    "stem",
    "window_share",
    "with_candidates",
]

Floats = NDArray[np.float64]

CANDIDATES = (
    "closeness",
    "concentration",
    "window",
    "stemmed_window",
    "misspelt_window",
    "noise",
)
"""The names of the columns of `candidate_matrix`, in order."""

_MISSPELT = range(3, 7)  # the classes of unlisted English words
_FEW_WORDS = 20

_ENDINGS = ("ings", "ing", "edly", "ed", "es", "s", "ly")
_LEAST_STEM = 3  # letters


def with_candidates(retrieved: RetrievedSet, k: int, *, with_reference: bool) -> Floats:
    """Return the signals of the first k passages and behind them the candidates."""
    texts = retrieved.texts if with_reference else retrieved.texts[:k]
    words = [tokenize_passage(text) for text in texts]
    added = candidate_matrix(tokenize_query(retrieved.question), words, min(k, len(words)))
    return np.hstack([signals_of(retrieved, k, with_reference=with_reference), added])


def candidate_matrix(query: TokenizedQuery, passages: Sequence[TokenizedPassage], k: int) -> Floats:
    """Compute all candidates of the first `k` passages.

    Args:
        query: The question.
        passages: n passages in rank order; those from `k` on are the reference.
        k: How many passages to judge, 1 <= k <= n.

    Returns:
        float64 array of shape (k, len(CANDIDATES)), every entry in [0, 1].
    """
    judged = passages[:k]
    if not query.sequence:
        return np.zeros((k, len(CANDIDATES)))
    window = [window_share(query, passage) for passage in judged]
    stemmed = _stemmed_query(query)
    return np.column_stack(
        [
            closeness(query, passages, k),
            concentration(query, passages, k),
            window,
            [window_share(stemmed, _stemmed(passage)) for passage in judged],
            [
                share * _misspelt(passage.sequence)
                for share, passage in zip(window, judged, strict=True)
            ],
            [noise(query, passage) for passage in judged],
        ]
    )


def _misspelt(words: Sequence[str]) -> float:
    """Return the share of the words that no list knows, numbers and other scripts not counted."""
    classes = class_bigram().classes
    unlisted = sum([classes[word] in _MISSPELT for word in words])
    return unlisted / max(len(words), _FEW_WORDS) if len(words) > 1 else 0.0


def window_share(query: TokenizedQuery, passage: TokenizedPassage) -> float:
    """Return the largest share of the question's distinct words in one stretch of its length.

    Order does not count, so the question's words shuffled are seen.
    """
    length, distinct = len(query.sequence), query.distinct
    places = [(at, word) for at, word in enumerate(passage.sequence) if word in distinct]
    stretches = [
        {word for where, word in places[first:] if where < at + length}
        for first, (at, _) in enumerate(places)
    ]
    return max(map(len, stretches), default=0) / max(1, len(distinct))


def closeness(query: TokenizedQuery, passages: Sequence[TokenizedPassage], k: int) -> Floats:
    """Return by how much each of the k passages is closer to the question than those below.

    How close is the mean of coverage (the share of the question's content words, weighed by
    rarity) and window. Where there are none below, the median of the k is what counts.
    """
    weights = idf_weights(query, passages)
    close = np.array(
        [
            (
                fsum(weights[word] for word in weights.keys() & passage.distinct)
                + window_share(query, passage)
            )
            / 2
            for passage in passages
        ]
    )
    usual = close[k:].max() if len(passages) > k else np.median(close)
    excess: Floats = np.clip(close[:k] - usual, 0.0, 1.0)
    return excess


def concentration(query: TokenizedQuery, passages: Sequence[TokenizedPassage], k: int) -> Floats:
    """Return how many of the others share a term with each passage that those below lack.

    The false answer stands in every passage of an attack. The term shared most widely counts;
    the question's words and function words do not.
    """
    judged = Counter(chain.from_iterable(passage.distinct for passage in passages[:k]))
    reference = Counter(chain.from_iterable(passage.distinct for passage in passages[k:]))
    others, below = max(1, k - 1), max(1, len(passages) - k)
    excess = {
        word: share
        for word, count in judged.items()
        if count > 1
        and word not in query.distinct
        and word not in STOP_WORDS
        and (share := (count - 1) / others - reference[word] / below) > 0.0
    }
    shared = excess.keys()
    return np.array(
        [
            max((excess[word] for word in shared & passage.distinct), default=0.0)
            for passage in passages[:k]
        ]
    )


def noise(query: TokenizedQuery, passage: TokenizedPassage) -> float:
    """Return a number that says nothing: what a signal seems to be worth by chance."""
    digest = blake2b(" ".join(query.sequence).encode() + passage.joined.encode(), digest_size=4)
    return int.from_bytes(digest.digest(), "big") / 2**32


def stem(word: str) -> str:
    """Return a word without its ending; far coarser than Porter (1980).

    >>> [stem(word) for word in "built building builds winner is".split()]
    ['built', 'build', 'build', 'winner', 'is']
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word.removesuffix(ending)
    return word


def _stemmed(passage: TokenizedPassage) -> TokenizedPassage:
    return passage.rewritten(tuple(map(stem, passage.sequence)))


def _stemmed_query(query: TokenizedQuery) -> TokenizedQuery:
    words = tuple(map(stem, query.sequence))
    content = tuple(dict.fromkeys(map(stem, query.content)))
    pairs = frozenset(pairwise(words))
    return replace(query, sequence=words, distinct=frozenset(words), content=content, pairs=pairs)
