"""Insertion: words of the question that the passage reads better without.

    saved(w) = oddness(a, w) + oddness(w, b) - oddness(a, b),    a and b the words around w

Reference: ONION (Qi et al. 2021, "ONION: A Simple and Effective Defense Against Textual Backdoor
Attacks") leaves out one word at a time and asks a language model how much more fluent the text is.
Here only the question's words are left out, and the model is `ragguard.inline.class_bigram`.
"""

from __future__ import annotations

from array import array

import numpy as np

from ragguard.inline.class_bigram import OTHER_SCRIPT, UNITS, class_bigram
from ragguard.inline.features.coverage import FEW_WORDS, Match, rescale
from ragguard.inline.tokens import TokenizedPassage

# Gained by leaving a word out, -2 nats and 1: a word that fits, and one that does not.
_NONE, _ALL = -2 * UNITS, UNITS
_PER_PLACE = 0.25  # of many places one is odd by chance
_PAIRS = 256  # classes of words, by which a pair of them is one number
_LONG_QUESTION = 10  # words, which are looked for anywhere
_WORDING = (0.6, 1.0)  # share of the question's distinct words in the passage
_OTHER_WORDING = (0.8, 1.0)  # where the model knows none of the words


def _saved(passage: TokenizedPassage) -> array[int]:
    """Return what leaving out each word saves, in 1 / `UNITS` nats."""
    model = class_bigram()
    classes = np.array(
        [OTHER_SCRIPT, *map(model.classes.__getitem__, passage.sequence), OTHER_SCRIPT]
    )
    before, own, after = classes[:-2], classes[1:-1], classes[2:]
    odd = model.oddness
    with_word = odd[before + _PAIRS * own] + odd[own + _PAIRS * after]
    return array("h", (with_word - odd[before + _PAIRS * after]).astype(np.int16).tobytes())


def insertion_signals(match: Match) -> dict[str, float]:
    """Return the signal of words of the question inserted into a passage."""
    if match.share <= FEW_WORDS:
        return {}
    long = min(1.0, match.query.length / _LONG_QUESTION)
    wording = _WORDING if match.english else _OTHER_WORDING
    return {"inserted_words": long * rescale(match.share, wording) * inserted_share(match)}


def inserted_share(match: Match) -> float:
    """Return the share of the question's distinct words that do not fit where they stand.

    A word counts where it fits least, and the less the more places there are; beside its neighbour
    of the question, where it is part of a quotation, it does not count.
    """
    pairs, sequence = match.query.pairs, match.passage.sequence
    gained = match.passage.once(_saved)
    misfit: dict[str, int] = {}
    last = len(sequence) - 1
    for at, word in match.places:
        saved = gained[at]
        if (
            saved > misfit.get(word, _NONE)
            and (sequence[at - 1] if at else "", word) not in pairs
            and (word, sequence[at + 1] if at < last else "") not in pairs
        ):
            misfit[word] = saved
    said = [word for _, word in match.places]
    strange = [
        min(1.0, (saved - _NONE) / (_ALL - _NONE)) / (1.0 + _PER_PLACE * (said.count(word) - 1))
        for word, saved in misfit.items()
    ]
    return sum(sorted(strange)) / len(match.query.distinct)
