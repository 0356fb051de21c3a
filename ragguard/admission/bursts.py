"""Bursts: different texts of one batch that begin, or end, with the same words.

Who plants several texts for one question puts the question before each of them, or behind. Copies
of one page begin alike as well, so of near copies only one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.question import edges
from ragguard.admission.sketches import MOST_TOGETHER, some_together, unlike
from ragguard.text import MAX_CHARS, both_ends
from ragguard.text.html import strip_markup

__all__ = ["bursts", "edge_hashes"]


def edge_hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return hashes of how n texts begin and end: uint64 of shape (n, 2), 0 for short texts."""
    found = [edges(strip_markup(both_ends(text, MAX_CHARS))) for text in texts]
    hashes = [[_hash(edge, side) for side, edge in enumerate(both)] for both in found]
    return np.array(hashes, np.uint64).reshape(-1, 2)


def _hash(edge: str, side: int) -> int:
    data = edge.encode("utf-8", "replace")
    return (crc32(data, side) << 32 | crc32(data[::-1], side)) if data else 0


def bursts(
    hashes: NDArray[np.uint64], read: NDArray[np.uint32]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return how many different texts begin or end as each of n does, and which these are.

    Args:
        hashes: What `edge_hashes` returned for them.
        read: Their sketches.

    Returns:
        float64 array of shape (n,), and int64 array of shape (n,): the number of the burst that
        each belongs to, of the larger one if it belongs to two, or a number of its own.
    """
    found, burst = np.ones(len(hashes)), np.arange(len(hashes))
    number = len(hashes)
    for edge in hashes.T:
        owners = np.flatnonzero(edge)
        for together in some_together(edge[owners], owners):
            different = len(unlike(read[together[:MOST_TOGETHER]]))
            larger = together[found[together] < different]
            found[larger], burst[larger] = different, number
            number += 1
    return found, burst
