"""What names the content of a text, however it is written."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ragguard.lru import Remembered, on_forget
from ragguard.text import MAX_CHARS, tokens_whole, without_padding
from ragguard.text.characters import Characters, respelled
from ragguard.text.letters import CURRENCY, RAISED, VERDICTS, letters_of, letters_whole, struck_out

__all__ = ["content_key"]

HEAD = 8
"""With so many hex digits a `content_key` begins that are of the letters alone."""

_MAX_BYTES = 16 * 2**20  # of the keys remembered, with their texts
_BLOCK = 10_000  # characters read at once
_MOST_MARKS = 30  # in a row; more are in no language (UAX #15, Stream-Safe Text Format)
_MAY_BE_MARKS = re.compile(r"[^\x00-\u02ff]+")
_MARKS = re.compile(r"[^\x00-\u02ff]{31,}")

_NUMBER = r"(?:\d{1,16}(?:[./]\d{1,16}){0,3}|\.\d{1,16})"
# Signs that change what is said, with the number or the word that they belong to. Every repetition
# is bounded: of an attacker's text the time must not grow with the square.
_NUMBERS = re.compile(
    rf"(?=[\d.+!<>=\-\u00b1\u2212\u2013\u2260\u2264\u2265{CURRENCY}])(?:"
    rf"(?<![\w.,)\-])[-\u2212\u2013]{_NUMBER}"  # minus five; not a range, not a bullet
    rf"|[+\u00b1]{_NUMBER}"
    rf"|!?[<>=\u2260\u2264\u2265]{{1,2}}\s{{0,8}}{_NUMBER}"
    rf"|[{CURRENCY}]\s{{0,8}}{_NUMBER}"
    r"|(?<![\w.,)])\.\d{1,16}"  # half a unit, without its nought
    # Never from within a number: of a long one every digit would be tried.
    rf"|(?<!\d)(?:{_NUMBER}\s{{0,8}}[%\u2030{CURRENCY}]"
    r"|\d{1,16}(?:[./]\d{1,16}){1,3}))"  # a decimal, a fraction, a date
)
# What normalising takes for plain digits, beside such; and ticks and crosses.
_TOLD = re.compile(rf"\d[{RAISED}]{{1,16}}|[{RAISED}]{{1,16}}\d|[{VERDICTS}]")
_NAMES = re.compile(r"[^\W_][+#]{1,2}(?!\w)")  # C++, C#, B+
_MINUS = str.maketrans("\u2212\u2013", "--")
_MARKED = re.compile("[\u0900-\u109f\u1780-\u17ff\u3040-\u30ff\uff66-\uff9f]+")  # letters, marks
# In these scripts marks are accents, or vowels that are often left out.
_MARKED_AT_WILL = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "ARABIC", "HEBREW")


def content_key(text: str) -> str:
    r"""Return the 32 hex digits that name a text's content.

    Its words count, and signs that change what they say ("-5", ".5", "< 90", "$5", "5 %", "C#",
    raised digits, ticks and crosses, vowels and voicing in the scripts of Asia): not case, accents,
    look-alike or invisible letters, other punctuation or white space. So a quarantined passage is
    still recognised when it comes back wrapped anew, or with a zero-width letter slipped in. Of a
    text of more than `MAX_CHARS` characters all letters count, and such signs. The first digits are
    of the letters alone (`content_heads`): for most texts these tell that no other has their key.

    >>> content_key("Bad  Passage") == content_key("bad pas\u200bsage.\n")
    True
    >>> content_key("Keep at 5 degrees.") == content_key("Keep at -5 degrees.")
    False
    """
    return content_keys.get(text) or content_keys([text])[0]


def content_letters(texts: Sequence[str]) -> list[bytes]:
    """Return what the head of each text's key is made of: its letters, without anything between."""
    return letters_of([text if text.isascii() else _normal(text) or text for text in texts])


