"""Fingerprints of a text: hashes of its letters, 16 in a row, which survive small edits.

Shingles of letters, of which a deterministic half is kept (mod-p sampling: Broder, On the
resemblance and containment of documents, 1997), and of a text in quarantine the lowest `MOST` (a
bottom-k sketch: Cohen and Kaplan, 2007): shares of them estimate the shares of the texts.

Compared are letters alone, without markup, case, accents, look-alikes, invisible characters, white
space and punctuation, and with letters for what stands for them ("d00r$"): an edit changes the few
fingerprints that it touches, and other gaps none. Notes in brackets, of which one behind every
third word leaves no 16 letters in a row, are read and left out.

Other letters with the same fingerprints are fast to find: a planted text could share those of an
honest page. So a signature has a cryptographic hash of the letters behind each, which those of a
copy must have as well. And which are the lowest depends on all of the text, or filler could be
written that takes the places of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ragguard.content import content_letters
from ragguard.inline.normalize.leet import lettered
from ragguard.text import MAX_CHARS, MOST_CHARS, both_ends, without_padding
from ragguard.text.html import strip_markup
from ragguard.text.letters import letters_of
from ragguard.text.notes import without_notes

WINDOW = 16
"""Bytes of letters in UTF-8: three or four English words, five Chinese characters."""

MOST = 64
"""Fingerprints of a signature."""

FEWEST = 6
"""A signature of fewer is none: texts of fewer than some thirty letters are alike by chance."""

_MOST_CHARS = 2 * MAX_CHARS  # of a text are read, of which MAX_CHARS letters count
# Of what a signature holds: all of a text, or what others did not say as well. One of another
# version is made anew.
_WHOLE, _REST = b"\x04", b"\x05"
_SEED, _EACH = 4, 12  # bytes
_LONGEST_NOTE = 40  # characters
_LEAST_REST = 1 / 8  # of the words of a text, or its notes are the text
_HALF = WINDOW // 2  # bytes, which are read as one number
# Of (first half * one + second half) * other, modulo 2^64, the upper 32 bits (multiplicative
# hashing: Knuth, The Art of Computer Programming 3, 6.4), if the first of them is 0.
_FIRST, _BOTH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_UPPER = np.uint64(32)
_AT_ONCE = 256  # texts


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of several texts, in the order of their letters."""

    hashes: NDArray[np.uint32]  # of shape (n,): those of all texts in a row
    ends: NDArray[np.int64]  # of shape (t,): where those of each text end
    places: NDArray[np.int64]  # of shape (n,): where in `letters` what each is of begins
    letters: bytes  # of all texts

    def proofs(self, chosen: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return a cryptographic hash of the letters behind some fingerprints, by their numbers.

        uint64 array of the shape of `chosen`.
        """
        starts = self.places[chosen].tolist()
        read = [self.letters[start : start + WINDOW] for start in starts]
        known = {one: blake2b(one, digest_size=8).digest() for one in set(read)}
        return np.frombuffer(b"".join([known[one] for one in read]), "<u8").astype(np.uint64)

    def distinct(self, text: int) -> NDArray[np.uint32]:
        """Return those of one text, each once and sorted."""
        start = self.ends[text - 1] if text else 0
        return np.unique(self.hashes[start : self.ends[text]])


def fingerprints(texts: Sequence[str], letters: Sequence[bytes] | None = None) -> Fingerprints:
    """Return the fingerprints of texts, whose `content_letters` may be known; ends of long ones."""
    known = content_letters(texts) if letters is None else letters
    read = [_shown(text, one) for text, one in zip(texts, known, strict=True)]
    joined = b"".join([*read, bytes(WINDOW)])
    ends = list(accumulate(map(len, read)))
    windows = len(joined) - WINDOW + 1
    # Eight letters from each one on, as a number.
    eights = np.ndarray((windows + _HALF,), "<u8", joined, strides=(1,)).copy()
    hashes = eights[:windows] * _FIRST
    hashes += eights[_HALF:]
    hashes *= _BOTH
    kept = hashes.view(np.int64) >= 0
    for end in ends:  # what begins in the last letters of a text reaches beyond it
        kept[max(0, end - WINDOW + 1) : end] = False
    kept[-1] = False  # what begins behind them all
    (places,) = kept.nonzero()
    found = hashes[places]
    found >>= _UPPER
    return Fingerprints(found.astype(np.uint32), places.searchsorted(ends), places, joined)


@dataclass(frozen=True)
class Signature:
    """What a text in quarantine is recognised by."""

    seed: int  # from the text, for the order in which fingerprints are chosen
    hashes: NDArray[np.uint32]  # the fingerprints, of shape (m,), sorted
    proofs: NDArray[np.uint64]  # of the letters behind each, of shape (m,)
    rest: bool  # whether they are of what no cleared text says, and not of all

    @classmethod
    def read(cls, written: bytes | None) -> Self:
        """Return what `signature` wrote; of one in another form, or of None, an empty one."""
        if written is None or not is_current(written):
            return cls(0, np.empty(0, np.uint32), np.empty(0, np.uint64), rest=False)
        seed, known = written[1 : 1 + _SEED], written[1 + _SEED :]
        count = len(known) // _EACH
        hashes = np.frombuffer(known, "<u4", count).astype(np.uint32)
        proofs = np.frombuffer(known, "<u8", count, 4 * count).astype(np.uint64)
        return cls(int.from_bytes(seed, "little"), hashes, proofs, rest=written[:1] == _REST)


def shuffled(hashes: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    """Return for each fingerprint its place in an order that nobody can choose: same shape.

    The last step of MurmurHash3 (Appleby 2011), which mixes every bit into every other.
    """
    mixed = hashes ^ np.uint32(seed)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed ^= mixed >> np.uint32(shift)
        mixed *= np.uint32(factor)
    return np.asarray(mixed ^ (mixed >> np.uint32(16)), np.uint32)


def said_elsewhere(
    own: NDArray[np.uint32], texts: Iterable[str], counts: Callable[[str], bool]
) -> NDArray[np.uint32]:
    """Return which of some fingerprints other texts have as well: uint32, sorted as they are.

    The others are read a few at a time; `counts` says of one that adds to it whether it counts.
    """
    said, rest = np.zeros(len(own), np.bool_), iter(texts)
    while len(own) and (some := list(islice(rest, _AT_ONCE))):
        read = fingerprints(some)
        places = np.minimum(own.searchsorted(read.hashes), len(own) - 1)
        (hits,) = (own[places] == read.hashes).nonzero()
        ends = hits.searchsorted(read.ends)
        for text, start, end in zip(some, [0, *ends[:-1]], ends, strict=True):
            found = places[hits[start:end]]
            if not said[found].all() and counts(text):
                said[found] = True
    return own[said]


def signed_part(text: str) -> str:
    """Return what a signature reads of a text: without padding, and without short notes.

    A longer one says something, and so do notes that are nearly all of a text.
    """
    whole = _unpadded(text)
    rest = without_notes(whole, _LONGEST_NOTE)
    return rest if len(rest.split()) >= _LEAST_REST * len(whole.split()) else whole


def also_in(own: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which fingerprints are among others, which are sorted: bool array of their shape."""
    if not len(others):
        return np.zeros(len(own), np.bool_)
    return np.asarray(others[np.minimum(others.searchsorted(own), len(others) - 1)] == own)


def signature(text: str, said: Sequence[NDArray[np.uint32]] = ()) -> bytes:
    """Return what a text in quarantine is recognised by when it comes back edited.

    What innocent texts say as well (`said`: sorted fingerprints of these) does not count: an honest
    page is not held because poison was copied from it. These are at most 64 fingerprints and their
    proofs, behind a byte for the version of their form and four of the seed.
    """
    read = fingerprints([signed_part(text)])
    found, first = np.unique(read.hashes, return_index=True)
    for others in said:
        stays = ~also_in(found, others)
        found, first = found[stays], first[stays]
    seed = blake2b(_unpadded(text).encode("utf-8", "surrogatepass"), digest_size=_SEED).digest()
    order = shuffled(found, int.from_bytes(seed, "little"))
    chosen = np.sort(np.argsort(order, kind="stable")[:MOST])
    hashes = found[chosen].astype("<u4").tobytes()
    proofs = read.proofs(first[chosen]).astype("<u8").tobytes()
    return (_REST if said else _WHOLE) + seed + hashes + proofs


def is_current(written: bytes | None) -> bool:
    """Return whether a signature is there, and of the form that is made now."""
    versions, head = (_WHOLE, _REST), 1 + _SEED
    return written is not None and written[:1] in versions and len(written) % _EACH == head


def _shown(text: str, letters: bytes) -> bytes:
    """Return the letters of a text without its markup; `letters` are those with it."""
    shown = strip_markup(_unpadded(text))
    # Signs may stand for letters, or only stand about, and so may notes: read each way.
    ways = [shown, lettered(shown), without_notes(shown, _LONGEST_NOTE)]
    read = [letters] if shown == text else letters_of([shown])
    if more := [one for one in ways[1:] if one is not shown]:
        read += letters_of(more)
    return b"".join(map(_ends, read))


def _unpadded(text: str) -> str:
    """Return both ends of a long text, of which white space and signs in a row take no part."""
    if len(text) > _MOST_CHARS:
        text = without_padding(both_ends(text, MOST_CHARS))
    return both_ends(text, _MOST_CHARS)


def _ends(letters: bytes) -> bytes:
    half = MAX_CHARS // 2
    return letters if len(letters) <= MAX_CHARS else letters[:half] + letters[-half:]
