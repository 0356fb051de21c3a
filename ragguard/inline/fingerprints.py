"""Fingerprints of a text: hashes of its letters, 16 in a row, which survive small edits.

Compared are letters alone, as the filter reads them: without markup, case, accents, look-alikes,
invisible characters, white space and punctuation, and with letters for the signs and digits that
stand for them ("d00r$"). So an edit changes the few fingerprints that it touches, and where words
are parted or joined nothing changes. A deterministic half of the fingerprints is kept (mod-p
sampling: Broder, On the resemblance and containment of documents, 1997), and of a text in
quarantine the lowest ones (a bottom-k sketch: Cohen and Kaplan, 2007): shares of them estimate the
shares of the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.normalize.leet import lettered
from ragguard.text import MAX_CHARS, both_ends, letters_only
from ragguard.text.html import strip_markup

__all__ = [
    "FEWEST",
    "MOST",
    "WINDOW",
    "Fingerprints",
    "fingerprints",
    "is_current",
    "read_signature",
    "signature",
]

WINDOW = 16
"""Bytes of letters in UTF-8: three or four English words, five Chinese characters."""

MOST = 64
"""Fingerprints of a signature."""

FEWEST = 6
"""A signature of fewer is none: texts of fewer than some thirty letters are alike by chance."""

_MOST_CHARS = 2 * MAX_CHARS  # of a text are read, of which MAX_CHARS letters count
_VERSION = b"\x01"  # of what a signature holds; one of another version is made anew
# Sums of letters times powers of an odd number, modulo 2^32, which are then mixed
# (Karp and Rabin, 1987; the end of MurmurHash3, Appleby, 2011).
_POWERS = {size: np.uint32(pow(0x9E3779B1, size, 2**32)) for size in (1, 2, 4, 8)}
_MIX, _MIX_AGAIN = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_HALF = np.uint32(2**31)
# Digits for the letters they look like, and one letter for the two that "1", "!" and "|" stand for.
_ALIKE = bytes.maketrans(b"013457l", b"oieasti")


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


def fingerprints(texts: Sequence[str]) -> Fingerprints:
    """Return the fingerprints of texts; of very long ones both ends are read."""
    letters = [_letters(text) for text in texts]
    joined = b"".join(letters)
    letter_ends = [*accumulate(map(len, letters))]
    if len(joined) < WINDOW:
        return Fingerprints(np.empty(0, np.uint32), np.zeros(len(texts), np.int64))
    hashes = np.frombuffer(joined, np.uint8).astype(np.uint32)
    for size, power in _POWERS.items():  # of 2, 4, 8 and 16 letters
        hashes = hashes[:-size] * power + hashes[size:]
    hashes ^= hashes >> 16
    hashes *= _MIX
    hashes ^= hashes >> 13
    hashes *= _MIX_AGAIN
    hashes ^= hashes >> 16
    kept = hashes < _HALF
    for end in letter_ends:  # a window that reaches into the next text is in neither
        kept[max(0, end - WINDOW + 1) : end] = False
    places = np.flatnonzero(kept)
    return Fingerprints(hashes[places], np.searchsorted(places, letter_ends))


def signature(text: str, cleared: Iterable[str] = ()) -> bytes:
    """Return what a text in quarantine is recognised by when it comes back edited.

    Args:
        text: The text.
        cleared: Texts that were looked at together with it and found innocent. What they say as
            well does not count: an honest page is not held because poison was copied from it.

    Returns:
        At most 64 fingerprints, behind a byte for the version of their form.
    """
    read = fingerprints([text, *cleared])
    found = np.setdiff1d(read.distinct(0), read.hashes[read.ends[0] :], assume_unique=True)
    return _VERSION + found[:MOST].astype("<u4").tobytes()


def is_current(written: bytes | None) -> bool:
    """Return whether a signature is there, and of the form that is made now."""
    return written is not None and written[:1] == _VERSION and len(written) % 4 == 1


def read_signature(written: bytes | None) -> NDArray[np.uint32]:
    """Return the fingerprints of a signature; of one in another form none."""
    if written is None or not is_current(written):
        return np.empty(0, np.uint32)
    return np.frombuffer(written, "<u4", offset=1).astype(np.uint32)


def _letters(text: str) -> bytes:
    shown = strip_markup(both_ends(text, _MOST_CHARS))
    letters = _ends(letters_only(shown).translate(_ALIKE))
    signs = lettered(shown)
    # Signs may stand for letters, or only stand about: read both ways.
    return letters if signs is shown else letters + _ends(letters_only(signs).translate(_ALIKE))


def _ends(letters: bytes) -> bytes:
    half = MAX_CHARS // 2
    return letters if len(letters) <= MAX_CHARS else letters[:half] + letters[-half:]
