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
from typing import NamedTuple

import numpy as np

from ragguard.inline.class_bigram import OTHER_SCRIPT, UNITS, ClassBigram, class_bigram
from ragguard.inline.features.coverage import Match, rescale
from ragguard.inline.tokens import TokenizedPassage

__all__ = ["Unnaturalness", "gibberish_signals", "unnaturalness"]

_HALF = 32  # nats of oddness that are half of the way to 1
_FEW_WORDS = 20
_UNLISTED = bytes([3, 4, 5, 6])
_BEGIN = bytes([OTHER_SCRIPT])  # a pair of no oddness: no stretch starts before the text
_PAIR = np.dtype("<u2")
# From a share that says nothing to one that says all there is to say.
_SOUP = (0.3, 1.0)
_COVERAGE = (0.5, 1.0)


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


def gibberish_signals(match: Match) -> dict[str, float]:
    """Return the signal of a passage that holds the question and reads as no person writes."""
    held = rescale(match.coverage, _COVERAGE)
    return {"soup": held and held * rescale(match.passage.once(_soup), _SOUP)}


def _soup(passage: TokenizedPassage) -> float:
    return unnaturalness(passage.sequence).soup


def unnaturalness(words: Sequence[str], model: ClassBigram | None = None) -> Unnaturalness:
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
    known = model or class_bigram()
    codes = _BEGIN + bytes(map(known.classes.__getitem__, words))
    unlisted = len(codes) - len(codes.translate(None, _UNLISTED))
    # Neighbouring bytes read as one number: the pairs need no arithmetic.
    pairs = np.ndarray((len(words),), dtype=_PAIR, buffer=codes, strides=(1,))
    sums = np.add.accumulate(known.oddness.take(pairs))
    most = int((sums - np.minimum.accumulate(sums)).max())
    return Unnaturalness(most / (most + UNITS * _HALF), unlisted / max(len(words), _FEW_WORDS))
