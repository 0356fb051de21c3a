"""Case folding and tokenisation: how every signal reads text.

An attacker could hide the question from a word-for-word comparison by full-width or accented
letters, look-alikes from other scripts, invisible characters between letters, padding around it.
Folding undoes these. Markup is undone in `ragguard.text.html`; digits for letters, words run
together or spelled out in `ragguard.inline.normalize`, where the question appears by it: to read
every text so would spoil others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ragguard.text.characters import FOLDED, FOLDED_WORDS, respelled

__all__ = [
    "MAX_CHARS",
    "MOST_CHARS",
    "STOP_WORDS",
    "both_ends",
    "encodable",
    "fold",
    "fold_counted",
    "fold_whole",
    "has_function_words",
    "parted_words",
    "printable",
    "sentences",
    "split_words",
    "tokens",
    "tokens_counted",
    "tokens_whole",
]

MAX_CHARS = 20_000
"""Signals read this many characters of a folded passage; of a longer one both ends.

What lies between counts neither for nor against a passage, and the verdict says so.
"""

MOST_CHARS = 10 * MAX_CHARS
"""What is folded at most, before padding is taken out."""

_BLOCK = 10_000  # characters of a very long text that are folded at once
_KEPT_SIGNS = 3  # of every run between words, where a passage is too long

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are aren as at be because been
    before being below between both but by can cannot could couldn d did didn do does doesn doing
    don down during each etc few for from further had hadn has hasn have haven having he her here
    hers herself him himself his how i if in into is isn it its itself just ll m may me might more
    most mustn my myself no nor not now o of off on once only or other our ours ourselves out over
    own re s same shall she should shouldn so some such t than that the their theirs them
    themselves then there these they this those through to too under until up upon us ve very was
    wasn we were weren what when where which while who whom whose why will with won would wouldn y
    you your yours yourself yourselves""".split()
)
"""English function words: they say nothing of what a text is about."""

_FUNCTION_WORDS = 0.2  # of the words of an English text at least

_STEERING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})  # Unicode categories
WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_BETWEEN_TOKENS = re.compile(rf"([\W_]{{{_KEPT_SIGNS}}})[\W_]+")

# Tables for bytes.translate, which changes the ASCII part of UTF-8 faster than anything else.
_LOWER = bytes(range(256)).lower()
_LOWER_WORDS = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in _LOWER)
_CONTROLS = bytes(byte for byte in (*range(32), 127) if byte not in b"\t\n\r")

# Dropped as the others, but SentencePiece's normaliser (XLM-R, T5) reads them as spaces.
_SPACE_TO_SOME = "\f\x85\u200b\u200c\u200d\u200e\u200f\ufeff\ufffd"
_SPACED_OUT = str.maketrans(dict.fromkeys(_SPACE_TO_SOME, " "))
_UNBROKEN = re.compile(r"[^\x00-\x0b\x0d-\x20]+")


def fold(text: str) -> str:
    r"""Return `text` in lower case without accents, look-alikes and invisible characters.

    Of texts that are longer than `MAX_CHARS` even so, padding between words and then the middle are
    left out. Lone surrogates become spaces.

    >>> fold("\uff37ho wr\u200bote M\u0430\u0301rk?")
    'who wrote mark?'
    """
    return fold_counted(text)[0]


def fold_counted(text: str) -> tuple[str, int]:
    """Return what `fold` returns, and how many characters it leaves out besides padding."""
    if len(text) <= MAX_CHARS and len(folded := fold_whole(text)) <= MAX_CHARS:
        return folded, 0
    # Block by block from both ends until enough is read: padding is much text for little, and some
    # characters stand for eighteen others.
    half, most = MAX_CHARS // 2, MOST_CHARS // 2
    front = back = ""
    left, right = 0, len(text)
    while left < right and (
        len(front) + len(back) <= MAX_CHARS or min(len(front), len(back)) < half
    ):
        may_front, may_back = left < most, len(text) - right < most
        if may_front and (len(front) <= len(back) or not may_back):
            stop = min(left + _BLOCK, right)
            front += _squeezed(text[left:stop])
            left = stop
        elif may_back:
            start = max(right - _BLOCK, left)
            back = _squeezed(text[start:right]) + back
            right = start
        else:
            break
    if left >= right:
        read = without_padding(front + back)
        return both_ends(read, MAX_CHARS), max(0, len(read) - MAX_CHARS)
    unread = right - left + max(0, len(front) + len(back) - MAX_CHARS)
    return f"{front[:half]} {back[half + 1 - MAX_CHARS :]}", unread


