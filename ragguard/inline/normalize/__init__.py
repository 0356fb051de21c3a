"""Normalization: the question's words, where a passage writes them in another way.

Retrievers that see parts of words, and people, read "howmanydoors", "h-o-w m-a-n-y d-o-o-r-s" and
"hwo mnay d00r$" as the question; a comparison word for word does not. So these are undone before
any feature is read: lines around a text (`frame`), signs for letters (`leet`), its words joined or
in pieces anywhere (`gaps`), the question as a whole with other gaps, words alike, words between or
two pieces (`alignment`), and typing errors anywhere (`typos`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ragguard.inline.normalize.alignment import realign
from ragguard.inline.normalize.frame import unframe
from ragguard.inline.normalize.gaps import regap_words
from ragguard.inline.normalize.leet import unleet
from ragguard.inline.normalize.typos import respell
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery

__all__ = ["normalized"]


def normalized(
    query: TokenizedQuery, passages: Sequence[TokenizedPassage]
) -> Sequence[TokenizedPassage]:
    """Return passages with the question's words in place of what means them."""
    shown = unleet(query, unframe(query, passages))
    return respell(query, realign(query, regap_words(query, shown)))
