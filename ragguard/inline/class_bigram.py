"""A class bigram language model: how likely a word of one class is after a word of another.

    oddness(a, b) = -log p(b | a) + a part of the surprisal of the word in its class b,    in nats

less than what natural text has at its oddest (`benchmarks/fit_class_bigram.py`). After Brown et al.
(1992), "Class-Based n-gram Models of Natural Language": as small as a language model can be, at
the cost of one lookup a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from sys import intern

import numpy as np
from numpy.typing import NDArray

from ragguard.fork import WorkedOutOnce

UNITS = 16
"""The table of the model counts in parts of a nat, this many to one."""

SHAPES = 7
"""The first classes are for the words that the model does not list, by their shape."""

OTHER_SCRIPT = 2
"""The shape of words with other letters than English ones, of which the model knows nothing."""

SHORTEST = 4
"""Letters of an out-of-vocabulary word at least; shorter ones are all alike."""

LONGEST = 32
"""Letters of one at most: what a word is without one letter grows with the square of them."""


def shape(word: str) -> int:
    r"""Return the class of a word that the model does not list, from 0 to `SHAPES` - 1.

    Other scripts and numbers have classes of their own: they are no sign of a typing error.

    >>> [shape(word) for word in "3rd 1874 \u6771\u4eac thw wihch mousqe kowledgable".split()]
    [0, 1, 2, 3, 4, 5, 6]
    """
    if not word.isascii():
        return OTHER_SCRIPT
    if not word.isalpha():
        return int(len(word) == 4 and word.isdigit())
    length = len(word)
    return 3 if length <= 3 else 4 if length <= 5 else 5 if length <= 8 else 6


class WordClasses(dict[str, int]):
    """The class of every word: listed, or by its shape."""

    def __missing__(self, word: str) -> int:
        return shape(word)


@dataclass(frozen=True)
class ClassBigram:
    """How odd it is that a word of one class follows a word of another.

    Attributes:
        classes: The class of every listed word, from `SHAPES` on; any other word may be looked up
            with square brackets and has the class of its `shape`.
        oddness: int32 array of shape (256 * 256,), in 1 / `UNITS` nats: at first + 256 * second,
            the oddness of the pair; below 0 is as natural as language is. 0 for every pair with
            `OTHER_SCRIPT`.
    """

    classes: WordClasses
    oddness: NDArray[np.int32]

    @WorkedOutOnce
    def listed(self) -> frozenset[str]:
        """The listed words."""
        return frozenset(self.classes)


@cache
def class_bigram() -> ClassBigram:
    """Return the shipped model, read at the first call (`benchmarks/fit_class_bigram.py`)."""
    file = resources.files("ragguard.inline") / "word_classes.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        words = stored["words"].tobytes().decode("utf-8").split("\n")
        # Interned, as the words of passages are: a lookup then compares identities.
        classes = WordClasses(zip(map(intern, words), stored["classes"].tolist(), strict=True))
        return ClassBigram(classes, stored["oddness"].astype(np.int32))


def oov_words(words: frozenset[str]) -> frozenset[str]:
    """Return the words of 4 to 32 letters that the language model does not list, but no numbers."""
    return frozenset(
        word
        for word in words - class_bigram().listed
        if SHORTEST <= len(word) <= LONGEST and not word.isdigit()
    )
