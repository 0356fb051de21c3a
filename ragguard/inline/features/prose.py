"""Tokenisation and truecasing for `manner`: the tokens of a text as prose has them.

An attacker is free to choose marks and capitals, at no cost to the reader: capitals at every word,
numbers between words, a menu or the head of an e-mail around the whole. So what is typed otherwise
is read as prose (`as_prose`), and sentences by themselves as well (`sentence_tokens`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from ragguard.text import STOP_WORDS, both_ends, has_function_words
from ragguard.text.characters import FOLDED_LETTERS, respelled

CHARS = 10_000
"""Of a longer text both ends are read."""

_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|[\n\x02\x03]")
_WITHIN = re.compile(r"[*~`](?<=[^\W\d_].)[*~`]*(?=[^\W\d_])")  # signs of Markdown inside a word
# A key, an address, something encoded; looked for where a word begins, so that it is read once.
_NO_WORD = re.compile(r"(?<![^\W_])[^\W_]{30,}")
_SMALL = 0.5  # of the words: prose has more small ones
_FEW, _BETWEEN = 7, 0.3  # marks of one kind, and for a word: no prose has more of both
_CAPITALS, _LEAST_SMALL = 0.6, 0.1  # of the function words; and of the words, what they are
_SENTENCE = 5  # words
_INNER = frozenset(",'\u2019-:()%$/&\u2013")  # marks within a sentence
_ENDING = frozenset("\x03\n.!?")
_LEAST_TOKENS, _MOST_SENTENCES = 4, 12
_TITLE, _CONTENT = 0.8, 12  # of the content words, and of fewer nothing is said
_BEFORE_SENTENCE = frozenset("\x02\n.!?")


def prose_tokens(text: str) -> list[str]:
    """Return the tokens of a text without markup, of a long one those of both ends."""
    shown = respelled(both_ends(text, CHARS), FOLDED_LETTERS)
    shown = _NO_WORD.sub(" ", _WITHIN.sub("", shown))
    return _TOKEN.findall(f"\x02{shown}\x03")


def as_prose(found: list[str]) -> list[str]:
    """Return tokens as prose has them, whatever was typed between the words and as capitals.

    Marks or numbers that part the words are left out, and where most function words have capitals
    only those stay that begin a sentence. What has less than one function word in ten, as a table
    of names has, is no prose, and stays as it is.
    """
    words = sum(map(str.isalpha, found))
    many = max(_FEW, _BETWEEN * words)
    if len(found) - words > many and len(_function_words(found)) >= _LEAST_SMALL * words:
        kinds = ["0" if token.isdigit() else token for token in found]
        parting = {one for one, n in Counter(kinds).items() if n > many and not one.isalpha()}
        found = [token for token, kind in zip(found, kinds, strict=True) if kind not in parting]
    if sum(map(str.islower, found)) < _SMALL * words:
        said = _function_words(found)
        capital = sum([not word[0].islower() for word in said])
        if capital > _CAPITALS * len(said) and len(said) >= _LEAST_SMALL * words:
            return _in_small_letters(found)
    return found


def _function_words(found: list[str]) -> list[str]:
    return [token for token in found if token.lower() in STOP_WORDS]


def _in_small_letters(found: list[str]) -> list[str]:
    return [
        token.capitalize() if before in _BEFORE_SENTENCE else token.lower()
        for before, token in pairwise(["", *found])
    ]


def sentence_tokens(found: list[str]) -> list[str]:
    """Return the sentences of a text by themselves, without what stands around and between.

    That is what stands between marks that no sentence has within, with five words of which a fifth
    are function words; from its first word on, with a capital, up to a full stop. What the end of
    the text cuts off counts only where nothing else does. Where sentences hold less than half of
    the words, all words are taken for one, if they can be one.
    """
    kept: list[str] = []
    words = held = 0
    for one, mark in _between_marks(_uncapitalized(found)):
        alphabetic = list(filter(str.isalpha, one))
        words += len(alphabetic)
        if _is_sentence(alphabetic):
            held += len(alphabetic)
            if not kept or mark != "\x03":  # not cut off
                kept += _as_sentence(one)
    if 2 * held < words:
        every = [token for token in as_prose(found) if token.isalnum()]
        kept = _as_sentence(every) if _is_sentence(list(filter(str.isalpha, every))) else []
    return ["\x02", *kept, "\x03"]


def sentence_bounds(found: list[str]) -> tuple[list[int], list[int]]:
    """Return where the first sentences begin and end, of four tokens or more."""
    begins, ends, begin = [], [], 1
    for at in range(1, len(found)):
        if found[at] in _ENDING:
            end = at if found[at] == "\x03" else at + 1
            if end - begin >= _LEAST_TOKENS:
                begins.append(begin)
                ends.append(end)
                if len(begins) == _MOST_SENTENCES:
                    break
            begin = at + 1
    return begins, ends


def _between_marks(found: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yield the tokens between marks that no sentence has within, each with the mark behind."""
    begin = 0
    for at, token in enumerate(found):
        if not (token.isalnum() or token in _INNER):
            if at > begin:
                yield found[begin:at], token
            begin = at + 1


def _is_sentence(words: list[str]) -> bool:
    return len(words) >= _SENTENCE and has_function_words(list(map(str.lower, words)))


def _as_sentence(found: list[str]) -> list[str]:
    first = next(at for at, token in enumerate(found) if token.isalpha())
    end = next(at for at in range(len(found), 0, -1) if found[at - 1].isalnum())
    return [found[first][0].upper() + found[first][1:], *found[first + 1 : end], "."]


def _uncapitalized(found: list[str]) -> list[str]:
    """Return tokens in small letters where nearly all content words have capitals."""
    capital = [
        not token[0].islower()
        for before, token in pairwise(found)
        if token.isalpha() and before not in _BEFORE_SENTENCE and token.lower() not in STOP_WORDS
    ]
    if len(capital) >= _CONTENT and sum(capital) > _TITLE * len(capital):
        return _in_small_letters(found)
    return found
