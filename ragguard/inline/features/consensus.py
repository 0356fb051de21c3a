"""Consensus: several passages that state one thing more than the question, and little else.

    v = coverage min(1, n / 4)^3 exp(-0.25 names - 0.02 words)
    consensus = third-highest v of those that hold a word - mean v of those that do not

v is the value of a passage: how much of the question, of n content words, it holds; less for every
name but one, and slightly for every other word, that is not the question's. The third-highest is
taken over the passages that share a word the question has not; copies of one page count once, and
where passages that would not reach the generator hold the word too, it counts less.

Who plants texts without the question in them still wants two things of each: it must speak of the
question, to be retrieved, and state the answer that all of them are to bring about. A text written
for that says hardly anything besides. A benign page that holds the answer is about more. So
passages that agree on a word are suspicious by how little else they say, as RAGDefender's
concentration grouping is by how similar they are (Kim et al. 2025); of similarity alone clean sets
have as much, since all of a set is on the subject. Of "is it cold" any page on the subject holds
everything, so that short questions count less.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import exp, fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features.coverage import LEAST_COVERAGE, idf_coverage
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery
from ragguard.text import MAX_CHARS, STOP_WORDS, tokens
from ragguard.text.html import strip_markup

Floats = NDArray[np.float64]

AGREEING = 3
"""How many passages must share a word."""

_LONG_QUESTION = 4  # content words
_NAME = 0.25  # nats of value for every name but one, which may be the answer
_WORD = 0.02  # nats for every content word that is not the question's
_FLOOR = 0.1  # values below count as none
_COPY = 0.6  # of the words of two passages together
_PIECE = re.compile(r"[^\W_]+")
_SPACED = bytes(byte if chr(byte).isalnum() else 32 for byte in range(128)).ljust(256)


class _Spoken(NamedTuple):
    """A passage that speaks of the question: what it says besides, and its value."""

    others: frozenset[str]
    value: float


_SILENT = _Spoken(frozenset(), 0.0)


def consensus_signal(
    query: TokenizedQuery,
    weights: Mapping[str, float],
    passages: Sequence[TokenizedPassage],
    coverage: Sequence[float],
) -> Floats:
    """Say of the first passages how far several of them agree and say little else.

    Args:
        query: The question.
        weights: The weight of every content word of the question; sum 1.
        passages: n passages in rank order; those behind the first are the reference.
        coverage: Of each of the first k passages, the weight of the question's words in it.

    Returns:
        float64 array of shape (k,), every entry in [0, 1]: the score of the best word that the
        passage holds, less if its value is less than that of the third; zeros if fewer than
        `AGREEING` passages agree on anything.
    """
    k = len(coverage)
    none = np.zeros(k)
    left = sum([share >= LEAST_COVERAGE for share in coverage])
    spoken: list[_Spoken] = []
    for passage, share in zip(passages[:k], coverage, strict=True):
        if left < AGREEING:  # as in most clean sets
            return none
        said = _spoken(query, passage, share)
        left -= share >= LEAST_COVERAGE and not said.value
        spoken.append(said)
    thirds = _thirds(passages, spoken)
    if not thirds:
        return none
    reference = passages[k:]
    below: list[_Spoken] | None = None
    scores: dict[str, float] = {}
    for word, third in thirds.items():
        score = third
        if reference:
            score *= 1.0 - sum([word in one.distinct for one in reference]) / len(reference)
        if score <= 0.0:
            continue
        if below is None:
            below = [_spoken(query, one, idf_coverage(one.distinct, weights)) for one in reference]
        rest = [
            said.value
            for passage, said in zip(passages, (*spoken, *below), strict=True)
            if word not in passage.distinct
        ]
        if rest:
            score -= fsum(rest) / len(rest)
        if score > 0.0:
            scores[word] = score
    if not scores:
        return none
    return np.array(
        [
            max(
                [
                    score * min(1.0, said.value / thirds[word])
                    for word, score in scores.items()
                    if word in said.others
                ],
                default=0.0,
            )
            for said in spoken
        ]
    )


def _spoken(query: TokenizedQuery, passage: TokenizedPassage, coverage: float) -> _Spoken:
    if coverage < LEAST_COVERAGE:
        return _SILENT
    named = passage.written.once(_names_of)
    if named is None:
        return _SILENT
    # Names first: they are few, and most passages name too much.
    more = max(0, len((named - query.distinct) & passage.distinct) - 1)
    long = min(1.0, len(query.content) / _LONG_QUESTION) ** 3
    value = coverage * long * exp(-_NAME * more)
    if value < _FLOOR:
        return _SILENT
    others = passage.distinct - query.distinct - STOP_WORDS
    value *= exp(-_WORD * len(others))
    return _Spoken(others, value) if value >= _FLOOR else _SILENT


def _thirds(passages: Sequence[TokenizedPassage], spoken: Sequence[_Spoken]) -> dict[str, float]:
    """Return of every word that enough passages share the third-highest of their values."""
    # Of equal values by the words, so that the order of the passages does not matter.
    order = sorted(
        [row for row, said in enumerate(spoken) if said.value],
        key=lambda row: (-spoken[row].value, passages[row].sequence),
    )
    if len(order) < AGREEING:
        return {}
    counted: list[frozenset[str]] = []
    holders: dict[str, int] = {}
    thirds: dict[str, float] = {}
    for row in order:
        words = passages[row].distinct
        if any(_copies(words, one) for one in counted):
            continue
        counted.append(words)
        for word in spoken[row].others:
            holders[word] = count = holders.get(word, 0) + 1
            if count == AGREEING:
                thirds[word] = spoken[row].value
    return thirds


def _copies(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= _COPY * (len(one) + len(other) - shared)


def names(text: str) -> frozenset[str] | None:
    """Return the names and numbers of a text, folded: the words that begin with no small letter.

    In a script without capitals every word does. None if the text has no capital at all, and so
    does not tell names from other words.

    >>> sorted(names("In 1874 the Marrow Light was built.") or ())
    ['1874', 'light', 'marrow']
    """
    text = strip_markup(text)[:MAX_CHARS]
    if text.isascii():
        # Twice as fast as below. Of ASCII digits come first, then capitals, then small letters.
        pieces = [piece for piece in text.encode().translate(_SPACED).split() if piece < b"a"]
        if not pieces or max(pieces) < b"A":
            return None
        return frozenset(b" ".join(pieces).lower().decode().split()) - STOP_WORDS
    found = [word for word in _PIECE.findall(text) if not word[0].islower()]
    if not any(word[0].isupper() for word in found):
        return None
    return frozenset(tokens(" ".join(found))) - STOP_WORDS


def _names_of(passage: TokenizedPassage) -> frozenset[str] | None:
    return names(passage.text)
