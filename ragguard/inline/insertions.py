"""Strewn in: words of the question that the passage reads better without.

Reference: ONION (Qi et al. 2021, "ONION: A Simple and Effective Defense Against Textual Backdoor
Attacks") leaves out one word at a time and asks a language model whether the text reads more
fluently: an inserted word does not fit its neighbours, and they fit each other. Here only the
question's words are left out, and the model is the pairs of word classes of
`ragguard.inline.naturalness`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ragguard.inline.naturalness import OTHER_SCRIPT, UNITS, language_model
from ragguard.inline.words import QueryWords

__all__ = ["gain", "inserted_share"]

_NONE, _ALL = -2.0, 1.0  # nats gained: a word that fits, and one that does not
_PER_PLACE = 0.25  # of many places one is odd by chance
_PAIRS = 256


@cache
def _oddness() -> list[int]:
    # A list: one number at a time is read from it several times faster than from an array.
    found: list[int] = language_model().oddness.tolist()
    return found


def gain(before: int, word: int, after: int) -> float:
    """Return how much less odd, in nats, a text is without a word.

    Args:
        before: The class of the word before it (`ragguard.inline.naturalness`).
        word: Its own class.
        after: The class of the word after it.
    """
    odd = _oddness()
    saved = odd[before + _PAIRS * word] + odd[word + _PAIRS * after] - odd[before + _PAIRS * after]
    return saved / UNITS


def inserted_share(
    query: QueryWords, sequence: Sequence[str], places: Sequence[tuple[int, str]]
) -> float:
    """Return the share of the question's distinct words that do not fit where they stand.

    A word that stands in several places counts where it fits least, and the less the more places
    there are; where it stands beside its neighbour of the question it is not looked at, since
    there it is part of a quotation.

    Args:
        query: The question.
        sequence: The words of the passage.
        places: Where in the passage which word of the question stands, in order.
    """
    classes = language_model().classes
    pairs = query.pairs
    misfit: dict[str, float] = {}
    counts: dict[str, int] = {}
    last = len(sequence) - 1
    for at, word in places:
        counts[word] = counts.get(word, 0) + 1
        before = sequence[at - 1] if at else ""
        after = sequence[at + 1] if at < last else ""
        if (before, word) in pairs or (word, after) in pairs:
            continue
        saved = gain(
            classes[before] if before else OTHER_SCRIPT,
            classes[word],
            classes[after] if after else OTHER_SCRIPT,
        )
        misfit[word] = max(misfit.get(word, _NONE), saved)
    strange = [
        min(1.0, (saved - _NONE) / (_ALL - _NONE)) / (1.0 + _PER_PLACE * (counts[word] - 1))
        for word, saved in misfit.items()
    ]
    return sum(sorted(strange)) / len(query.distinct)
