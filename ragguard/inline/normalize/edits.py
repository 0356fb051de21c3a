"""A question that a few words are missing from, that has some in another order, or an aside.

    lost(q, p) = |q| - LCS(q, p) <= max(1, |q| / 5),    at the beginning or the end of a passage p

The longest common subsequence of two rows of words (Wagner and Fischer 1974) says how many of the
question's words are left out or stand elsewhere. Whoever plants a text can leave out an article at
no cost to the reader or the retriever.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ragguard.inline.tokens import (
    LONGEST_LABEL,
    TokenizedPassage,
    TokenizedQuery,
    leading_label,
)

_LOST = 5  # one word in so many may be left out, or stand elsewhere
_LEAST_WORDS = 5  # of a question of which one may
_ASIDE = 10  # words at most


def edited(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    """Undo a question at the beginning or the end that has lost words, or the order of some.

    None of these is one of its content words, or one that asks.
    """
    asked, said = query.sequence, passage.sequence
    n, lead = len(asked), leading_label(said, query.distinct)
    if size := _edited(query, said[lead : lead + n + 1], 1):
        return passage.rewritten((*said[:lead], *asked, *said[lead + size :]))
    if size := _edited(query, said[-n - 1 :], -1):
        return passage.rewritten((*said[:-size], *asked))
    return None


def with_aside(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    """Undo an aside behind the interrogative with which a passage begins: "Who is it that lit".

    It has ten words at most. "What if ..." is another question.
    """
    asked, said = query.sequence, passage.sequence
    if asked[0] not in said[: LONGEST_LABEL + 1] or asked[1] == "if":  # the former as of most
        return None
    n, lead = len(asked), leading_label(said, query.distinct)
    if said[lead] != asked[0] or asked[0] not in query.asking or said[lead : lead + n] == asked:
        return None
    for begin in range(lead + 2, lead + 2 + _ASIDE):
        if said[begin : begin + n - 1] == asked[1:]:
            aside = said[lead + 1 : begin]
            return passage.rewritten((*said[:lead], *asked, *aside, *said[begin + n - 1 :]))
    return None


def may_be_edited(query: TokenizedQuery, said: Sequence[str]) -> bool:
    """Return True if a query asks one thing in five words or more, which a text has room for."""
    asks = (query.asking or query.asks_otherwise) and not (query.names or query.tells)
    return bool(asks) and _LEAST_WORDS <= len(query.sequence) <= len(said)


def most_lost(query: TokenizedQuery) -> int:
    """Return how many words of a question may be left out, or stand elsewhere."""
    return max(1, len(query.sequence) // _LOST)


def _edited(query: TokenizedQuery, said: Sequence[str], step: int) -> int:
    """Return how many words at one end are the question but for a few, or 0; `step` says which."""
    asked = query.sequence
    if said[0 if step > 0 else -1] not in query.distinct:
        return 0
    lost, few = query.distinct.difference(said), most_lost(query)
    if len(lost) > few or not lost.isdisjoint(query.asking):
        return 0
    # Where no word is known to ask, it is the first or the last.
    kept = query.content if query.asking else (*asked[:2], *asked[-2:])
    begins = asked[1] not in said or (asked[0], asked[1]) in pairwise(said)
    if not lost.isdisjoint(kept) or (query.asking and not begins):  # "how oil is made"
        return 0
    missed, size = _lost(asked[::step], said[::step])
    strange = [word for word in said[::step][:size] if word not in query.distinct]
    return size if 0 < missed <= few and len(strange) <= 1 else 0


def _lost(asked: Sequence[str], said: Sequence[str]) -> tuple[int, int]:
    """Return |asked| - LCS(asked, said), and with how many words of the latter that is reached."""
    # By bits (Hyyrö 2004, "Bit-parallel LCS-length computation revisited"): each 1 is a lost word.
    where = dict.fromkeys(asked, 0)
    for place, word in enumerate(asked):
        where[word] |= 1 << place
    every = row = (1 << len(asked)) - 1
    lost, size = len(asked), 0
    for read, word in enumerate(said, 1):
        met = row & where.get(word, 0)
        row = (row + met | row - met) & every
        if row.bit_count() < lost:
            lost, size = row.bit_count(), read
    return lost, size
