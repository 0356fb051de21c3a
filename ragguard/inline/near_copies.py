"""Which quarantined text a passage is an edited copy of: an inverted index of fingerprints.

    containment(P, Q) = |P & Q| / |Q| >= `CONTAINED`,    or    |P & Q| / |P| >= `TAKEN`

of the fingerprints P of a passage and Q of a text in quarantine, among those that the signature
covers (Broder 1997; `ragguard.inline.fingerprints`). Of a text of which others were cleared less
will do: honest pages hardly say any of what is left. Few honest passages pass the Bloom filter
before the index, which is sorted by fingerprint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.fingerprints import (
    FEWEST,
    MOST,
    Fingerprints,
    Signature,
    fingerprints,
    shuffled,
)

CONTAINED = 0.43
"""Share of a quarantined text's fingerprints that makes a passage a copy of it."""

CONTAINED_REST = 0.32
"""The same of what no cleared text says."""

TAKEN = 0.8
"""Share of a passage's own fingerprints, taken from one quarantined text, that does so too."""

_FEWEST_SHARED = 3  # fingerprints, or a name that both give would do
_TAKEN_LEAST = 20  # fingerprints, a third of all: or pages that the text holds parts of would do
_MOST_PAIRS, _LEAST_TEXTS = 100_000, 8  # of a fingerprint and a text are counted
_MOST_WHOLES = 8  # texts of which a passage is looked at as a piece
_ALL = np.uint32(2**32 - 1)  # signatures of short texts cover them whole
_LEAST_BITS = 16  # for each fingerprint
_ROOM = 1.25  # times as many as it is made with, at least
_WORD = 32  # bits
_SPREAD = np.uint32(0x9E3779B1)
_PATTERN = np.uint32(1023)
_HIGH, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_SIGNED = np.dtype([("size", "i8"), ("least", "f8"), ("seed", "u4"), ("highest", "u4")])


@dataclass(frozen=True)
class NearCopy:
    """What a passage is a copy of."""

    key: str  # of the quarantined text
    # How much of what that text is recognised by the passage holds, in (0, 1]; of a piece of a
    # long text, how much of the passage comes from it.
    share: float
    piece: bool = False
    exact: bool = False  # whether it says the very same


