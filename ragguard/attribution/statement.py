"""Does a text state an answer, or does it hold the answer's words among much else? Ours.

A likelihood cannot tell. Three things can: how much of the question the text speaks of, how many
names and numbers it has that are neither the question's nor the answer's, and its manner, that is
how it is written (`ragguard.inline.features.manner`, in nats; the median honest page has some
-2.7).

    coverage = sum of -log P0(w) over the question's content words w that the text holds
             / the same sum over all of them

P0 is the probability of a word before any text is read (`ragguard.proxy.lexical`), so that a rare
word of the question counts for more. Words are compared as `ragguard.stems` writes them.

    written for the answer:   manner >= -1.5,
                              or manner >= -4 and names <= max(4, words / 12)
    written as planted ones:  manner >= 0

Names are soon added, and an honest page may be short and name little, so neither is enough. Manner
knows English alone, so of other texts the names decide. The numbers were chosen on one half of the
questions, by texts written without sight of this code and by reports of what honest pages mention
(docs/attribution.md, "Misread passages").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.claim import COMMON_STEMS
from ragguard.inline.features.manner import manner_of
from ragguard.proxy.lexical import word_log_probability
from ragguard.stems import STOP_STEMS, stems_of
from ragguard.text import sentences

DESIGNED_MANNER = -1.5
"""Manner, in nats, from which a text is taken to be written for the answer, whatever it names."""

HONEST_MANNER = -4.0
"""Manner, in nats, below which it is not, however little it names."""

PLANTED_MANNER = 0.0
"""Manner, in nats, from which a text is more likely planted than not: a log-odds."""

_PIECE = re.compile(r"[^\W_][\w'\u2019-]*")
_NAMES, _WORDS_PER_NAME = 4, 12  # names at most of a text written for one answer


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


def states_by_design(query: str, claimed: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts that state the claim were written to do so, bool array (len(texts),)."""
    manners = np.array([manner_of(text) for text in texts])
    written = is_specific(query, claimed, texts) & ~(manners < HONEST_MANNER)
    return np.asarray(written | (manners >= DESIGNED_MANNER), dtype=np.bool_)


def written_as_planted(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts are written as planted ones are, bool array (len(texts),)."""
    return np.array([manner_of(text) >= PLANTED_MANNER for text in texts], dtype=np.bool_)


def off_topic_names(query: str, claimed: str, texts: Sequence[str]) -> list[int]:
    """Return how many names and numbers each text holds beside the question's and the claim's.

    Names are words with a capital letter in front, also where a sentence begins; function words,
    and words of sources and saying ("According"), are none. Each counts once.

    >>> question = "Who led the survey?"
    >>> off_topic_names(question, "Ada Crane", ["The survey of 1921 was led by Ada Crane."])
    [1]
    """
    names = [
        [piece for piece in _PIECE.findall(text) if piece[0].isupper() or piece[0].isdigit()]
        for text in texts
    ]
    asked, claiming, *read = stems_of([query, claimed, *chain.from_iterable(names)])
    known = COMMON_STEMS.union(asked, claiming)
    rest = iter(read)
    return [len({stems[0] for stems in islice(rest, len(each)) if stems} - known) for each in names]


def is_specific(query: str, claimed: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts hold at most max(4, words / 12) `off_topic_names`, shape (len(texts),).

    In languages without capital letters only numbers count, and nearly every text is specific.
    """
    allowed = [max(_NAMES, len(_PIECE.findall(text)) // _WORDS_PER_NAME) for text in texts]
    return np.asarray(np.array(off_topic_names(query, claimed, texts)) <= allowed, dtype=np.bool_)
