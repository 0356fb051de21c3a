"""Naturalness: does a passage hold a stretch that no person wrote?

Passages whose letters or words were chosen by search do not read like language. Corpus poisoning
by gradient (Zhong et al. 2023, "Poisoning Retrieval Corpora by Injecting Adversarial Passages",
with the token swaps of HotFlip, Ebrahimi et al. 2018) and adversarial suffixes (Zou et al. 2023)
give a soup of word pieces; key words strung together, and genuine text full of typing errors
(GARAG, Cho et al. 2024), read as oddly. Perplexity under a language model tells them apart (Jain
et al. 2023; Alon and Kamfonas 2023). Here the model is as small as one can be: how likely a word
of one class is after a word of another (Brown et al. 1992), which costs one lookup a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from sys import intern
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "OTHER_SCRIPT",
    "SHAPES",
    "UNITS",
    "LanguageModel",
    "Unnaturalness",
    "WordClasses",
    "language_model",
    "shape",
    "unnaturalness",
]

UNITS = 16
"""The table of the model counts in parts of a nat, this many to one."""

SHAPES = 7
"""The first classes are for the words that the model does not list, by their shape."""

OTHER_SCRIPT = 2
"""The shape of words with other letters than English ones, of which the model knows nothing."""

_HALF = 32  # nats of oddness that are half of the way to 1
_FEW_WORDS = 20
_UNLISTED = bytes([3, 4, 5, 6])
_BEGIN = bytes([OTHER_SCRIPT])  # a pair of no oddness: no stretch starts before the text
_PAIR = np.dtype("<u2")


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


class Unnaturalness(NamedTuple):
    """How little a text reads like language.

    Attributes:
        soup: How odd its oddest stretch is, in [0, 1): the oddness of neighbouring words summed
            over the stretch where the sum is largest (the statistic of Page 1954), divided by
            itself and 32 nats. Neither the length of a soup nor its place matters, and no natural
            text around it hides it.
        misspelt: The share of its words that the model does not list, numbers and other scripts
            not counted, in [0, 1].
    """

    soup: float
    misspelt: float


_NATURAL = Unnaturalness(0.0, 0.0)


@dataclass(frozen=True)
class LanguageModel:
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

    @cached_property
    def listed(self) -> frozenset[str]:
        """The listed words."""
        return frozenset(self.classes)


@cache
def language_model() -> LanguageModel:
    """Return the shipped model, read at the first call (`benchmarks/fit_naturalness.py`)."""
    file = resources.files("ragguard.inline") / "word_classes.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        words = stored["words"].tobytes().decode("utf-8").split("\n")
        # Interned, as the words of passages are: a lookup then compares identities.
        classes = WordClasses(zip(map(intern, words), stored["classes"].tolist(), strict=True))
        return LanguageModel(classes, stored["oddness"].astype(np.int32))


def unnaturalness(words: Sequence[str], model: LanguageModel | None = None) -> Unnaturalness:
    """Return how little a text reads like language.

    It depends on the text alone, so that it may be kept with the text's words. Natural lists,
    tables, code and languages other than English score as soup does: compare with the other
    passages of the retrieved set.

    Args:
        words: The text's words in order, folded (`ragguard.text.tokens`). Interned ones are looked
            up fastest.
        model: The model; by default the shipped one.

    >>> natural = "the lamp in the tower was lit every evening by the keeper and his sons"
    >>> soup = "lamp fiction tower mayor lit sons obviously quarter keeper genus wrote"
    >>> unnaturalness(natural.split()).soup < unnaturalness(soup.split()).soup / 2
    True
    """
    if len(words) < 2:
        return _NATURAL
    known = model or language_model()
    codes = _BEGIN + bytes(map(known.classes.__getitem__, words))
    unlisted = len(codes) - len(codes.translate(None, _UNLISTED))
    # Neighbouring bytes read as one number: the pairs need no arithmetic.
    pairs = np.ndarray((len(words),), dtype=_PAIR, buffer=codes, strides=(1,))
    sums = np.add.accumulate(known.oddness.take(pairs))
    most = int((sums - np.minimum.accumulate(sums)).max())
    return Unnaturalness(most / (most + UNITS * _HALF), unlisted / max(len(words), _FEW_WORDS))
