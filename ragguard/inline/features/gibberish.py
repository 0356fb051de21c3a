"""Gibberish: does a passage hold a stretch that no person wrote?

    gibberish = o / (o + 32),    o = max over stretches of the sum of oddness(a, b), in nats

Passages whose letters or words were chosen by search do not read like language. Corpus poisoning
by gradient (Zhong et al. 2023, "Poisoning Retrieval Corpora by Injecting Adversarial Passages",
with the token swaps of HotFlip, Ebrahimi et al. 2018) and adversarial suffixes (Zou et al. 2023)
give a jumble of word pieces; key words strung together, and genuine text full of typing errors
(GARAG, Cho et al. 2024), read as oddly. Perplexity under a language model tells them apart (Jain
et al. 2023; Alon and Kamfonas 2023). Here the model is as small as one can be: how likely a word
of one class is after a word of another (Brown et al. 1992), which costs one lookup a word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragguard.inline.class_bigram import OTHER_SCRIPT, UNITS, ClassBigram, class_bigram
from ragguard.inline.features.coverage import Match, rescale
from ragguard.inline.tokens import TokenizedPassage

__all__ = ["gibberish", "gibberish_signals"]

_HALF = 32  # nats of oddness that are half of the way to 1
_BEGIN = bytes([OTHER_SCRIPT])  # a pair of no oddness: no stretch starts before the text
_PAIR = np.dtype("<u2")
# From a share that says nothing to one that says all there is to say.
_GIBBERISH = (0.3, 1.0)
_COVERAGE = (0.5, 1.0)


def gibberish_signals(match: Match) -> dict[str, float]:
    """Return the signal of a passage that holds the question and reads as no person writes.

    The model knows English alone: of other languages it says nothing.
    """
    if not match.english:
        return {}
    held = rescale(match.coverage, _COVERAGE)
    return {"gibberish": held and held * rescale(match.passage.once(_gibberish), _GIBBERISH)}


def _gibberish(passage: TokenizedPassage) -> float:
    return gibberish(passage.sequence)


def gibberish(words: Sequence[str], model: ClassBigram | None = None) -> float:
    """Return how odd the oddest stretch of a text is, in [0, 1).

    The oddness of neighbouring words is summed over the stretch where the sum is largest (the
    statistic of Page 1954). Neither its length nor its place matters, and no natural text around
    it hides it. Natural lists, tables, code and languages other than English score high as well.

    Args:
        words: The text's words in order, folded (`ragguard.text.tokens`). Interned ones are looked
            up fastest.
        model: The model; by default the shipped one.

    >>> natural = "the lamp in the tower was lit every evening by the keeper and his sons"
    >>> optimised = "lamp fiction tower mayor lit sons obviously quarter keeper genus wrote"
    >>> gibberish(natural.split()) < gibberish(optimised.split()) / 2
    True
    """
    if len(words) < 2:
        return 0.0
    known = model or class_bigram()
    codes = _BEGIN + bytes(map(known.classes.__getitem__, words))
    # Neighbouring bytes read as one number: the pairs need no arithmetic.
    pairs = np.ndarray((len(words),), dtype=_PAIR, buffer=codes, strides=(1,))
    sums = np.add.accumulate(known.oddness.take(pairs))
    most = int((sums - np.minimum.accumulate(sums)).max())
    return most / (most + UNITS * _HALF)
