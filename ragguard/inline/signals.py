"""The signals: what may speak against one passage of a retrieved set.

Every signal is a number in [0, 1] that grows with suspicion and is read from the words alone, so
that it means the same with any embedder. An attack needs its passage retrieved, and the surest way
is to carry the question (PoisonedRAG, Zou et al. 2025: the retrieval part S of a poisoned text
S + I is the question itself). So most signals ask how much of the question stands in the passage
and in what form:

- Echo: word for word, as a whole or in parts, at an edge, and said again in the passage's own
  sentences; its wording with the function words in any order, and its content beside the longest
  run; its key words side by side, as no sentence puts them. A run is looked for if at least half
  of the question's distinct words are there.
- Company: another passage of the set does the same. One page may quote a question by chance; that
  two do so in the same form is rarer than either alone.
- Manner: text that speaks to the model rather than to a reader, and text that no person wrote.

The shorter the question, the likelier its words meet by chance: shares of it are discounted by
its length. Every signal of a passage that holds less than `LEAST_COVERAGE` of the question's
content is 0, address excepted: such a passage does not carry the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.naturalness import unnaturalness
from ragguard.inline.words import PassageWords, QueryWords

__all__ = [
    "LEAST_COVERAGE",
    "SIGNALS",
    "company",
    "forget_soup",
    "longest_run",
    "signal_matrix",
    "window_share",
]

Floats = NDArray[np.float64]

SIGNALS = (
    "echo_whole",
    "echo_edge",
    "restatement",
    "echo_pairs",
    "wording",
    "key_pairs",
    "key_run",
    "repetition",
    "company_restatement",
    "company_pairs",
    "company_wording",
    "company_key_pairs",
    "company_key_run",
    "company_window",
    "soup",
    "address",
)
"""The names of the columns of `signal_matrix`, in order."""

LEAST_COVERAGE = 1 / 3
"""Share of the question's content words, weighed by rarity, that a passage must hold."""

_LONG_QUESTION = 10  # words: from here on the question's words do not meet by chance
_LONG_WORDING = 14  # words, where order does not count
_MANY_KEYS = 4  # content words
_WHOLE_RUN = 0.9
_WHOLE_RUN_WORDS = 3
_LONG_RUN = 0.5
_MOST_WORDING = 0.8
_FULL_WINDOW = 0.6
_SOME_SOUP = 0.3
_SOUP_COVERAGE = 0.5
_LONGEST_CACHED = 4096  # characters
_LEAD_INS = frozenset({"", "q", "question", "query", "ask", "faq"})


class _Echo(NamedTuple):
    """What is read of one passage by itself, discounted by the length of the question or not."""

    echo_whole: float = 0.0
    echo_edge: float = 0.0
    restatement: float = 0.0
    echo_pairs: float = 0.0
    wording: float = 0.0
    key_pairs: float = 0.0
    key_run: float = 0.0
    repetition: float = 0.0
    window: float = 0.0  # a signal in company only
    soup: float = 0.0


