"""Hostile characters: marks, expansions, invisible letters, code points that are none."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from random import Random

__all__ = [
    "bidi",
    "code_points",
    "combining_marks",
    "decomposed",
    "emoji",
    "expanding",
    "format_tags",
    "hangul",
    "indic_marks",
    "look_alikes",
    "marked_letters",
    "random_points",
    "sorted_marks",
    "surrogates",
    "zero_width",
]

_MARKS = [chr(code) for code in range(0x300, 0x370)]
_CLASSED = [
    chr(code) for code in range(0x300, 0x20000) if unicodedata.combining(chr(code)) not in (0, 230)
]
_INDIC = [chr(code) for code in range(0x900, 0xE00) if unicodedata.category(chr(code))[0] == "M"]
_EXPANDING = "\ufdfa\ufdfb\u3316\u33a8\u2a74\u3385\u1f82\u0390\ufb2c\u1e9e\u0130\u0149\ufb03"
_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e"
_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
_LOOK_ALIKES = "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u03bf\u03c1\u0585\u0578\ua4ee"


def combining_marks(draw: Random, question: str) -> Iterator[str]:
    """Yield marks without end on one letter."""
    yield question[:1] or "a"
    while True:
        yield draw.choice(_MARKS)


def sorted_marks(draw: Random, question: str) -> Iterator[str]:
    """Yield marks of all classes, which normalisation has to sort, on one letter."""
    yield question[:1] or "a"
    while True:
        yield draw.choice(_CLASSED)


def marked_letters(draw: Random, question: str) -> Iterator[str]:
    """Yield the question with several marks on every letter."""
    while True:
        for letter in question + " ":
            yield letter + "".join(draw.choices(_MARKS, k=draw.randint(1, 6)))


def decomposed(draw: Random, question: str) -> Iterator[str]:
    """Yield letters that come apart into several."""
    del question
    while True:
        yield unicodedata.normalize("NFD", chr(draw.randint(0xC0, 0x24F)))
        yield chr(draw.randint(0x1E00, 0x1FFF))


def expanding(draw: Random, question: str) -> Iterator[str]:
    """Yield characters of which compatibility normalisation makes up to 18."""
    del question
    while True:
        yield draw.choice(_EXPANDING) * draw.randint(1, 40)


def zero_width(draw: Random, question: str) -> Iterator[str]:
    """Yield the question with invisible letters in it and for its spaces."""
    while True:
        for letter in question + " ":
            hidden = draw.choice(_ZERO_WIDTH)
            yield hidden if letter == " " else letter + hidden * draw.randint(0, 3)


def bidi(draw: Random, question: str) -> Iterator[str]:
    """Yield the question under directions that are opened and not closed."""
    while True:
        for word in question.split() or [""]:
            yield f"{draw.choice(_BIDI)}{word} "


def surrogates(draw: Random, question: str) -> Iterator[str]:
    """Yield lone halves of pairs between words."""
    words = question.split() or [""]
    while True:
        yield chr(draw.randint(0xD800, 0xDFFF)) + draw.choice([draw.choice(words), "", " "])


def code_points(draw: Random, question: str) -> Iterator[str]:
    """Yield one code point after another, so that each is new."""
    del question
    code = draw.randrange(0x80, 0x20000)
    while True:
        yield chr(code)
        code = code + 1 if code < sys.maxunicode else 0x80


def random_points(draw: Random, question: str) -> Iterator[str]:
    """Yield any code points, assigned or not."""
    del question
    while True:
        yield chr(draw.randrange(draw.choice((0x100, 0x3000, 0x20000, sys.maxunicode + 1))))


def look_alikes(draw: Random, question: str) -> Iterator[str]:
    """Yield words of letters that are drawn like others."""
    del question
    while True:
        yield "".join(draw.choices(_LOOK_ALIKES, k=draw.randint(2, 12))) + " "


def emoji(draw: Random, question: str) -> Iterator[str]:
    """Yield emoji joined to others, with tones and variants."""
    del question
    while True:
        yield chr(draw.randint(0x1F300, 0x1FAFF)) + draw.choice(["\u200d", "\ufe0f", "\U0001f3fd"])


def hangul(draw: Random, question: str) -> Iterator[str]:
    """Yield Korean syllables, whole or in letters."""
    del question
    while True:
        syllable = chr(draw.randint(0xAC00, 0xD7A3))
        yield draw.choice([syllable, unicodedata.normalize("NFD", syllable), "\u3164", " "])


def indic_marks(draw: Random, question: str) -> Iterator[str]:
    """Yield letters with marks that are vowels, not accents."""
    del question
    while True:
        yield chr(draw.randint(0x915, 0x939)) + "".join(draw.choices(_INDIC, k=draw.randint(1, 9)))


def format_tags(draw: Random, question: str) -> Iterator[str]:
    """Yield the question in tag characters, which nobody sees."""
    while True:
        yield "".join(chr(0xE0000 + (ord(letter) & 0x7F)) for letter in question)
        yield draw.choice(["", " ", "\x00", "\x0c", "\x85"])
