"""Unordered windows: how densely a passage holds the question's words, in any order.

Reference: Metzler and Croft (2005), "A Markov Random Field Model for Term Dependencies". Language
puts words where grammar wants them: a passage that holds nearly all of the question's words within
the question's length quotes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

from ragguard.inline.features.coverage import FEW_WORDS, Match, rescale

_SOME = 0.5  # of the distinct words; half of them stand together in many a page
_DENSITY = (0.7, 1.0)  # a share that says nothing, and one that says all there is to say


def window_signals(match: Match) -> dict[str, float]:
    """Return the signal of a passage's windows as long as the question."""
    if match.share <= FEW_WORDS:
        return {}
    return {"window_density": match.long * window_density(match, *densest_window(match))}


def densest_window(match: Match) -> tuple[float, tuple[str, ...]]:
    """Return what the densest window of a passage holds of a question as long as the window.

    That is the share of the question's distinct words, and its words as often as they stand in the
    first such window. Only a window with more than half of the distinct words counts.

    >>> from ragguard.inline.tokens import tokenize_passage, tokenize_query
    >>> query = tokenize_query("who built the old pier")
    >>> densest_window(Match(query, tokenize_passage("Pier old, who built it"), {}, 1.0))
    (0.8, ('pier', 'old', 'who', 'built'))
    """
    length, distinct = len(match.query.sequence), len(match.query.distinct)
    least = int(_SOME * distinct)
    places = match.places
    ats = [at for at, _ in places]
    # Most passages have no window with so many places at all.
    if min(map(sub, ats[least:], ats), default=length) >= length:
        return 0.0, ()
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
    return most / distinct, words


def window_density(match: Match, share: float, words: Sequence[str]) -> float:
    """Return in [0, 1] how much the densest window holds, if it is said outside it as well."""
    held = rescale(share, _DENSITY)
    return held and held * match.quotation(words)
