"""The signals: what may speak against one passage of a retrieved set.

Every signal is a number in [0, 1] that grows with suspicion and is read from the words alone, so
that it means the same with any embedder. Three families:

- Echo: how much of the question stands in the passage, and in what form. An attack needs its
  passage retrieved, and the surest way is to carry the question (PoisonedRAG, Zou et al. 2025:
  the retrieval part S of a poisoned text S + I is the question itself).
- Reference: what this passage has that its neighbours lack. Passages ranked below the k that
  the generator gets, where the caller over-fetched, show what the retriever normally returns.
- Address: text that speaks to the model rather than to a reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from math import fsum, log

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.words import PassageWords, QueryWords
from ragguard.text import STOP_WORDS

__all__ = ["SIGNALS", "longest_run", "signal_matrix", "window_share"]

Floats = NDArray[np.float64]

SIGNALS = (
    "echo_whole",
    "echo_edge",
    "restatement",
    "coverage",
    "wording_restated",
    "window",
    "window_whole",
    "closeness",
    "concentration",
    "company_coverage",
    "company_wording",
    "company_window",
    "company_closeness",
    "address",
)
"""The names of the columns of `signal_matrix`, in order."""

_WINDOW_SLACK = 3
_FEW_WORDS = 5
_WHOLE_RUN = 0.9
_LONG_RUN = 0.5
_MOST_WORDING = 0.8
_WHOLE_RUN_WORDS = 4
_LEAD_INS = frozenset({"", "q", "question", "query", "ask", "faq"})


def longest_run(query: Sequence[str], passage: PassageWords) -> tuple[int, int]:
    """Return length and start (in the question) of its longest word-for-word run in a passage.

    Args:
        query: The question's words.
        passage: The passage.
    """
    best = start = first = 0
    while first < len(query):
        # A run ends where a word is not in the passage at all, so only the stretches between
        # such words can hold one.
        stop = first
        while stop < len(query) and query[stop] in passage.distinct:
            stop += 1
        while stop - first > best:
            end = first + best + 1
            if best == 0 or f" {' '.join(query[first:end])} " in passage.joined:
                best, start = best + 1, first
            else:
                first += 1
        first = stop + 1
    return best, start


def window_share(query: QueryWords, passage: PassageWords) -> float:
    """Return the largest share of the question's distinct words in one short stretch.

    The stretch is as long as the question and three words more: order does not count, so the
    question's words shuffled, or strung together as key words, are seen.
    """
    shared = query.distinct & passage.distinct
    if not shared:
        return 0.0
    length = len(query.sequence) + _WINDOW_SLACK
    best = 1
    last_seen: dict[str, int] = {}
    for at, word in [(at, word) for at, word in enumerate(passage.sequence) if word in shared]:
        last_seen[word] = at
        if len(last_seen) > best:
            inside = sum([seen > at - length for seen in last_seen.values()])
            if inside > best:
                best = inside
                if best == len(shared):
                    break
    return best / len(query.distinct)


def signal_matrix(query: QueryWords, passages: Sequence[PassageWords], k: int) -> Floats:
    """Compute all signals of the first `k` passages.

    Args:
        query: The question.
        passages: n passages in rank order; those from `k` on are the reference.
        k: How many passages to judge, 1 <= k <= n.

    Returns:
        float64 array of shape (k, len(SIGNALS)), every entry in [0, 1].
    """
    weights = _content_weights(query, passages)
    echo = np.array([_echo(query, weights, passage) for passage in passages[:k]])
    run, whole, edge, rest, coverage, wording, window = echo.T
    enough = min(1.0, len(query.sequence) / _FEW_WORDS)
    closeness = _closeness((coverage + window) / 2, query, weights, passages[k:])
    company = _company(
        np.stack(
            [
                _above(coverage, 0.6),
                _above(wording, 0.6) * enough,
                _above(window, 0.5) * enough,
                closeness,
            ],
            axis=1,
        )
    )
    columns = {
        "echo_whole": whole,
        "echo_edge": whole * edge,
        "restatement": _above(run, _LONG_RUN) * rest * enough,
        "coverage": coverage,
        "wording_restated": _above(wording, _MOST_WORDING) * rest * enough,
        "window": window * enough,
        "window_whole": _above(window, 0.75) * enough,
        "closeness": closeness,
        "concentration": _concentration(query, passages, k),
        "company_coverage": company[:, 0],
        "company_wording": company[:, 1],
        "company_window": company[:, 2],
        "company_closeness": company[:, 3],
        "address": [passage.address for passage in passages[:k]],
    }
    return np.array([columns[name] for name in SIGNALS]).T


def _above(share: Floats, floor: float) -> Floats:
    """Rescale so that `floor` and less is 0 and 1 stays 1."""
    return np.maximum(0.0, (share - floor) / (1.0 - floor))


def _content_weights(query: QueryWords, passages: Sequence[PassageWords]) -> dict[str, float]:
    """Weigh the question's content words by how rare they are in the retrieved set; sum 1."""
    n = len(passages)
    distinct = [passage.distinct for passage in passages]
    weights = {
        word: log((n + 1) / (sum([word in words for words in distinct]) + 0.5)) + 0.5
        for word in query.content
    }
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()}


