"""Insertion: words of the question that the passage reads better without.

    saved(w) = oddness(a, w) + oddness(w, b) - oddness(a, b),    a and b the words around w

Reference: ONION (Qi et al. 2021, "ONION: A Simple and Effective Defense Against Textual Backdoor
Attacks") leaves out one word at a time and asks a language model how much more fluent the text is.
Here only the question's words are left out, and the model is `ragguard.inline.class_bigram`.
"""

from __future__ import annotations

from functools import cache

from ragguard.inline.class_bigram import OTHER_SCRIPT, UNITS, class_bigram
from ragguard.inline.features.coverage import FEW_WORDS, Match, rescale

# Gained by leaving a word out, -2 nats and 1: a word that fits, and one that does not.
_NONE, _ALL = -2 * UNITS, UNITS
_PER_PLACE = 0.25  # of many places one is odd by chance
_PAIRS = 256
_LONG_QUESTION = 10  # words, which are looked for anywhere
_WORDING = (0.6, 1.0)  # share of the question's distinct words in the passage
_OTHER_WORDING = (0.8, 1.0)  # where the model knows none of the words


@cache
def _oddness() -> list[int]:
    # A list: one number at a time is read from it several times faster than from an array.
    found: list[int] = class_bigram().oddness.tolist()
    return found


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
    classes = class_bigram().classes
    odd = _oddness()
    pairs, sequence = match.query.pairs, match.passage.sequence
    misfit: dict[str, int] = {}
    last = len(sequence) - 1
    for at, word in match.places:
        before = sequence[at - 1] if at else ""
        if (before, word) in pairs:
            continue
        after = sequence[at + 1] if at < last else ""
        if (word, after) in pairs:
            continue
        one = classes[before] if before else OTHER_SCRIPT
        other = _PAIRS * (classes[after] if after else OTHER_SCRIPT)
        own = classes[word]
        saved = odd[one + _PAIRS * own] + odd[own + other] - odd[one + other]
        if saved > misfit.get(word, _NONE):
            misfit[word] = saved
    said = [word for _, word in match.places]
    strange = [
        min(1.0, (saved - _NONE) / (_ALL - _NONE)) / (1.0 + _PER_PLACE * (said.count(word) - 1))
        for word, saved in misfit.items()
    ]
    return sum(sorted(strange)) / len(match.query.distinct)