def without_padding(text: str) -> str:
    r"""Return a text with no more than a few signs in a row between its words.

    >>> without_padding("lit" + " " * 9_000 + "in 1874")
    'lit   in 1874'
    """
    return _BETWEEN_TOKENS.sub(r"\1", text)


def _squeezed(text: str) -> str:
    return without_padding(fold_whole(text))


def fold_whole(text: str) -> str:
    """Return what `fold` returns, for the whole of a text however long."""
    spelled = text if text.isascii() else respelled(text, FOLDED)
    return spelled.encode().translate(_LOWER, _CONTROLS).decode()


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text after `fold`, in order.

    >>> tokens("When was the Marrow-Light built? In 1874.")
    ['when', 'was', 'the', 'marrow', 'light', 'built', 'in', '1874']
    """
    return tokens_counted(text)[0]


def tokens_counted(text: str) -> tuple[list[str], int]:
    """Return what `tokens` returns, and how many characters of a very long text it leaves out."""
    if len(text) <= MAX_CHARS:
        spelled = text if text.isascii() else respelled(text, FOLDED_WORDS)
        if len(spelled) <= MAX_CHARS:
            return _parted(spelled), 0
    folded, unread = fold_counted(text)
    return split_words(folded), unread


def tokens_whole(text: str) -> list[str]:
    """Return what `tokens` returns, for the whole of a text however long."""
    return _parted(respelled(text, FOLDED_WORDS))


def _parted(spelled: str) -> list[str]:
    # What is not ASCII is part of a word by now, so that white space alone parts them.
    return spelled.encode().translate(_LOWER_WORDS, _CONTROLS).decode().split()


def split_words(folded: str) -> list[str]:
    """Return the words and numbers of a text that is folded already, in order."""
    return WORD.findall(folded)


def has_function_words(words: Sequence[str]) -> bool:
    """Return True if words have as many English function words among them as an English text."""
    found = sum(map(STOP_WORDS.__contains__, words))
    return found > 0 and found >= _FUNCTION_WORDS * len(words)


def sentences(text: str) -> list[str]:
    """Return the stretches of a text that end in a full stop, "!" or "?" before white space.

    There is always one, be it empty; white space after the last mark has an empty one behind it.

    >>> sentences("It has 4.5 km. Is it open?  Yes")
    ['It has 4.5 km.', 'Is it open?', 'Yes']
    """
    return _SENTENCE_END.split(text)


def parted_words(text: str) -> list[str]:
    r"""Return the parts of every word that is several words to some retrievers, in order.

    Some drop a zero-width space, as `tokens` does; these are what others, to whom it is a space,
    read besides.

    >>> parted_words("Who\u200bwrote\u200bit? M\u00e9lanie\u200b did.")
    ['who', 'wrote', 'it']
    """
    if not any(map(text.__contains__, "\f" if text.isascii() else _SPACE_TO_SOME)):
        return []
    found: list[str] = []
    for stretch in _UNBROKEN.findall(both_ends(text, MOST_CHARS)):
        spaced = stretch.translate(_SPACED_OUT)
        if spaced != stretch and len(parts := tokens(spaced)) > len(tokens(stretch)):
            found += parts
    return " ".join(found)[:MAX_CHARS].split()


def both_ends(text: str, length: int) -> str:
    """Return a text that has at most `length` characters, or both of its ends and a space.

    >>> both_ends("abcdefgh", 5)
    'ab gh'
    """
    if len(text) <= length:
        return text
    half = length // 2
    return f"{text[:half]} {text[half + 1 - length :]}"


def encodable(text: str) -> str:
    r"""Return `text` with "?" for every lone surrogate, which tokenizers and UTF-8 do not take.

    >>> encodable("a\ud800")
    'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def printable(text: str) -> str:
    r"""Return `text` on one line, with what would steer a terminal made visible.

    An escape sequence or a right-to-left override in a passage could hide what accuses it.

    >>> printable("one\n two \x1b[2J")
    'one two \\x1b[2J'
    """
    words = " ".join(text.split())
    return "".join(
        char if unicodedata.category(char) not in _STEERING else ascii(char)[1:-1] for char in words
    )
