"""Normalization: the question's words, where a passage writes them in another way.

Retrievers that see parts of words, and people, read "howmanydoors", "h-o-w m-a-n-y d-o-o-r-s" and
"hwo mnay d00r$" as the question that they are; a comparison word for word sees none of it. So
these ways of writing are undone before any feature is read: signs for letters (`leet`), the
question as a whole with other gaps, words alike, words between or two pieces (`alignment`), and
typing errors anywhere (`typos`). Markup is undone before (`ragguard.text.html`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ragguard.inline.normalize.alignment import realign
from ragguard.inline.normalize.leet import unleet
from ragguard.inline.normalize.typos import respell
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery

__all__ = ["normalized"]


def normalized(
    query: TokenizedQuery, passages: Sequence[TokenizedPassage]
) -> Sequence[TokenizedPassage]:
    """Return passages with the question's words in place of what means them."""
    return respell(query, realign(query, unleet(query, passages)))
