"""Normalization: the question's words, where a passage writes them in another way.

Retrievers that see parts of words, and people, read "howmanydoors", "h-o-w m-a-n-y d-o-o-r-s" and
"hwo mnay d00r$" as the question that they are; a comparison word for word sees none of it. So
these ways of writing are undone before any feature is read: signs for letters (`leet`), the
question as a whole with other gaps, words alike, words between or two pieces (`alignment`), and
typing errors anywhere (`typos`). Markup is undone before (`ragguard.text.html`).
"""

from __future__ import annotations

from collections.abc import Callable

from ragguard.inline.normalize.alignment import (
    align,
    holds_it_in_pieces,
    interleaved,
    regap,
    rotated,
)
from ragguard.inline.normalize.leet import unleet
from ragguard.inline.normalize.typos import respell
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery

__all__ = ["PIECES", "STEPS", "WHOLE", "normalized"]

Step = Callable[[TokenizedQuery, TokenizedPassage], TokenizedPassage | None]

WHOLE: tuple[Step, ...] = (regap, align)
"""How the question as a whole may be written; the first that applies is undone."""

PIECES: tuple[Step, ...] = (interleaved, rotated)
"""The same, where all of its words are there, but not in one piece."""


def _whole(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    for undo in WHOLE:
        if (read := undo(query, passage)) is not None:
            return read
    if holds_it_in_pieces(query, passage):
        for undo in PIECES:
            if (read := undo(query, passage)) is not None:
                return read
    return None


STEPS: tuple[Step, ...] = (unleet, _whole, respell)
"""One after the other; each returns a passage with other words, or None."""


def normalized(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage:
    """Return a passage with the question's words in place of other ways to write them."""
    for step in STEPS:
        passage = step(query, passage) or passage
    return passage
