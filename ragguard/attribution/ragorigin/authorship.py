"""Authorship: was a text written to state the answer, or does it mention it among much else? Ours.

    written for the answer:   manner >= -1.5,
                              or manner >= -4 and names <= max(4, words / 12)
    written as planted ones:  manner >= 0

A genuine page that holds a wrong answer's words holds them among the other names and dates of its
subject, and a likelihood cannot tell that from stating it. Two things can: how many names and
numbers a text has that are neither the question's nor the answer's, and its manner, that is how it
is written (`ragguard.inline.features.manner`, in nats; the median honest page has some -2.7). By
itself neither is enough: names are soon added, and an honest page may be short and name little.
Manner knows English alone, so of other texts the names decide.

The numbers were chosen on one half of the questions, by texts written without sight of this
code and by reports of what honest pages mention (docs/attribution.md, "Misread passages").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.claim import COMMON_STEMS
from ragguard.inline.features.manner import manner_of
from ragguard.stems import stems_of

DESIGNED_MANNER = -1.5
"""Manner, in nats, from which a text is taken to be written for the answer, whatever it names."""

HONEST_MANNER = -4.0
"""Manner, in nats, below which it is not, however little it names."""

PLANTED_MANNER = 0.0
"""Manner, in nats, from which a text is more likely planted than not: a log-odds."""

_PIECE = re.compile(r"[^\W_][\w'\u2019-]*")
_NAMES, _WORDS_PER_NAME = 4, 12


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
