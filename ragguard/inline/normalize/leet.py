"""Leetspeak: signs that stand for the letters they look like, "d00r$" for "doors"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery, tokenize_passage
from ragguard.text import MOST_CHARS, both_ends, tokens
from ragguard.text.html import strip_markup
from ragguard.text.ngrams import ngrams

_IN_A_WORD = re.compile(r"[@$](?:(?=[^\W\d_])|(?<=[^\W\d_].))")
# The sign comes first, since a search skips to it: "@" and "$", one before a letter or a sign, "+"
# also behind a letter.
_SIGN = re.compile(r"[@$!|+](?:(?<=[@$])|(?=[^\W_]|[@$!|+])|(?<=[^\W_][+]))")
_SIGNS = {"@": "a", "$": "s", "!": "i", "|": "l", "+": "t"}
_LETTERS = str.maketrans("013457", "oieast")


def letters_of(word: str) -> str:
    """Return a word with the digits in it read as the letters they look like.

    >>> letters_of("p1er")
    'pier'
    """
    return word.translate(_LETTERS)


def unleet(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> list[TokenizedPassage]:
    """Return passages as they read with letters for signs, where they say more of the question."""
    return [
        _unleeted(query, passage) if "@" in passage.text or "$" in passage.text else passage
        for passage in passages
    ]


def _unleeted(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage:
    if query.letters and query.letters in passage.letters:
        return passage  # or signs behind its words would hide a question that stands there
    if not _IN_A_WORD.search(passage.text):
        return passage
    text = both_ends(passage.text, MOST_CHARS)
    # Only what stands beside a sign reads otherwise: in most texts that is no word of the question.
    beside = lettered(" ".join([piece for piece in text.split() if _SIGN.search(piece)]))
    if query.distinct.isdisjoint(map(letters_of, ngrams(tokens(strip_markup(beside))))):
        return passage
    both = passage, tokenize_passage(lettered(text))
    return max(both, key=lambda one: sum(letters_of(w) in query.distinct for w in one.sequence))


def lettered(text: str) -> str:
    """Return a text with letters for the signs in its words; most texts have none.

    >>> lettered("r$e d!d it!")
    'rse did it!'
    """
    if not any(map(text.__contains__, _SIGNS)):
        return text
    return _SIGN.sub(lambda found: _SIGNS[found[0]], text)
