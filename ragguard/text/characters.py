"""Characters as a person reads them: look-alikes, accents and marks, letters in boxes, digits.

Look-alikes are those of Unicode TR 39, the single-letter part; what has strokes, hooks and tails,
or stands in brackets or boxes, is read by its name.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable

from ragguard.lru import on_forget

_REMEMBERED = 43_000  # characters; a table of more would have twice the slots

# Twice what "+" would say, since a search skips to a character but not to a repetition. Long runs
# are cut: between two, other threads get their turn. What follows one is taken along: where every
# second character is a run, each would else take a call.
_NON_ASCII = re.compile(r"[^\x00-\x7f][^\x00-\x7f]{0,4095}.{0,31}", re.DOTALL)

# Letters and signs that are drawn like ASCII ones (Unicode TR 39, the single-letter part), in lower
# case: Latin, Greek, Cyrillic, Armenian, Georgian, Cherokee, Canadian syllabics, Coptic, Lisu.
_LOOK_ALIKES = {
    other: sign
    for sign, others in {
        "a": "\u0251\u03b1\u0430\u15c5\u15e9\ua4ee\uab7a",
        "b": "\u0185\u03b2\u0432\u044c\u13fc\u1472\u15af\u15f7\ua4d0\ua7b5\uab9f",
        "c": "\u03f2\u0441\u1455\u2ca5\ua4da\uabaf",
        "d": "\u00f0\u0501\u146f\u15de\u15ea\ua4d2\ua4d3\uab70\uabb7",
        "e": "\u025b\u03b5\u0435\u0454\u04bd\u15f4\ua4f0\uab32\uab7c",
        "f": "\u03dd\u0584\u15b4\ua4dd\uab35",
        "g": "\u018d\u0261\u050d\u0581\u13fb\ua4d6\uab90",
        "h": "\u043d\u04bb\u0570\u157c\u2c8f\ua4e7\uab8b\uab92",
        "i": "\u0131\u0269\u03b9\u0456\u2c93\ua4f2\ua647\uab75",
        "j": "\u0237\u03f3\u0458\u148d\ua4d9\uab7b",
        "k": "\u0138\u03ba\u043a\u2c95\ua4d7\uabb6",
        "l": "\u01c0\u04cf\u056c\u14aa\u2cd1\ua4e1\uabae",
        "m": "\u03fb\u043c\u15f0\u2c99\ua4df\uab87",
        "n": "\u014b\u03b7\u0578\u057c\u144e\u2c9b\ua4e0",
        "o": "\u0275\u03bf\u03c3\u043e\u0585\u10ff\u1d11\u2c9f\ua4f3\uab3d",
        "p": "\u03c1\u0440\u146d\u2ca3\ua4d1\uabb2",
        "q": "\u051b\u0563\u0566\u146b",
        "r": "\u0433\u1587\u1d26\u2c85\ua4e3\uab47\uab48\uab71\uab81\uaba2",
        "s": "\u01a8\u01bd\u0455\u1515\ua4e2\uaba5\uabaa",
        "t": "\u03c4\u0442\u2ca7\ua4d4\uab72",
        "u": "\u03bc\u03c5\u057d\u144c\ua4f4\ua79f",
        "v": "\u03bd\u0475\u142f\ua4e6\uaba9",
        "w": "\u026f\u03c9\u0461\u051d\u0561\u15ef\ua4ea\uab83\uaba4",
        "x": "\u00d7\u03c7\u0445\u1541\u157d\u166d\u2cad\ua4eb\uab53",
        "y": "\u0263\u03b3\u0443\u04af\u10e7\u2ca9\ua4ec\uab79\uab8d",
        "z": "\u03b6\ua4dc\uab93",
        "ae": "\u00e6",
        "oe": "\u0153",
        "th": "\u00fe",
        "'": "\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201a\u201b\u2032",
        '"': "\u00ab\u00bb\u201c\u201d\u201e\u201f",
        "-": "\u2010\u2012\u2013\u2014\u2015",
    }.items()
    for other in others
}
_LOOK_ALIKES |= zip(  # Braille
    "\u2801\u2803\u2809\u2819\u2811\u280b\u281b\u2813\u280a\u281a\u2805\u2807\u280d"
    "\u281d\u2815\u280f\u281f\u2817\u280e\u281e\u2825\u2827\u283a\u282d\u283d\u2835",
    string.ascii_lowercase,
    strict=True,
)
# With strokes, hooks and tails, small capitals, in brackets or boxes: the name says which letter.
_NAMED = re.compile(
    r"\b(?:LATIN (?:SMALL |CAPITAL |LETTER SMALL CAPITAL )|REGIONAL INDICATOR SYMBOL )"
    r"(?:LETTER )?([A-Z])(?: WITH |$)"
)
# From here on no letter without case has a Latin name: ideographs need not be asked for theirs.
_FIRST_WITHOUT_LATIN = "\u0300"
# What reads as a comma or a full stop at the foot of a line.
_LOW_MARKS = {"\u201a": ",", "\u3001": ",", "\u3002": ".", "\ua4f8": ".", "\ua4f9": ","}
_ASCII_MARKS = frozenset(string.punctuation)
# Dropped, and not spaces, because retrievers drop them as well (BERT's "clean text").
_INVISIBLE = frozenset({"Mn", "Me", "Cf", "Cc", "Co"})
# Hangul fillers, the stroke that only makes an Arabic word longer, the replacement character.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u0640\ufffd")
_TO_SPACE = frozenset({"Cs", "Cn"})


class Characters(dict[int, str]):
    """What `str.translate` makes of characters, worked out when one is met; ASCII stays."""

    def __init__(self, work_out: Callable[[str], str]) -> None:
        self._work_out = work_out
        on_forget(self.clear)

    def __missing__(self, code: int) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        one = chr(code)
        out = self[code] = one if one.isascii() else self._work_out(one)
        return out


def respelled(text: str, characters: Characters) -> str:
    """Return a text with each of its characters as a table has it."""
    if text.isascii():
        return text
    # Run by run: most texts have few, and translating all of a text takes ten times as long.
    return _NON_ASCII.sub(lambda run: run[0].translate(characters), text)


def _folded(character: str) -> str:
    # As a whole first: decomposed, a letter in brackets would come apart from its word.
    read = _read(character)
    if read is not None:
        return read
    parts = unicodedata.normalize("NFKD", character)
    # What is decomposed already has itself as its only part.
    return _lower(parts) if parts == character else "".join(map(_folded, parts))


def _lower(character: str) -> str:
    # Not by lower() alone: sharp and final s, and Cherokee, where casefold() gives capitals.
    return character.casefold().lower()


def _read(character: str) -> str | None:
    """Return what a character is read as, or None if that is itself or its decomposition."""
    category = unicodedata.category(character)
    if character in _BLANK or (category in _INVISIBLE and not character.isascii()):
        return ""
    if category in _TO_SPACE:
        return " "
    if category == "Lo" and character >= _FIRST_WITHOUT_LATIN and character not in _LOOK_ALIKES:
        return None
    lower = _lower(character)
    if lower in _LOOK_ALIKES:
        return _LOOK_ALIKES[lower]
    digit = unicodedata.digit(character, None)
    if digit is not None:
        return str(digit)
    named = _NAMED.search(unicodedata.name(lower, "")) if len(lower) == 1 else None
    return named[1].lower() if named else None


def _folded_words(character: str) -> str:
    folded = FOLDED[ord(character)]
    if folded.isalnum():
        return folded
    return "".join([part if part.isalnum() else " " for part in folded])


def _folded_letters(character: str) -> str:
    folded = FOLDED[ord(character)]
    if folded.isalpha():
        return folded.capitalize() if character.isupper() else folded
    if character in _LOW_MARKS:
        return _LOW_MARKS[character]
    # Full width, small, or a leader of one dot; quotation marks and dashes are themselves.
    mark = unicodedata.normalize("NFKC", character)
    return (mark if mark in _ASCII_MARKS else character) if folded else ""


FOLDED = Characters(_folded)
FOLDED_LETTERS = Characters(_folded_letters)
"""What stands for another letter or mark, as that one, capital or small; no invisible signs."""
FOLDED_WORDS = Characters(_folded_words)
