"""Coverage: how much of a question a passage speaks of, and where it makes a claim.

    coverage = sum of -log P0(w) over the question's content words w that the passage holds
             / the same sum over all of them

P0 is the probability of a word before any text is read (`ragguard.proxy.lexical`), so that a rare
word of the question counts for more. Words are compared as `ragguard.stems` writes them.

A reader sees the same in "B0b Cr@ne", "B<b></b>ob Cra-ne" and "Bob Crane"; a comparison of words
does not. So a sentence that holds the letters of a claim, as quarantine reads letters, and not its
words, is read as if the claim stood behind it, and so are several sentences of which none does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.fingerprints import fingerprints
from ragguard.inline.normalize.leet import lettered
from ragguard.lru import Remembered
from ragguard.proxy.lexical import word_log_probability
from ragguard.stems import stem, stems_of
from ragguard.text import STOP_WORDS, sentences, tokens
from ragguard.text.letters import letters_of

STOP_STEMS = frozenset(STOP_WORDS | {stem(word) for word in STOP_WORDS})
_LEAST = 5  # letters, which stand nowhere by chance
_SENTENCES = 50  # of a text with more nobody asks which of them it is


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


def spelled(claimed: str, texts: Sequence[str]) -> list[str]:
    """Return texts with a claim behind each sentence that states it in another spelling.

    >>> spelled("Bob Crane", ["It was built by B0b Cr@ne. It is of oak.", "Bob Crane built it."])
    ['It was built by B0b Cr@ne. Bob Crane It is of oak.', 'Bob Crane built it.']
    """
    sought = {one for one in letters_of([claimed, lettered(claimed)]) if len(one) >= _LEAST}
    if not sought:
        return [*texts]
    said = f" {' '.join(tokens(claimed))} "
    return [
        _spelled(claimed, sought, text)
        if holds and said not in f" {' '.join(tokens(text))} "
        else text
        for text, holds in zip(texts, _holding(texts, sought), strict=True)
    ]


def _spelled(claimed: str, sought: Set[bytes], text: str) -> str:
    parts = sentences(text)
    if len(parts) > _SENTENCES:
        return f"{text} {claimed}"
    each = zip(parts, _holding(parts, sought), strict=True)
    said = " ".join([f"{part} {claimed}" if holds else part for part, holds in each])
    return said if claimed in said else f"{text} {claimed}"


def _holding(texts: Sequence[str], sought: Set[bytes]) -> list[bool]:
    return [any(one in letters for one in sought) for letters, _ in readings(texts)]


def _read(texts: Sequence[str]) -> list[tuple[bytes, NDArray[np.uint32]]]:
    each = [fingerprints([text]) for text in texts]
    return [(one.letters, one.distinct(0)) for one in each]


readings: Remembered[str, tuple[bytes, NDArray[np.uint32]]] = Remembered(
    _read,
    max_bytes=24 * 2**20,
    weigh=lambda text, read: 4 * len(text) + len(read[0]) + read[1].nbytes + 300,
)
"""Returns of every text its letters, as quarantine reads them, and its fingerprints, sorted."""