_NO_ECHO = _Echo()
_OWN = [name for name in _Echo._fields if name in SIGNALS]
_IN_COMPANY = {
    "company_restatement": "restatement",
    "company_pairs": "echo_pairs",
    "company_wording": "wording",
    "company_key_pairs": "key_pairs",
    "company_key_run": "key_run",
    "company_window": "window",
}
# Columns: of the own signals in `SIGNALS` and in `_Echo`, then of those in company.
_OWN_TO = np.array([SIGNALS.index(name) for name in _OWN])
_OWN_FROM = np.array([_Echo._fields.index(name) for name in _OWN])
_COMPANY_TO = np.array([SIGNALS.index(name) for name in _IN_COMPANY])
_COMPANY_FROM = np.array([_Echo._fields.index(name) for name in _IN_COMPANY.values()])
_ADDRESS = SIGNALS.index("address")


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
    """Return the largest share of the question's distinct words in one stretch of its length.

    Order does not count, so the question's words shuffled are seen.
    """
    shared = query.distinct & passage.distinct
    if not shared:
        return 0.0
    length = len(query.sequence)
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
        passages: n passages in rank order; those from `k` on only help to tell which of the
            question's words are rare in what is retrieved.
        k: How many passages to judge, 1 <= k <= n.

    Returns:
        float64 array of shape (k, len(SIGNALS)), every entry in [0, 1].
    """
    signals = np.zeros((k, len(SIGNALS)))
    signals[:, _ADDRESS] = [passage.address for passage in passages[:k]]
    if not query.sequence:
        return signals
    weights = _content_weights(query, passages)
    echo = np.array([_echo(query, weights, passage) for passage in passages[:k]])
    if not echo.any():
        return signals
    echo *= _discounts(query)
    signals[:, _OWN_TO] = echo[:, _OWN_FROM]
    signals[:, _COMPANY_TO] = company(echo[:, _COMPANY_FROM])
    return signals


def _discounts(query: QueryWords) -> _Echo:
    """Return by what each signal of a question of this length is multiplied."""
    length = len(query.sequence)
    long = min(1.0, length / _LONG_QUESTION)
    keys = min(1.0, len(query.content) / _MANY_KEYS)
    return _Echo(
        echo_whole=1.0,
        echo_edge=1.0,
        restatement=long,
        echo_pairs=long,
        wording=min(1.0, length / _LONG_WORDING),
        key_pairs=keys,
        key_run=keys,
        repetition=keys,
        window=long,
        soup=1.0,
    )


def _above(share: float, floor: float) -> float:
    """Rescale so that `floor` and less is 0 and 1 stays 1."""
    return max(0.0, (share - floor) / (1.0 - floor))


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


def _echo(query: QueryWords, weights: dict[str, float], passage: PassageWords) -> _Echo:
    """Return what is read of one passage by itself, not yet discounted."""
    coverage = _coverage(weights, passage.distinct)
    if coverage < LEAST_COVERAGE:
        return _NO_ECHO
    wording = len(query.distinct & passage.distinct) / len(query.distinct)
    repeated, key_pairs, key_run = _keys(query, weights, passage)
    repetition = _coverage(weights, repeated) if repeated else 0.0
    run = edge = rest = window = 0.0
    length = start = 0
    if wording > _LONG_RUN:
        length, start = longest_run(query.sequence, passage)
        run = length / len(query.sequence)
    if run > _LONG_RUN or wording > _MOST_WORDING:
        remaining: frozenset[str] | set[str] = passage.distinct
        before = stretch = ""
        if length >= 2:
            stretch = f" {' '.join(query.sequence[start : start + length])} "
            before, _, after = passage.joined.partition(stretch)
            remaining = {*before.split(), *after.split()}
        rest = _coverage(weights, remaining)
        # A heading and the question, where a page breaks off, hold no answer to it.
        answers = rest > 0.0 or len(passage.sequence) >= 2 * len(query.sequence)
        ends = length >= 2 and answers and passage.joined.endswith(stretch)
        edge = float(before.strip() in _LEAD_INS or ends)
    if wording > _FULL_WINDOW:
        window = _above(window_share(query, passage), _FULL_WINDOW)
    whole = float(run >= _WHOLE_RUN and length >= _WHOLE_RUN_WORDS)
    return _Echo(
        echo_whole=whole,
        echo_edge=whole * edge,
        restatement=_above(run, _LONG_RUN) * rest,
        echo_pairs=_pairs_share(query, passage) ** 2 * repetition if repeated else 0.0,
        wording=_above(wording, _MOST_WORDING) * rest,
        key_pairs=key_pairs,
        key_run=key_run,
        repetition=repetition,
        window=window,
        soup=_soup(passage) * _above(coverage, _SOUP_COVERAGE)
        if coverage > _SOUP_COVERAGE
        else 0.0,
    )


def _keys(
    query: QueryWords, weights: dict[str, float], passage: PassageWords
) -> tuple[set[str], float, float]:
    """Return the content words that stand in it twice, and the shares of key pairs and key run."""
    shared = weights.keys() & passage.distinct
    seen: set[str] = set()
    repeated: set[str] = set()
    side_by_side: set[tuple[str, str]] = set()
    stretch: set[str] = set()
    longest, previous, before = 0, -2, ""
    for at, word in [(at, word) for at, word in enumerate(passage.sequence) if word in shared]:
        if word in seen:
            repeated.add(word)
        seen.add(word)
        if at == previous + 1:
            side_by_side.add((before, word))
            stretch.add(word)
        else:
            stretch = {word}
        longest = max(longest, len(stretch))
        previous, before = at, word
    pairs = len(query.parted & side_by_side) / max(1, len(query.content) - 1)
    return repeated, pairs, longest / len(query.content)


def _pairs_share(query: QueryWords, passage: PassageWords) -> float:
    """Return the share of the question's pairs of neighbours that are neighbours in it as well."""
    if not query.pairs:
        return 0.0
    words, joined = passage.distinct, passage.joined
    found = [
        first in words and second in words and f" {first} {second} " in joined
        for first, second in query.pairs
    ]
    return sum(found) / len(found)


def _soup(passage: PassageWords) -> float:
    read = _remembered_soup if len(passage.joined) <= _LONGEST_CACHED else _read_soup
    return read(passage.joined)


def _read_soup(joined: str) -> float:
    return _above(unnaturalness(joined.split()).soup, _SOME_SOUP)


_remembered_soup = lru_cache(maxsize=4096)(_read_soup)


def forget_soup() -> None:
    """Forget how passages read; a benchmark of first readings needs it."""
    _remembered_soup.cache_clear()


def company(shares: Floats) -> Floats:
    """Return the smaller of a passage's own share and the largest of the others'.

    Args:
        shares: float64 array of shape (k, m); each column is taken for itself.

    Returns:
        float64 array of shape (k, m); zeros for a single passage.
    """
    if len(shares) < 2:
        return np.zeros_like(shares)
    order = np.sort(shares, axis=0)
    others = np.where(shares >= order[-1], order[-2], order[-1])
    smaller: Floats = np.minimum(shares, others)
    return smaller
