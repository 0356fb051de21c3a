"""Coverage: how much of a question a passage speaks of, and where it makes a claim.

    coverage = sum of -log P0(w) over the question's content words w that the passage holds
             / the same sum over all of them

P0 is the probability of a word before any text is read (`ragguard.proxy.lexical`), so that a rare
word of the question counts for more. Words are compared as `ragguard.stems` writes them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from ragguard.proxy.lexical import word_log_probability
from ragguard.stems import stem, stems_of
from ragguard.text import STOP_WORDS, sentences

STOP_STEMS = frozenset(STOP_WORDS | {stem(word) for word in STOP_WORDS})


def coverage(query: str, claimed: str, passages: Sequence[str]) -> NDArray[np.float64]:
    """Return the coverage of the question by each passage, float64 (len(passages),), in [0, 1].

    Words of the claim do not count: they are what the question asks for. A query without content
    words is covered by everything.
    """
    asked, claiming, *read = stems_of([query, claimed, *passages])
    question = Question(asked, claiming)
    return np.array([question.share(set(words)) for words in read])


def statement_coverage(query: str, claimed: str, passages: Sequence[str]) -> NDArray[np.float64]:
    """Return how much of the question each passage speaks of, also where it makes the claim.

    The mean of `coverage` and of that of the best two successive sentences, which counts as far as
    they hold the words of the claim that the passage holds: a long page may hold both far apart.
    Where the claim's only number stands there among n others of as many digits ("begun in 1939,
    ended in 1940"), they count 1 / (1 + n) of that. A passage without a word of the claim has its
    `coverage`. float64 array of shape (len(passages),), in [0, 1].
    """
    said = [sentences(text) for text in passages]
    asked, claiming, *read = stems_of([query, claimed, *chain.from_iterable(said)])
    question = Question(asked, claiming)
    parts = iter(read)
    return np.array(
        [_stated(question, set(claiming), [set(next(parts)) for _ in each]) for each in said]
    )


def _stated(asked: Question, claiming: set[str], parts: Sequence[set[str]]) -> float:
    words = set[str]().union(*parts)
    whole, held = asked.share(words), len(claiming & words)
    if not held:
        return whole
    pairs = [a | b for a, b in pairwise(parts)] or parts
    near, pair = max(
        ((len(claiming & pair) / held * asked.share(pair), pair) for pair in pairs),
        key=lambda found: found[0],
    )
    return (whole + near / (1 + _rival_numbers(asked, claiming, pair))) / 2.0


def _rival_numbers(asked: Question, claiming: set[str], words: set[str]) -> int:
    """Return how many numbers of as many digits stand beside the only number of a claim."""
    numbers = [word for word in claiming if word[0].isdigit()]
    if len(numbers) != 1:
        return 0
    size = len(numbers[0])
    return sum(w[0].isdigit() and len(w) == size for w in words - claiming - asked.words)


class Question:
    """What a question asks about: its content words but those of the claim, by surprise."""

    def __init__(self, asked: Collection[str], claiming: Sequence[str]) -> None:
        self.words = frozenset(asked)
        excluded = STOP_STEMS.union(claiming)
        self._weights = {w: -word_log_probability(w) for w in asked if w not in excluded}
        self._total = sum(self._weights.values())

    def share(self, words: Set[str]) -> float:
        """Return the share of it, in [0, 1], that is among the stems `words`; 1 of nothing."""
        if not self._total:
            return 1.0
        found = sum(weight for word, weight in self._weights.items() if word in words)
        return min(1.0, found / self._total)
