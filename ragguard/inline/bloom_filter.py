"""A Bloom filter over fingerprints: most that no text has are told so at one look into memory.

Bloom, Space/time trade-offs in hash coding with allowable errors, 1970; blocked, so that all bits
of a fingerprint are in one word (Putze, Sanders and Singler, Cache-, hash- and space-efficient
Bloom filters, 2007). Of what is not in it at most 1 % passes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LEAST_BITS = 16  # for each fingerprint
_ROOM = 1.25  # times as many as it is made with, at least
_WORD = 32  # bits
_SPREAD = np.uint32(0x9E3779B1)
_LOW = np.uint32(1023)


def _patterns() -> NDArray[np.uint32]:
    """Return words in each of which four bits are set: uint32 array of shape (1024,)."""
    draw = np.random.default_rng(0).permuted(np.tile(np.arange(_WORD), (int(_LOW) + 1, 1)), axis=1)
    found: NDArray[np.uint32] = (1 << draw[:, :4]).sum(axis=1).astype(np.uint32)
    return found


_PATTERNS = _patterns()


@dataclass(frozen=True)
class BloomFilter:
    """Fingerprints, as bits. Immutable.

    Attributes:
        words: uint32 array of shape (2^b,).
        room: For how many fingerprints.
        held: How many there are in it.
    """

    words: NDArray[np.uint32]
    room: int
    held: int

    @classmethod
    def of(cls, hashes: NDArray[np.uint32]) -> BloomFilter:
        """Make a filter of uint32 fingerprints, with room for more."""
        log = min(32, max(10, int(_ROOM * _LEAST_BITS * len(hashes)).bit_length()))
        empty = cls(np.zeros(2**log // _WORD, np.uint32), 2**log // _LEAST_BITS, 0)
        return empty.grown(hashes)

    def grown(self, hashes: NDArray[np.uint32]) -> BloomFilter:
        """Return a filter with more fingerprints; it passes more in vain where there is no room."""
        words = self.words.copy()
        np.bitwise_or.at(words, self._places(hashes), _PATTERNS[hashes & _LOW])
        return BloomFilter(words, self.room, self.held + len(hashes))

    def passing(self, hashes: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the places of those that may be in it, in order."""
        sought = _PATTERNS.take(hashes & _LOW)
        found = self.words.take(self._places(hashes))
        found &= sought
        places: NDArray[np.intp] = (found == sought).nonzero()[0]
        return places

    def _places(self, hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return (hashes * _SPREAD) >> np.uint32(33 - len(self.words).bit_length())