class NearCopies:
    """The texts in quarantine, by their signatures. Immutable, so that queries need no lock.

    At most 1,500 bytes a text besides its key.
    """

    def __init__(self) -> None:
        self._keys: tuple[str, ...] = ()
        # Of each of n texts its number of fingerprints, which share of them makes a copy, the seed
        # of their order, and up to where in that order its signature covers it.
        self._signed = np.empty(0, _SIGNED)
        # Of m fingerprints of all texts, sorted, and of the letters behind each; and whose each is.
        self._hashes = self._texts = np.empty(0, np.uint32)
        self._proofs = np.empty(0, np.uint64)
        self._filter = BloomFilter.of(self._hashes)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def keys(self) -> set[str]:
        """The keys of all texts; those too short to be told by fingerprints are not among them."""
        return set(self._keys)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        of_fingerprints = self._hashes, self._proofs, self._texts, self._filter.words
        return self._signed.nbytes + sum(one.nbytes for one in of_fingerprints)

    def changed(
        self, added: Mapping[str, bytes | None], removed: Collection[str] = ()
    ) -> NearCopies:
        """Return the index without some keys, and with signatures by keys that are not there."""
        made = self._without(removed) if removed else self
        known = set(made._keys)
        read = {key: Signature.read(one) for key, one in added.items() if key not in known}
        new = {key: one for key, one in read.items() if len(one.hashes) >= FEWEST}
        signed = np.array([_entry(one) for one in new.values()], _SIGNED)
        hashes = np.concatenate([np.empty(0, np.uint32), *[one.hashes for one in new.values()]])
        proofs = np.concatenate([np.empty(0, np.uint64), *[one.proofs for one in new.values()]])
        numbers = np.arange(len(made), len(made) + len(new), dtype=np.uint32)
        texts = np.repeat(numbers, signed["size"])
        order = np.argsort(hashes, kind="stable")
        hashes, proofs, texts = hashes[order], proofs[order], texts[order]
        places = made._hashes.searchsorted(hashes, side="right")
        fitting = made._filter.held + len(hashes) <= made._filter.room
        made = copy(made)
        made._keys += tuple(new)
        made._signed = np.append(made._signed, signed)
        made._hashes = np.insert(made._hashes, places, hashes)
        made._proofs = np.insert(made._proofs, places, proofs)
        made._texts = np.insert(made._texts, places, texts)
        made._filter = made._filter.grown(hashes) if fitting else BloomFilter.of(made._hashes)
        return made

    def _without(self, removed: Collection[str]) -> NearCopies:
        stays = np.array([key not in removed for key in self._keys], np.bool_)
        kept = stays[self._texts]
        made = copy(self)
        made._keys = tuple(compress(self._keys, stays.tolist()))
        made._signed = self._signed[stays]
        made._hashes, made._proofs = self._hashes[kept], self._proofs[kept]
        made._texts = (np.cumsum(stays, dtype=np.uint32) - 1)[self._texts[kept]]
        return made

    def find(
        self, texts: Sequence[str], letters: Sequence[bytes] | None = None
    ) -> list[NearCopy | None]:
        """Return what each text is a copy of, of several the greatest share, or None.

        `letters` are the texts' `ragguard.content.content_letters`, where these are known.
        """
        best: list[NearCopy | None] = [None] * len(texts)
        if not self._keys or not texts:
            return best
        read = fingerprints(texts, letters)
        for place, one in self._copies(read):
            known = best[place]
            if known is None or one.share > known.share:
                best[place] = one
        return best

    def _copies(self, read: Fingerprints) -> Iterator[tuple[int, NearCopy]]:
        """Yield the places of passages that are copies, and of what."""
        passing = self._filter.passing(read.hashes)
        owners = read.ends.searchsorted(passing, side="right")
        counts = np.bincount(owners)
        if not len(counts) or counts.max() < _FEWEST_SHARED:
            return
        passing = passing[counts[owners] >= _FEWEST_SHARED]
        place, text, shared = self._shared(read, passing)
        signed = self._signed[text]
        enough = (shared / signed["size"] >= signed["least"]) & (shared >= _FEWEST_SHARED)
        for at in np.flatnonzero(enough).tolist():
            share = float(shared[at] / signed["size"][at])
            yield int(place[at]), NearCopy(self._keys[text[at]], share)
        pieces = np.flatnonzero(~enough & (shared >= _TAKEN_LEAST))
        for owner in np.unique(place[pieces]).tolist():
            mine = pieces[place[pieces] == owner]
            mine = mine[np.argsort(-shared[mine], kind="stable")[:_MOST_WHOLES]]
            own = read.distinct(owner)
            covered = [
                np.count_nonzero(shuffled(own, one["seed"]) <= one["highest"])
                for one in signed[mine]
            ]
            taken = shared[mine] / np.array(covered)
            for at in np.flatnonzero(taken >= TAKEN).tolist():
                key = self._keys[text[mine[at]]]
                yield owner, NearCopy(key, min(1.0, float(taken[at])), piece=True)

    def _shared(
        self, read: Fingerprints, chosen: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return passages, texts, and how many of the chosen fingerprints the two share.

        Three arrays of one shape. The letters behind each are the same as well.
        """
        owners = read.ends.searchsorted(chosen, side="right").astype(np.uint64)
        pairs = read.hashes[chosen].astype(np.uint64) << _HIGH | owners
        proofs = read.proofs(chosen)
        order = np.lexsort((proofs, pairs))
        pairs, proofs = pairs[order], proofs[order]
        new = np.append(True, (pairs[1:] != pairs[:-1]) | (proofs[1:] != proofs[:-1]))
        pairs, proofs = pairs[new], proofs[new]
        sought = (pairs >> _HIGH).astype(np.uint32)
        first = np.searchsorted(self._hashes, sought, side="left")
        counts = np.searchsorted(self._hashes, sought, side="right") - first
        # Of a fingerprint that very many texts have some are counted: hostile pages cost no more.
        np.minimum(counts, max(_LEAST_TEXTS, _MOST_PAIRS // len(sought)), out=counts)
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        entries, whose = np.repeat(first, counts) + within, np.repeat(pairs & _LOW, counts)
        same = self._proofs[entries] == np.repeat(proofs, counts)
        entries, whose = entries[same], whose[same]
        found, shared = np.unique(whose << _HIGH | self._texts[entries], return_counts=True)
        return (found >> _HIGH).astype(np.intp), (found & _LOW).astype(np.intp), shared


def _entry(one: Signature) -> tuple[int, float, int, int]:
    size = len(one.hashes)
    highest = shuffled(one.hashes, one.seed).max() if size == MOST else _ALL
    return size, CONTAINED_REST if one.rest else CONTAINED, one.seed, int(highest)


# Words in each of which four bits are set: uint32 array of shape (1024,).
_BITS = np.random.default_rng(0).permuted(np.tile(np.arange(_WORD), (1024, 1)), axis=1)[:, :4]
_PATTERNS = (1 << _BITS).sum(axis=1).astype(np.uint32)


@dataclass(frozen=True)
class BloomFilter:
    """A blocked Bloom filter, of whose non-members at most 1 % pass. Immutable.

    Bloom, Space/time trade-offs in hash coding with allowable errors, 1970; blocked, so that all
    bits of a fingerprint are in one word, at one look into memory (Putze, Sanders and Singler,
    Cache-, hash- and space-efficient Bloom filters, 2007).
    """

    words: NDArray[np.uint32]  # of shape (2^b,)
    room: int  # for so many fingerprints
    held: int  # of them

    @classmethod
    def of(cls, hashes: NDArray[np.uint32]) -> BloomFilter:
        """Make a filter of uint32 fingerprints, with room for more."""
        log = min(32, max(10, int(_ROOM * _LEAST_BITS * len(hashes)).bit_length()))
        empty = cls(np.zeros(2**log // _WORD, np.uint32), 2**log // _LEAST_BITS, 0)
        return empty.grown(hashes)

    def grown(self, hashes: NDArray[np.uint32]) -> BloomFilter:
        """Return a filter with more fingerprints; it passes more in vain where there is no room."""
        words = self.words.copy()
        np.bitwise_or.at(words, self._places(hashes), _PATTERNS[hashes & _PATTERN])
        return BloomFilter(words, self.room, self.held + len(hashes))

    def passing(self, hashes: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the places of those that may be in it, in order."""
        sought = _PATTERNS.take(hashes & _PATTERN)
        found = self.words.take(self._places(hashes))
        found &= sought
        places: NDArray[np.intp] = (found == sought).nonzero()[0]
        return places

    def _places(self, hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return (hashes * _SPREAD) >> np.uint32(33 - len(self.words).bit_length())
