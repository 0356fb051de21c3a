"""Canonical form: the letters of a text and nothing between, which two spellings of it share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

from ragguard.text import MAX_CHARS
from ragguard.text.characters import FOLDED_WORDS, respelled

_BLOCK = 10_000  # characters read at once
_MOST_LETTERS = 36 * MAX_CHARS  # bytes at each end: twice eighteen for each character

# Tables for bytes.translate.
_LOWER = bytes(range(256)).lower()
_NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_BETWEEN = bytes(byte for byte in _NO_LETTERS if chr(byte) not in "+-<>=%$.#")
# Digits for the letters they look like, and one letter for the two that "1", "!" and "|" stand for.
_ALIKE = _LOWER.translate(bytes.maketrans(b"013457l", b"oieasti"))
_BORDER = b"\xff"  # no byte of UTF-8

CURRENCY = "$\u00a2-\u00a5\u20a0-\u20cf"
"""Signs of money, for a class of an expression."""

RAISED = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u215f\u2460-\u24ff\u2776-\u2793"
"""Numbers that are raised, lowered, circled or parts of one; ten to the sixth is not 106."""

VERDICTS = (
    "\u00ac\u2190-\u2193\u21d0-\u21d3\u2260\u2264-\u2271\u25b2\u25bc\u2610-\u2612\u2705\u2713-\u2718\u274c\u274e"
    "\u2a7d\u2a7e\u2b05-\u2b07\U0001f44d\U0001f44e\U0001f4c8\U0001f4c9\U0001f534\U0001f7e2"
)
"""Ticks, crosses, arrows and comparisons, of which one is the opposite of another."""

# Each as letters that nothing else has, where signs between letters are left out.
_TOLD = {"\u2212": "-", "\u2013": "-"}
_SIGNS = re.compile(
    f"[\u00b1\u2030\u2212\u2013{CURRENCY[1:]}{RAISED}{VERDICTS}]|(?<=\\d)[/,:*](?=\\d)|!(?==)"
)
_STRUCK_OUT = re.compile("[^\\w\\s][\u0300-\u036f]{0,8}?\u0338")
_NARROW = {wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}


def letters_whole(text: str) -> bytes:
    r"""Return the letters, digits and signs of numbers of the whole of a text, nothing between.

    For the middle of very many stands a digest of all.

    >>> letters_whole("Marrow Light: -5 %"), letters_whole("\u2264 5")
    (b'marrowlight-5%', b'$2264$5')
    """
    read = text if text.isascii() else struck_out(text).translate(_NARROW)
    return _letters(_SIGNS.sub(_told, read), _LOWER, _BETWEEN)


def struck_out(text: str) -> str:
    r"""Return a text in which a sign that is struck out is one character.

    Without its stroke it would be its own opposite.

    >>> ascii(struck_out("a =\u0338 b"))
    "'a \\u2260 b'"
    """
    if "\u0338" not in text:
        return text
    found = {one: unicodedata.normalize("NFC", one) for one in set(_STRUCK_OUT.findall(text))}
    return _STRUCK_OUT.sub(lambda one: found[one[0]], text)


def letters_of(texts: Sequence[str]) -> list[bytes]:
    """Return the letters of the whole of each text, nothing between, digits as letters like them.

    For the middle of very many stands a digest of all.

    >>> letters_of(["Marrow Light: -5 %", "1874"])
    [b'marrowiights', b'i8ta']
    """
    if not texts:
        return []
    if max(map(len, texts)) > MAX_CHARS:
        return [_letters(text, _ALIKE, _NO_LETTERS) for text in texts]
    # All at once: one by one it would take twice the time.
    spelled = [text if text.isascii() else respelled(text, FOLDED_WORDS) for text in texts]
    whole = _BORDER.join([text.encode() for text in spelled])
    return whole.translate(_ALIKE, _NO_LETTERS).split(_BORDER)


def _told(sign: re.Match[str]) -> str:
    return _TOLD.get(sign[0], f"${ord(sign[0]):x}$")


def _letters(text: str, table: bytes, left_out: bytes) -> bytes:
    """Return what a table makes of a text, read block by block.

    Some characters stand for eighteen others: of ten texts of 3 MB all letters would take 1 GB.
    """
    front, back, whole, count = bytearray(), bytearray(), blake2b(digest_size=16), 0
    for start in range(0, len(text), _BLOCK):
        block = respelled(text[start : start + _BLOCK], FOLDED_WORDS)
        letters = block.encode().translate(table, left_out)
        whole.update(letters)
        count += len(letters)
        room = _MOST_LETTERS - len(front)
        front += letters[:room]
        back += letters[room:]
        if len(back) > 2 * _MOST_LETTERS:
            del back[:-_MOST_LETTERS]
    if count <= 2 * _MOST_LETTERS:
        return bytes(front + back)
    return _BORDER.join([front, whole.digest(), back[-_MOST_LETTERS:]])
