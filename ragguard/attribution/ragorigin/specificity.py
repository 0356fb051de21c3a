"""Whether a passage was written for one question and one answer, or speaks of much else: ours.

A text that is planted for a question says what it is to say and little more. A genuine page that
holds a wrong answer's words holds them among the other names and dates of its subject: it mentions
the answer, and a likelihood cannot tell that from stating it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.language.claim import COMMON_STEMS
from ragguard.stems import stems

__all__ = ["is_specific", "off_topic_names"]

_PIECE = re.compile(r"[^\W_][\w'\u2019-]*")
# Chosen on one half of the benchmark's records.
_NAMES = 4
_WORDS_PER_NAME = 12


def off_topic_names(query: str, claimed: str, text: str) -> int:
    """Return how many names and numbers a text holds beside the question's and the claim's.

    Names are words with a capital letter in front, also where a sentence begins; function words,
    and words of sources and saying ("According"), are none. Each counts once.

    >>> question = "Who led the survey?"
    >>> off_topic_names(question, "Ada Crane", "The survey of 1921 was led by Ada Crane.")
    1
    """
    return _others({*stems(query), *stems(claimed)}, _PIECE.findall(text))


def is_specific(query: str, claimed: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts hold at most max(4, words / 12) `off_topic_names`, shape (len(texts),).

    In languages without capital letters only numbers count, and nearly every text is specific.
    """
    known = {*stems(query), *stems(claimed)}
    found = [_PIECE.findall(text) for text in texts]
    return np.array(
        [_others(known, pieces) <= max(_NAMES, len(pieces) // _WORDS_PER_NAME) for pieces in found],
        dtype=np.bool_,
    )


def _others(known: set[str], pieces: Sequence[str]) -> int:
    names = (stems(piece) for piece in pieces if piece[0].isupper() or piece[0].isdigit())
    return len({words[0] for words in names if words} - known - COMMON_STEMS)
