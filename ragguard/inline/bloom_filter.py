"""A Bloom filter over fingerprints: most that no text has are told so at one look into memory.

Bloom, Space/time trade-offs in hash coding with allowable errors, 1970; with two hashes. Of what is
not in it some 2 % pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BloomFilter"]

_LEAST_BITS = 16  # for each fingerprint
_ROOM = 1.25  # times as many as it is made with, at least
_SPREADS = (np.uint32(0x9E3779B1), np.uint32(0x85EBCA77))


@dataclass(frozen=True)
class BloomFilter:
    """Fingerprints, as bits. Immutable.

    Attributes:
        bits: uint8 array of shape (2^b / 8,).
        room: For how many fingerprints.
        held: How many there are in it.
    """

    bits: NDArray[np.uint8]
    room: int
    held: int

    @classmethod
    def of(cls, hashes: NDArray[np.uint32]) -> BloomFilter:
        """Make a filter of uint32 fingerprints, with room for more."""
        log = min(32, max(10, int(_ROOM * _LEAST_BITS * len(hashes)).bit_length()))
        empty = cls(np.zeros(2**log // 8, np.uint8), 2**log // _LEAST_BITS, 0)
        return empty.grown(hashes)

    def grown(self, hashes: NDArray[np.uint32]) -> BloomFilter:
        """Return a filter with more fingerprints; it passes more in vain where there is no room."""
        bits = self.bits.copy()
        for spread in _SPREADS:
            places = self._places(hashes, spread)
            for bit in range(8):
                bits[places[(places & 7) == bit] >> 3] |= np.uint8(1 << bit)
        return BloomFilter(bits, self.room, self.held + len(hashes))

    def passing(self, hashes: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the places of those that may be in it, in order."""
        first, second = _SPREADS
        places = np.flatnonzero(self._has(hashes, first))
        return places[self._has(hashes[places], second)]

    def _has(self, hashes: NDArray[np.uint32], spread: np.uint32) -> NDArray[np.bool_]:
        places = self._places(hashes, spread)
        found: NDArray[np.bool_] = (self.bits[places >> 3] >> (places & 7) & 1).astype(np.bool_)
        return found

    def _places(self, hashes: NDArray[np.uint32], spread: np.uint32) -> NDArray[np.uint32]:
        shift = np.uint32(33 - (8 * len(self.bits)).bit_length())
        return (hashes * spread) >> shift
