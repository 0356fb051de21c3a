"""Notes: what stands between the words of a text and is none of them.

People read on past notes in brackets, comments, line breaks that are written out, and raised or
circled numbers; a comparison of words or letters in a row does not.
"""

from __future__ import annotations

import re
from math import inf

# Every repetition is bounded, or ends where the next one may begin.
# Raised, lowered and circled numbers, and raised letters.
_RAISED = re.compile("[\u00b2\u00b3\u00b9\u2070-\u209c\u2460-\u249b\u24ea-\u24ff\u2776-\u2793]")
_BRACKETED = re.compile(r"!?[(\[{][^()\[\]{}]*+[)\]}]")
_NOTES = (re.compile(r"<!--[^<>]*+>"), re.compile(r"\\[nrt]"), _RAISED)
_INNER = re.compile(
    r"""(?:[(\[{](?<=[^\W\d_].)[(\[{]?[^()\[\]{}]{0,200}[)\]}]{1,2}|<(?<=[^\W\d_].)[^<>]{1,200}>)
    (?:[(\[{]{1,2}[^()\[\]{}]{0,200}[)\]}]{1,2}|<[^<>]{1,200}>)?(?=[^\W\d_])""",
    re.VERBOSE,
)
_WIDE = "\uff08\uff09\uff3b\uff3d\uff5b\uff5d\u3010\u3011"  # brackets of full width
_HAS_WIDE, _NARROW = re.compile(f"[{_WIDE}]"), str.maketrans(_WIDE, "()[]{}[]")
_FEW = 2  # leave enough in a row


def without_notes(text: str, longest: float = inf) -> str:
    """Return a text with a space for each note; most texts have two at most and come back as is.

    A note in brackets of more than `longest` characters stays.

    >>> without_notes("who (see 1) built [2] the (see 3) pier")
    'who   built   the   pier'
    """
    read = text
    if not text.isascii() and _HAS_WIDE.search(text):
        read = text.translate(_NARROW)
    count = read.count
    begin = count("(") + count("[") + count("{") + count("<!--") + count("\\")
    if not text.isascii():
        begin += len(_RAISED.findall(text))
    if begin <= _FEW:
        return text

    def left_out(note: re.Match[str]) -> str:
        return " " if len(note[0]) <= longest else note[0]

    read = _BRACKETED.sub(left_out, read)
    for note in _NOTES:
        read = note.sub(" ", read)
    if ")" in read or "]" in read or "}" in read:  # one note may stand in another
        read = _BRACKETED.sub(left_out, read)
    return read


def rejoined(text: str) -> str:
    """Return a text without the notes and tags that stand within a word, or two words.

    >>> rejoined("who bu[sic]ilt the pi<i></i>er (see 3) here")
    'who built the pier (see 3) here'
    """
    return _INNER.sub("", text)
