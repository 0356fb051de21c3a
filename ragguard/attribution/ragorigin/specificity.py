"""Whether a passage was written for one question and one answer, or speaks of much else.

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

__all__ = ["focused", "other_names"]

_PIECE = re.compile(r"[^\W_][\w'\u2019-]*")
_NAMES = 4
_WORDS_PER_NAME = 12


def other_names(query: str, claimed: str, text: str) -> int:
    """Return how many names and numbers a text holds beside the question's and the claim's.

    Names are words with a capital letter in front, also where a sentence begins; function words,
    and words of sources and saying ("According"), are none. Each counts once.

    >>> other_names("Who led the survey?", "Ada Crane", "The survey of 1921 was led by Ada Crane.")
    1
    """
    return _others({*stems(query), *stems(claimed)}, _PIECE.findall(text))


def focused(query: str, claimed: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts speak of hardly anything but the question and the claim.

    They hold at most 4 other names (`other_names`), and longer ones at most one in 12 words. Both
    were chosen on one half of the benchmark's records; in languages without capital letters only
    numbers count, and nearly every text is focused.

    Returns:
        bool array of shape (len(texts),).
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