def _coverage(weights: dict[str, float], words: frozenset[str] | set[str]) -> float:
    # The exact sum: a set's order differs between processes, and so would a running sum's digits.
    return min(1.0, fsum([weights[word] for word in weights.keys() & words]))


def _echo(query: QueryWords, weights: dict[str, float], passage: PassageWords) -> tuple[float, ...]:
    """Return run, whole, edge, rest, coverage, wording and window shares of one passage."""
    if not query.sequence:
        return (0.0,) * 7
    length, start = longest_run(query.sequence, passage)
    run = length / len(query.sequence)
    wording = len(query.distinct & passage.distinct) / len(query.distinct)
    edge = rest = 0.0
    # What stands outside the run is looked at only by signals that few passages raise.
    if run > _LONG_RUN or wording > _MOST_WORDING:
        remaining: frozenset[str] | set[str] = passage.distinct
        if length >= 2:
            stretch = f" {' '.join(query.sequence[start : start + length])} "
            before, _, after = passage.joined.partition(stretch)
            edge = float(before.strip() in _LEAD_INS or not after.strip())
            remaining = {*before.split(), *after.split()}
        rest = _coverage(weights, remaining)
    return (
        run,
        float(run >= _WHOLE_RUN and length >= _WHOLE_RUN_WORDS),
        edge,
        rest,
        _coverage(weights, passage.distinct),
        wording,
        window_share(query, passage),
    )


def _closeness(
    shares: Floats,
    query: QueryWords,
    weights: dict[str, float],
    reference: Sequence[PassageWords],
) -> Floats:
    """Return by how much each passage is closer to the question than the reference ever is.

    Without over-fetched passages the set's own median is the reference.
    """
    if not reference:
        return np.maximum(0.0, shares - np.median(shares))
    best = max(
        (_coverage(weights, passage.distinct) + window_share(query, passage)) / 2
        for passage in reference
    )
    return np.maximum(0.0, shares - best)


def _concentration(query: QueryWords, passages: Sequence[PassageWords], k: int) -> Floats:
    """Return how many of the k passages share a term with this one that the reference lacks.

    The false answer stands in every passage of an attack. The term shared most widely counts;
    terms of the question and function words do not.
    """
    judged = Counter(chain.from_iterable([passage.distinct for passage in passages[:k]]))
    reference = Counter(chain.from_iterable([passage.distinct for passage in passages[k:]]))
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
            max([excess[word] for word in shared & passage.distinct], default=0.0)
            for passage in passages[:k]
        ]
    )


def _company(shares: Floats) -> Floats:
    """Return the smaller of a passage's own share and the mean of the two largest others.

    Args:
        shares: float64 array of shape (k, m); each column is taken for itself.
    """
    if len(shares) < 3:
        return np.zeros_like(shares)
    order = np.sort(shares, axis=0)
    first, second, third = order[-1], order[-2], order[-3]
    others = np.where(
        shares >= first, second + third, np.where(shares >= second, first + third, first + second)
    )
    company: Floats = np.minimum(shares, others / 2)
    return company