def content_heads(letters: Sequence[bytes]) -> list[str]:
    """Return the `HEAD` digits with which the keys of texts begin, by their letters.

    A fifth of what a key costs.
    """
    return [hashlib.blake2b(one, digest_size=HEAD // 2).hexdigest() for one in letters]


def _normal(text: str) -> str | None:
    """Return a text as its words are read; None for a long one, of which all letters count."""
    if len(text) > MAX_CHARS and len(text := without_padding(text)) > MAX_CHARS:
        return None
    normal = text if text.isascii() else unicodedata.normalize("NFKC", _stream_safe(text))
    return normal if len(normal) <= MAX_CHARS else None


def _worked_out(texts: Sequence[str]) -> list[str]:
    normal = [_normal(text) for text in texts]
    words = [tokens_whole(same or "") for same in normal]
    said = [
        _long(text) if same is None else _with_signs(read, same, text)
        for text, same, read in zip(texts, normal, words, strict=True)
    ]
    letters = letters_of([one or text for one, text in zip(normal, texts, strict=True)])
    heads = content_heads(letters)
    return [
        head + hashlib.blake2b(each, digest_size=16 - HEAD // 2).hexdigest()
        for head, each in zip(heads, said, strict=True)
    ]


content_keys: Remembered[str, str] = Remembered(
    _worked_out, max_bytes=_MAX_BYTES, weigh=lambda text, key: 4 * len(text) + 2 * len(key) + 200
)
"""Returns the `content_key` of every text."""


def _long(text: str) -> bytes:
    marked = "" if text.isascii() else "".join(_MARKED.findall(text))
    spelled = hashlib.blake2b(digest_size=16)
    for start in range(0, len(marked), _BLOCK):
        block = _stream_safe(marked[start : start + _BLOCK])
        spelled.update(unicodedata.normalize("NFKD", block).encode())
    return letters_whole(text) + spelled.digest()


def _with_signs(words: Sequence[str], normal: str, text: str) -> bytes:
    # A text without any word is told by its signs.
    spelled = " ".join(words or normal.casefold().split())
    told = () if text.isascii() else _TOLD.findall(struck_out(text))
    signs = "".join(["\n" + sign for sign in (*_signs(normal), *_marks(normal), *told)])
    return (spelled + signs).encode("utf-8", "surrogatepass")


def _stream_safe(text: str) -> str:
    """Return a text with no more combining marks in a row than any language has.

    Normalising sorts each row of them, in a time that grows with its square.
    """
    # What is not ASCII takes a byte more, at least: most texts have too few for such a row.
    if len(text.encode("utf-8", "surrogatepass")) - len(text) <= _MOST_MARKS:
        return text
    return _MARKS.sub(_without_long_rows, text)


def _without_long_rows(run: re.Match[str]) -> str:
    kept, row = [], 0
    for character in run[0]:
        row = row + 1 if unicodedata.combining(character) else 0
        if row <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _signs(text: str) -> Iterator[str]:
    if not text.isascii():
        text = respelled(text, _VISIBLE)
    names = _NAMES.findall(text) if "+" in text or "#" in text else []
    for found in (*_NUMBERS.findall(text), *names):
        yield "".join(found.split()).casefold().translate(_MINUS)


def _marks(text: str) -> Iterator[str]:
    """Yield every letter with each of its marks, of scripts in which these are no accents."""
    if text.isascii():
        return
    spelled = unicodedata.normalize("NFD", text)
    for run in _MAY_BE_MARKS.finditer(spelled):
        letter = spelled[run.start() - 1 : run.start()]
        for character in run[0]:
            if unicodedata.category(character) not in ("Mn", "Mc"):
                letter = character
            elif letter and not _is_marked_at_will(letter):
                yield letter + character


_VISIBLE = Characters(lambda one: "" if unicodedata.category(one) == "Cf" else one)
on_forget(_VISIBLE.clear)


@lru_cache(maxsize=4096)
def _is_marked_at_will(letter: str) -> bool:
    return not letter.isalpha() or unicodedata.name(letter, "").startswith(_MARKED_AT_WILL)


on_forget(_is_marked_at_will.cache_clear)
