r"""Lines around a text: a passage begins and ends where the lines about it do not.

    said = (*said[at:], *said[:at])    a rotation, so that a line begins the passage, or ends it

Loaders, crawlers and indexers store chunks with their title, path or source in lines of their own,
and whoever plants a text may write such lines too. So where a passage neither begins nor ends with
three quarters of the question's words, but something behind one of its first lines begins with
them, or something before one of its last lines ends with them, it is turned there: nothing is left
out, and every feature finds them at a boundary. What stands in such a line before a colon or
between marks, as the steps of a path do, is looked at as a line is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragguard.inline.tokens import (
    LONGEST_LABEL,
    TokenizedPassage,
    TokenizedQuery,
    leading_label,
)
from ragguard.text import tokens
from ragguard.text.html import strip_markup
from ragguard.text.lines import LINE_WORDS
from ragguard.text.ngrams import ngrams

_LEAST = 3 / 4  # of the question's distinct words
_CHARS = 300  # in which such lines end
_SAID = re.compile(r"[.!?]\W*\s")  # a sentence ends
_WORD = re.compile(r"\w")
_PARTED = re.compile(r"\n|:\s|\s[^\w\s]+\s")  # lines, labels, and the steps of a path


def unframe(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> list[TokenizedPassage]:
    r"""Return passages turned to the line in front or behind that has most of the question.

    >>> from ragguard.inline.tokens import tokenize_passage, tokenize_query
    >>> query = tokenize_query("who built the pier")
    >>> (turned,) = unframe(query, [tokenize_passage("Page 3\nWho built the pier: Ann Dove.")])
    >>> turned.joined
    ' who built the pier ann dove page 3 '
    """
    return [_unframed(query, passage) for passage in passages]


def _unframed(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage:
    front, behind = passage.once(_turns)
    if not front and not behind:  # as most have none
        return passage
    least, shared = _LEAST * len(query.distinct), query.distinct & passage.distinct
    if not shared or len(shared) < least:
        return passage
    said = passage.sequence
    if max(_begins(query, said), _ends(query, said)) >= least:
        return passage
    held = {turn: _begins(query, said[turn.words :]) for turn in front}
    held |= {turn: _ends(query, said[: turn.words]) for turn in behind}
    best = max(held, key=held.__getitem__)
    return passage.once(best.turned) if held[best] >= least else passage


def _begins(query: TokenizedQuery, said: Sequence[str]) -> int:
    """Return how many words of the question stand where it begins, with one of them."""
    lead = leading_label(said[: len(query.sequence) + LONGEST_LABEL], query.distinct)
    words = said[lead : lead + len(query.sequence)]
    return len(query.distinct.intersection(words)) if words[0] in query.distinct else 0


def _ends(query: TokenizedQuery, said: Sequence[str]) -> int:
    words = said[-len(query.sequence) :]
    return len(query.distinct.intersection(words)) if words[-1] in query.distinct else 0


class _Turn(NamedTuple):
    """Where the turned passage begins: at which character, and at which word."""

    at: int
    words: int

    def turned(self, passage: TokenizedPassage) -> TokenizedPassage:
        """Return the passage turned there."""
        text, said = strip_markup(passage.text), passage.sequence
        return TokenizedPassage(
            (*said[self.words :], *said[: self.words]),
            f"{text[self.at :]}\n{text[: self.at]}",
            passage.unread,
            passage.oov,
            passage.injection,
        )


def _turns(passage: TokenizedPassage) -> tuple[list[_Turn], list[_Turn]]:
    """Return the turns to what stands behind the first short parts, and before the last ones."""
    text = strip_markup(passage.text)
    if "\n" not in text:
        return [], []
    said, size = passage.sequence, len(passage.sequence)

    def fitting(turns: Iterator[_Turn]) -> list[_Turn]:
        # Of a very long text not all words are read, and others may be joined across a line.
        return [turn for turn in dict.fromkeys(turns) if 0 < turn.words < size]

    def words(part: str) -> tuple[str, ...]:
        return tuple(ngrams(tokens(part)))

    before = [(end, words(text[:end])) for end in _short_parts(text[:_CHARS])]
    starts = [len(text) - end for end in _short_parts(text[: -_CHARS - 1 : -1])]
    behind = [(at, words(text[at:])) for at in starts]
    return (
        fitting(_Turn(at, len(own)) for at, own in before if said[: len(own)] == own),
        fitting(_Turn(at, size - len(own)) for at, own in behind if said[size - len(own) :] == own),
    )


def _short_parts(text: str) -> Iterator[int]:
    """Yield where lines, and parts of lines that hold no sentence, end; short ones, from the first.

    Something must follow.
    """
    start = 0
    for end in (found.end() for found in _PARTED.finditer(text)):
        part = text[start:end]
        if len(part.split()) > LINE_WORDS or not _WORD.search(text, end):
            return
        if part.endswith("\n") or not _SAID.search(part):
            yield end
            start = end
