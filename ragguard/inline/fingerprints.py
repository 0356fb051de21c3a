"""Fingerprints of a text: hashes of its letters, 16 in a row, which survive small edits.

Compared are letters alone, as the filter reads them: without markup, case, accents, look-alikes,
invisible characters, white space and punctuation, and with letters for the signs and digits that
stand for them ("d00r$"). So an edit changes the few fingerprints that it touches, and where words
are parted or joined nothing changes. Notes in brackets, of which one behind every third word leaves
no 16 letters in a row, are read and left out. A deterministic half of the fingerprints is kept
(mod-p sampling: Broder, On the resemblance and containment of documents, 1997), and of a text in
quarantine the lowest ones (a bottom-k sketch: Cohen and Kaplan, 2007): shares of them estimate the
shares of the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ragguard.content import content_letters
from ragguard.inline.normalize.leet import lettered
from ragguard.text import MAX_CHARS, both_ends, letters_of
from ragguard.text.html import strip_markup

WINDOW = 16
"""Bytes of letters in UTF-8: three or four English words, five Chinese characters."""

MOST = 64
"""Fingerprints of a signature."""

FEWEST = 6
"""A signature of fewer is none: texts of fewer than some thirty letters are alike by chance."""

_MOST_CHARS = 2 * MAX_CHARS  # of a text are read, of which MAX_CHARS letters count
# Of what a signature holds: all of a text, or what others did not say as well. One of another
# version is made anew.
_WHOLE, _REST = b"\x02", b"\x03"
_HALF = WINDOW // 2  # bytes, which are read as one number
# Of (first half * one + second half) * other, modulo 2^64, the upper 32 bits (multiplicative
# hashing: Knuth, The Art of Computer Programming 3, 6.4), if the first of them is 0.
_FIRST, _BOTH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_UPPER = np.uint64(32)
_PADDING = bytes(WINDOW)
_ACROSS = WINDOW - 1
# What stands between words and is none: notes in brackets, comments, line breaks that are written
# out, and raised or circled numbers. Every repetition is bounded.
_RAISED = re.compile("[\u00b2\u00b3\u00b9\u2070-\u209c\u2460-\u24ff\u2776-\u2793]")
_ASIDES = (
    re.compile(r"[(\[{][^()\[\]{}]{0,24}[)\]}]"),
    re.compile(r"<!--[^<>]{0,24}-->"),
    re.compile(r"\\[nrt]"),
    _RAISED,
)
_FEW_ASIDES = 2  # leave enough letters in a row


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of several texts, in the order of their letters.

    Attributes:
        hashes: uint32 array of shape (n,): those of all texts in a row.
        ends: int64 array of shape (t,): where those of each text end.
    """

    hashes: NDArray[np.uint32]
    ends: NDArray[np.int64]

    def distinct(self, text: int) -> NDArray[np.uint32]:
        """Return those of one text, each once and sorted."""
        start = self.ends[text - 1] if text else 0
        return np.unique(self.hashes[start : self.ends[text]])


def fingerprints(texts: Sequence[str], letters: Sequence[bytes] | None = None) -> Fingerprints:
    """Return the fingerprints of texts, whose `content_letters` may be known.

    Of very long ones both ends are read.
    """
    known = content_letters(texts) if letters is None else letters
    read = [_shown(text, one) for text, one in zip(texts, known, strict=True)]
    joined = b"".join([*read, _PADDING])
    ends = list(accumulate(map(len, read)))
    windows = len(joined) - WINDOW + 1
    # Eight letters from each one on, as a number.
    eights = np.ndarray((windows + _HALF,), "<u8", joined, strides=(1,)).copy()
    hashes = eights[:windows] * _FIRST
    hashes += eights[_HALF:]
    hashes *= _BOTH
    kept = hashes.view(np.int64) >= 0
    for end in ends:  # what begins in the last letters of a text reaches beyond it
        kept[max(0, end - _ACROSS) : end] = False
    (places,) = kept.nonzero()
    found = hashes[places]
    found >>= _UPPER
    return Fingerprints(found.astype(np.uint32), places.searchsorted(ends))


def signature(text: str, cleared: Iterable[str] = ()) -> bytes:
    """Return what a text in quarantine is recognised by when it comes back edited.

    Texts that were looked at together with it and found innocent are `cleared`. What they say as
    well does not count: an honest page is not held because poison was copied from it.

    Returns:
        At most 64 fingerprints, behind a byte for the version of their form.
    """
    read = fingerprints([_without_asides(both_ends(text, _MOST_CHARS)), *cleared])
    found = np.setdiff1d(read.distinct(0), read.hashes[read.ends[0] :], assume_unique=True)
    version = _WHOLE if len(read.ends) == 1 else _REST
    return version + found[:MOST].astype("<u4").tobytes()


def is_current(written: bytes | None) -> bool:
    """Return whether a signature is there, and of the form that is made now."""
    return written is not None and written[:1] in (_WHOLE, _REST) and len(written) % 4 == 1


def is_rest(written: bytes | None) -> bool:
    """Return whether a signature is of what no cleared text says."""
    return written is not None and written[:1] == _REST


def read_signature(written: bytes | None) -> NDArray[np.uint32]:
    """Return the fingerprints of a signature; of one in another form none."""
    if written is None or not is_current(written):
        return np.empty(0, np.uint32)
    return np.frombuffer(written, "<u4", offset=1).astype(np.uint32)


def _shown(text: str, letters: bytes) -> bytes:
    """Return the letters of a text without its markup; `letters` are those with it."""
    shown = strip_markup(both_ends(text, _MOST_CHARS))
    signs = lettered(shown)
    if shown != text:
        (letters,) = letters_of([shown])
    # Signs may stand for letters, or only stand about: read both ways.
    read = _ends(letters) if signs is shown else _ends(letters) + _ends(*letters_of([signs]))
    rest = _without_asides(shown)
    return read if rest is shown else read + _ends(*letters_of([rest]))


def _without_asides(text: str) -> str:
    """Return a text without what is no word; most texts have little of it and come back as is."""
    count = text.count
    begin = count("(") + count("[") + count("{") + count("<!--") + count("\\")
    if not text.isascii():
        begin += len(_RAISED.findall(text))
    if begin <= _FEW_ASIDES:
        return text
    for aside in _ASIDES:
        text = aside.sub("", text)
    return text


def _ends(letters: bytes) -> bytes:
    half = MAX_CHARS // 2
    return letters if len(letters) <= MAX_CHARS else letters[:half] + letters[-half:]
