"""Prose: the tokens of a text as prose has them, whoever typed it.

How a text is written (`manner`) is read from its words, marks and capitals, and an attacker is free
to choose the latter two, at no cost to the reader: capitals at every word, marks or numbers between
words, brackets around the whole. So what is typed otherwise is read as prose.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from ragguard.text import STOP_WORDS, both_ends, has_function_words
from ragguard.text.characters import FOLDED_LETTERS, respelled

CHARS = 10_000
"""Of a longer text both ends are read."""

_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|[\n\x02\x03]")
_WITHIN = re.compile(r"(?<=[^\W\d_])[*~`]+(?=[^\W\d_])")  # signs of Markdown inside a word
_NO_WORD = re.compile(r"[^\W_]{30,}")  # a key, an address, something encoded
_WORDS, _SMALL = 0.8, 0.5  # of the tokens, and of the words: prose has more, and small ones
_FEW, _BETWEEN = 7, 0.3  # marks of one kind, and for a word: no prose has more of both
_CAPITALS = 0.6  # of the function words
_SMALLER, _TITLE = 0.65, 0.8  # of the words, and of those but function words: names have less
_STREWN = 0.4  # marks for a word
_PROSE_MARKS = frozenset(".,\x02\x03")
_TRAILING = 7  # tokens behind the last sentence at most that are none
_SENTENCE_ENDS = frozenset(".!?")
_BEFORE_SENTENCE = frozenset("\x02\n.!?")
_SIGNS = 500  # what has more distinct ones is no English text, and takes long to read
_CONTENT = 12  # content words within sentences; of fewer nothing is said


def prose_tokens(text: str) -> list[str]:
    """Return the tokens of a text without markup, of a long one those of both ends."""
    shown = both_ends(text, CHARS)
    if len(set(shown)) <= _SIGNS:
        shown = respelled(shown, FOLDED_LETTERS)
    shown = _NO_WORD.sub(" ", _WITHIN.sub("", shown))
    return _typed(_TOKEN.findall(f"\x02{shown}\x03"))


def _typed(found: list[str]) -> list[str]:
    """Return tokens as prose has them: an attacker is free to choose capitals and what parts words.

    Marks or numbers that part the words are left out, and where most function words have capitals
    only those stay that begin a sentence.
    """
    words = sum(map(str.isalpha, found))
    if words < _WORDS * len(found):
        kinds = ["0" if token.isdigit() else token for token in found]
        many = max(_FEW, _BETWEEN * words)
        parting = {one for one, n in Counter(kinds).items() if n > many and not one.isalpha()}
        found = [token for token, kind in zip(found, kinds, strict=True) if kind not in parting]
    if sum(map(str.islower, found)) < _SMALL * words:
        said = [token[0].islower() for token in found if token.lower() in STOP_WORDS]
        if said.count(False) > _CAPITALS * len(said):
            return _in_small_letters(found)
    return found


def _in_small_letters(found: list[str]) -> list[str]:
    return [
        token.capitalize() if before in _BEFORE_SENTENCE else token.lower()
        for before, token in pairwise(["", *found])
    ]


def _whole_sentences(found: list[str]) -> list[str]:
    """Return tokens without marks and numbers in front and what a mark begins behind the last stop.

    Such as "(1) It was sold. (2)" or "It was sold. [more]"; a text without any comes back itself.
    """
    last = len(found) - 1
    first = next((at for at, token in enumerate(found) if token.isalpha()), 1)
    for stop in range(max(first, last - _TRAILING) + 1, last):
        if found[stop - 1] in _SENTENCE_ENDS and not found[stop].isalnum():
            behind = found[stop:last]
            if behind[0] not in _SENTENCE_ENDS or _SENTENCE_ENDS.issuperset(behind):
                return [found[0], *found[first:stop], found[last]]
    return [found[0], *found[first:]] if first > 1 else found


def plainer(found: list[str]) -> list[str]:
    """Return the tokens of a text that is hardly prose without what keeps it from being prose.

    Marks of all kinds together may stand between its words: they are left out but for full stops
    and commas. Nearly all words but function words may have capitals: those stay that begin a
    sentence. Any other text comes back itself. Tables and lists of names are changed as well, so
    that this reading counts only where it says much (`manner`).
    """
    words = sum(map(str.isalpha, found))
    found = _whole_sentences(found)
    if len(found) - words > _STREWN * words:
        odd = [not (token.isalnum() or token in _PROSE_MARKS) for token in found]
        if sum(odd) > max(_FEW, _STREWN * words):
            found = [token for token, left_out in zip(found, odd, strict=True) if not left_out]
    if sum(map(str.islower, found)) < _SMALLER * words and has_function_words(
        [token.lower() for token in found if token.isalpha()]
    ):
        content = [
            token[0].islower()
            for before, token in pairwise(found)
            if token.isalpha()
            and before not in _BEFORE_SENTENCE
            and token.lower() not in STOP_WORDS
        ]
        if len(content) >= _CONTENT and content.count(False) > _TITLE * len(content):
            found = _in_small_letters(found)
    return found
