"""In any order: how densely a passage holds the question's words.

Reference: the unordered windows of Metzler and Croft (2005), "A Markov Random Field Model for Term
Dependencies". Language puts words where grammar wants them: a passage that holds nearly all of the
question's words within the question's length quotes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import sub
from typing import NamedTuple

from ragguard.inline.features.coverage import FEW_WORDS, Match, quotation_score, rescale
from ragguard.inline.tokens import TokenizedQuery

_SOME = 0.5
_DENSITY = (0.7, 1.0)  # a share that says nothing, and one that says all there is to say


class Windows(NamedTuple):
    """What a passage's windows, each as long as the question, hold of it.

    Only windows with more than half of the question's distinct words count.

    Attributes:
        share: The largest share of the question's distinct words in one window.
        words: The words of the question in the first such window, as often as they stand there.
    """

    share: float
    words: tuple[str, ...]


_NONE = Windows(0.0, ())


def window_signals(match: Match) -> dict[str, float]:
    """Return the signal of a passage's windows as long as the question."""
    if match.share <= FEW_WORDS:
        return {}
    found = windows(match.query, match.places)
    density = window_density(match.query, found, match.counts, match.weights)
    return {"window_density": match.long * density}


def windows(query: TokenizedQuery, places: Sequence[tuple[int, str]]) -> Windows:
    """Read the windows of a passage.

    Args:
        query: The question.
        places: Where in the passage which word of the question stands, in order.

    >>> from ragguard.inline.tokens import tokenize_query
    >>> places = [(0, "pier"), (1, "old"), (2, "built"), (3, "who"), (4, "the")]
    >>> windows(tokenize_query("who built the old pier"), places)
    Windows(share=1.0, words=('pier', 'old', 'built', 'who', 'the'))
    """
    length, distinct = len(query.sequence), len(query.distinct)
    least = int(_SOME * distinct)
    ats = [at for at, _ in places]
    # Most passages have no window with so many places at all.
    if min(map(sub, ats[least:], ats), default=length) >= length:
        return _NONE
    counts: dict[str, int] = {}
    held = most = stop = 0
    densest = (0, 0)
    for first, (at, gone) in enumerate(places):
        while stop < len(places) and ats[stop] < at + length:
            word = places[stop][1]
            count = counts.get(word, 0)
            held += not count
            counts[word] = count + 1
            stop += 1
        if held > max(most, least):
            most, densest = held, (first, stop)
        counts[gone] = count = counts[gone] - 1
        held -= not count
    words = tuple([word for _, word in places[slice(*densest)]])
    return Windows(most / distinct, words)


def window_density(
    query: TokenizedQuery,
    found: Windows,
    counts: Mapping[str, int],
    weights: Mapping[str, float],
) -> float:
    """Return how much of the question one window holds, if it is said outside it as well.

    Args:
        query: The question.
        found: Of `windows`.
        counts: How often each word of the question stands in the passage.
        weights: The weight of every content word of the question; sum 1.

    Returns:
        A number in [0, 1].
    """
    share = rescale(found.share, _DENSITY)
    return share and share * quotation_score(query, found.words, counts, weights)
