r"""Lines around a text: a passage begins and ends where the lines about it do not.

    said = (*said[at:], *said[:at])    a rotation, so that a line begins the passage, or ends it

Loaders, crawlers and indexers store chunks with their title, path or source in lines of their own,
and whoever plants a text may write such lines too. So where a passage neither begins nor ends with
three quarters of the question's words, but something behind one of its first lines begins with
them, or something before one of its last lines ends with them, it is turned there: nothing is left
out, and every feature finds them at a boundary. What stands in such a line before a colon or
between marks, as the steps of a path do, is looked at as a line is.

That with which 3/4 of the other passages begin as well, numbers aside, an indexer has put there:
"passage: ", the name of a field, a date. It is left out, unless the question is in it, disguised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from math import ceil
from typing import NamedTuple

from ragguard.inline.normalize.leet import letters_of
from ragguard.inline.tokens import (
    LABELS,
    LONGEST_LABEL,
    TokenizedPassage,
    TokenizedQuery,
    leading_label,
)
from ragguard.text import STOP_WORDS, tokens
from ragguard.text.lines import LINE_WORDS, LINES_CHARS
from ragguard.text.ngrams import ngrams

_LEAST = 3 / 4  # of the question's distinct words
_SHARE, _OTHERS = 3 / 4, 2  # of the others begin with it too, and so many at least
_SAID = re.compile(r"[.!?]\W*\s")  # a sentence ends
_WORD, _BEGINS, _DIGIT = re.compile(r"\w"), re.compile(r"\b\w"), re.compile(r"\d")
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


def without_labels(
    query: TokenizedQuery, passages: Sequence[TokenizedPassage]
) -> Sequence[TokenizedPassage]:
    r"""Return passages without that with which most of them begin, up to the question.

    >>> from ragguard.inline.tokens import tokenize_passages, tokenize_query
    >>> pages = tokenize_passages(["Page 3: who built it", "Page 4: Ann did", "Page 9: in 1874"])
    >>> [one.joined for one in without_labels(tokenize_query("who built it"), pages)]
    [' who built it ', ' ann did ', ' in 1874 ']
    """
    least = max(_OTHERS, ceil(_SHARE * (len(passages) - 1)))
    first = Counter([_kind(one.sequence[0]) for one in passages if one.sequence])
    if max(first.values(), default=0) <= least or not query.sequence:  # the former as in most sets
        return passages
    # What announces a question ("Question:") does so, whoever has it too.
    heads = [takewhile(LABELS.isdisjoint, zip(one.sequence[:LINE_WORDS])) for one in passages]
    starts = [tuple(_kind(word) for (word,) in head) for head in heads]
    alike = Counter([start[:size] for start in starts for size in range(1, len(start) + 1)])
    shared = [sum(alike[start[: at + 1]] > least for at in range(len(start))) for start in starts]
    return [
        _without_label(query, passage, size) for passage, size in zip(passages, shared, strict=True)
    ]


def _is_within(query: TokenizedQuery, passage: TokenizedPassage) -> bool:
    """Return True if a passage has three quarters of the question's words, and at neither end."""
    least, shared = _LEAST * len(query.distinct), query.distinct & passage.distinct
    if not shared or len(shared) < least:
        return False
    return max(_begins(query, passage.sequence), _ends(query, passage.sequence)) < least


def _unframed(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage:
    front, behind = passage.once(_turns)
    if not (front or behind) or not _is_within(query, passage):  # as most have none
        return passage
    least, said = _LEAST * len(query.distinct), passage.sequence
    held = {turn: _begins(query, said[turn.words :]) for turn in front}
    held |= {turn: _ends(query, said[: turn.words]) for turn in behind}
    # Of those in front that have as much the last, behind which no label stands.
    best = max(held, key=lambda turn: (held[turn], 0 if turn in behind else turn.words))
    return passage.latest(best.turned) if held[best] >= least else passage


def _without_label(query: TokenizedQuery, passage: TokenizedPassage, most: int) -> TokenizedPassage:
    """Return a passage without so many of its first words, or up to the question among them."""
    said, least = passage.sequence, _LEAST * len(query.distinct)
    turns = [turn for turn in passage.once(_starts) if turn.words <= most] if most else []
    if turns and len(query.distinct & passage.distinct) >= least:
        held = {turn: _begins(query, said[turn.words :]) for turn in turns}
        # Of those that have as much the last, but not behind a word of the question.
        best = max(turns, key=lambda turn: (held[turn], _is_outside(query, said, turn), turn.words))
        if held[best] >= least:
            return passage.latest(best.behind) if best.words else passage
    own = said[: turns[-1].words] if turns else ()
    if not set(query.content).isdisjoint(own) or STOP_WORDS.issuperset(own):
        return passage
    if _looks_like(query, "".join(own)):  # as in a set that is full of it, without gaps or in leet
        return passage
    return passage.latest(turns[-1].behind)


def _looks_like(query: TokenizedQuery, letters: str) -> bool:
    """Return True if letters hold half of the question's, by three in a row, signs for some too."""
    asked = _threes("".join(query.sequence))
    return 2 * len(asked & _threes(letters_of(letters))) >= len(asked)


def _threes(letters: str) -> set[str]:
    return {letters[at : at + 3] for at in range(max(1, len(letters) - 2))}


def _is_outside(query: TokenizedQuery, said: Sequence[str], turn: _Turn) -> bool:
    return not turn.words or said[turn.words - 1] not in query.distinct


def _starts(passage: TokenizedPassage) -> list[_Turn]:
    """Return the turns to the first words of a passage, of a line at most."""
    starts = [word.start() for word in _BEGINS.finditer(passage.shown[:LINES_CHARS])]
    return _turns_to(passage, starts[: LINE_WORDS + 1])


def _turns_to(passage: TokenizedPassage, places: Iterable[int]) -> list[_Turn]:
    """Return the turns to places in a passage, where what is in front of one is its first words.

    Of a very long text not all words are read, and others may be joined across a line.
    """
    text, said = passage.shown, passage.sequence
    before = [(at, tuple(ngrams(tokens(text[:at])))) for at in places]
    return [
        _Turn(at, len(own))
        for at, own in before
        if said[: len(own)] == own and len(own) < len(said)
    ]


def _kind(word: str) -> str:
    return "0" if _DIGIT.search(word) else word


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
        text, said = passage.shown, passage.sequence
        turned = (*said[self.words :], *said[: self.words])
        return replace(passage, sequence=turned, text=f"{text[self.at :]}\n{text[: self.at]}")

    def behind(self, passage: TokenizedPassage) -> TokenizedPassage:
        """Return the passage without what stands in front."""
        said, text = passage.sequence[self.words :], passage.shown[self.at :]
        return replace(passage, sequence=said, text=text)


def _turns(passage: TokenizedPassage) -> tuple[list[_Turn], list[_Turn]]:
    """Return the turns to what stands behind the first short parts, and before the last ones."""
    text, said = passage.shown, passage.sequence
    if "\n" not in text:
        return [], []
    front = [turn for turn in _turns_to(passage, _short_parts(text[:LINES_CHARS])) if turn.words]
    starts = [len(text) - end for end in _short_parts(text[: -LINES_CHARS - 1 : -1])]
    behind = [(at, tuple(ngrams(tokens(text[at:])))) for at in starts]
    return front, [
        _Turn(at, len(said) - len(own))
        for at, own in behind
        if 0 < len(own) < len(said) and said[-len(own) :] == own
    ]


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
