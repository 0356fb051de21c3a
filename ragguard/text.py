"""How ragguard reads text: one folding and one tokenisation for every signal.

An attacker who may choose the characters would otherwise hide the question from a word-for-word
comparison: full-width or accented letters, look-alikes from other scripts, invisible characters
between letters, padding around it. Folding undoes these, so that all signals read what a person
would read.

Not undone are markup (`ragguard.inline.markup`), and digits for letters, words run together or
spelled out: to read every text so would spoil others. `ragguard.inline.meaning` undoes them where
the question appears by it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from ragguard.lru import on_forget

__all__ = [
    "MAX_CHARS",
    "MOST_CHARS",
    "STOP_WORDS",
    "both_ends",
    "encodable",
    "fold",
    "fold_counted",
    "fold_whole",
    "letters_whole",
    "parted_words",
    "sentences",
    "split_words",
    "tokens",
    "tokens_counted",
    "tokens_whole",
]

MAX_CHARS = 20_000
"""Signals read this many characters of a folded passage; of a longer one they read both ends.

What lies between the ends is unread: it counts neither for nor against a passage, and the verdict
says so.
"""

MOST_CHARS = 10 * MAX_CHARS
"""What is folded at most, before padding is taken out."""

_BLOCK = 10_000  # characters of a very long text that are folded at once
_KEPT_SIGNS = 3  # of every run between words, where a passage is too long
_REMEMBERED_CHARACTERS = 8_192

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


_TOKEN = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_BETWEEN_TOKENS = re.compile(rf"([\W_]{{{_KEPT_SIGNS}}})[\W_]+")
# Twice what "+" would say, since a search skips to a character but not to a repetition. Long runs
# are cut: between two, other threads get their turn.
_NON_ASCII = re.compile(r"[^\x00-\x7f][^\x00-\x7f]{0,4095}")

# Tables for bytes.translate, which changes the ASCII part of UTF-8 faster than anything else.
_LOWER = bytes(range(256)).lower()
_LOWER_WORDS = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in _LOWER)
_CONTROLS = bytes(byte for byte in (*range(32), 127) if byte not in b"\t\n\r")
_BETWEEN = bytes(
    byte for byte in range(128) if chr(byte) not in "+-<>=%$." and not chr(byte).isalnum()
)

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
# With strokes, hooks and tails, small capitals, in brackets or boxes: the name says which letter.
_NAMED = re.compile(
    r"\bLATIN (?:SMALL |CAPITAL |LETTER SMALL CAPITAL )(?:LETTER )?([A-Z])(?: WITH |$)"
)
# From here on no letter without case has a Latin name: ideographs need not be asked for theirs.
_FIRST_WITHOUT_LATIN = "\u0300"
# Dropped, and not spaces, because retrievers drop them as well (BERT's "clean text").
_INVISIBLE = frozenset({"Mn", "Me", "Cf", "Cc", "Co"})
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\ufffd")  # Hangul fillers, the replacement character
_TO_SPACE = frozenset({"Cs", "Cn"})
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
        read = _BETWEEN_TOKENS.sub(r"\1", front + back)
        return both_ends(read, MAX_CHARS), max(0, len(read) - MAX_CHARS)
    unread = right - left + max(0, len(front) + len(back) - MAX_CHARS)
    return f"{front[:half]} {back[half + 1 - MAX_CHARS :]}", unread


def _squeezed(text: str) -> str:
    return _BETWEEN_TOKENS.sub(r"\1", fold_whole(text))


def fold_whole(text: str) -> str:
    """Return what `fold` returns, for the whole of a text however long."""
    return _respelled(text, _FOLDED).encode().translate(_LOWER, _CONTROLS).decode()


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text after `fold`, in order.

    >>> tokens("When was the Marrow-Light built? In 1874.")
    ['when', 'was', 'the', 'marrow', 'light', 'built', 'in', '1874']
    """
    return tokens_counted(text)[0]


def tokens_counted(text: str) -> tuple[list[str], int]:
    """Return what `tokens` returns, and how many characters of a very long text it leaves out."""
    if len(text) <= MAX_CHARS:
        spelled = text if text.isascii() else _respelled(text, _FOLDED_WORDS)
        if len(spelled) <= MAX_CHARS:
            # What is not ASCII is part of a word by now, so that white space alone parts them.
            return spelled.encode().translate(_LOWER_WORDS, _CONTROLS).decode().split(), 0
    folded, unread = fold_counted(text)
    return split_words(folded), unread


def tokens_whole(text: str) -> list[str]:
    """Return what `tokens` returns, for the whole of a text however long."""
    spelled = _respelled(text, _FOLDED_WORDS)
    return spelled.encode().translate(_LOWER_WORDS, _CONTROLS).decode().split()


def letters_whole(text: str) -> bytes:
    """Return the letters, digits and signs of numbers of the whole of a text, nothing between.

    >>> letters_whole("Marrow Light: -5 %")
    b'marrowlight-5%'
    """
    return _respelled(text, _FOLDED_WORDS).encode().translate(_LOWER, _BETWEEN)


def split_words(folded: str) -> list[str]:
    """Return the words and numbers of a text that is folded already, in order."""
    return _TOKEN.findall(folded)


def sentences(text: str) -> list[str]:
    """Return the stretches of a text that end in a full stop, "!" or "?" before white space.

    There is always one, be it empty; white space after the last mark has an empty one behind it.

    >>> sentences("It has 4.5 km. Is it open?  Yes")
    ['It has 4.5 km.', 'Is it open?', 'Yes']
    """
    return _SENTENCE_END.split(text)


def parted_words(text: str) -> list[str]:
    r"""Return the parts of every word that is several words to some retrievers, in order.

    Some drop a zero-width space, which may then hide in a word, and some read it as a space, which
    it may then replace. `tokens` reads a text as the former do; these are what the latter read
    besides.

    >>> parted_words("Who\u200bwrote\u200bit? M\u00e9lanie\u200b did.")
    ['who', 'wrote', 'it']
    """
    for mark in "\f" if text.isascii() else _SPACE_TO_SOME:
        if mark in text:
            break
    else:
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


class _Characters(dict[int, str]):
    """What `str.translate` makes of characters, worked out when one is met."""

    def __init__(self, work_out: Callable[[str], str]) -> None:
        self._work_out = work_out

    def __missing__(self, code: int) -> str:
        if len(self) >= _REMEMBERED_CHARACTERS:
            self.clear()
        out = self[code] = self._work_out(chr(code))
        return out


def _respelled(text: str, characters: _Characters) -> str:
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
    return _lower(parts) if parts == character else "".join([_FOLDED[ord(part)] for part in parts])


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
    folded = _FOLDED[ord(character)]
    if folded.isalnum():
        return folded
    return "".join([part if part.isalnum() else " " for part in folded])


_FOLDED = _Characters(_folded)
_FOLDED_WORDS = _Characters(_folded_words)
on_forget(_FOLDED.clear)
on_forget(_FOLDED_WORDS.clear)


def encodable(text: str) -> str:
    r"""Return `text` with "?" for every lone surrogate, which tokenizers and UTF-8 do not take.

    >>> encodable("a\ud800")
    'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")
