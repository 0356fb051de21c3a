"""A batch of passages as arrays: what is read of each once, a few hundred bytes a passage.

A sketch is the lowest fingerprints of a text, by which near copies find each other: bottom-k (Cohen
and Kaplan 2007) does with one hash what MinHash (Broder 1997) does with k. Only texts that share
one of their few lowest fingerprints are compared (bands of locality-sensitive hashing), so the work
does not grow with the square.

A burst is different texts of one batch that begin, or end, with the same words: who plants several
texts for one question puts the question before each of them, or behind. Of near copies only one
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.base import SIGNS, Base, Floats
from ragguard.admission.profile import edges, profiles
from ragguard.fork import WorkedOutOnce
from ragguard.inline.fingerprints import MOST, fingerprints
from ragguard.passage import Passage
from ragguard.text import MAX_CHARS, both_ends
from ragguard.text.html import strip_markup

Sketches = NDArray[np.uint32]

_MOST_BURST = 3.0  # doublings
_AT = {name: column for column, name in enumerate(SIGNS)}
_NONE = np.uint32(2**32 - 1)  # where a text has fewer fingerprints
_COPY = 0.4  # of the fingerprints of the shorter text
_BANDS = 4
_MOST_TOGETHER = 64  # texts with one key that are compared with each other


@dataclass(frozen=True, eq=False)
class Batch:
    """Passages that are judged together."""

    ids: list[str]  # of n passages
    profile: NDArray[np.float32]  # of shape (n, len(SIGNS))
    edges: NDArray[np.uint64]  # of shape (n, 2): hashes of how each begins and ends
    sketches: Sketches  # of shape (n, s): the lowest fingerprints of each

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Batch:
        """Read passages."""
        texts = [passage.text for passage in passages]
        ids = [passage.id for passage in passages]
        return cls(ids, profiles(texts), edge_hashes(texts), sketches(texts))

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """Return several batches as one, in order."""
        if not parts:
            return cls.of([])
        ids = [one for part in parts for one in part.ids]
        arrays = zip(*[(one.profile, one.edges, one.sketches) for one in parts], strict=True)
        return cls(ids, *map(np.concatenate, arrays))

    def where(self, chosen: NDArray[np.bool_]) -> Batch:
        """Return some of the passages; `chosen` has one entry a passage."""
        ids = [one for one, keep in zip(self.ids, chosen.tolist(), strict=True) if keep]
        return Batch(ids, self.profile[chosen], self.edges[chosen], self.sketches[chosen])

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> Floats:
        """Return a column of the profile: float64 of shape (n,)."""
        return self.profile[:, _AT[name]].astype(np.float64)

    @WorkedOutOnce
    def bursts(self) -> Floats:
        """How many different texts begin or end as each does: float64 of shape (n,)."""
        return bursts(self.edges, self.sketches)

    @WorkedOutOnce
    def copies(self) -> NDArray[np.int64]:
        """Of how many others each is a near copy: int64 of shape (n,)."""
        return near_copies(self.sketches)

    @property
    def base(self) -> Base:
        """What is usual in the batch itself."""
        base = Base.of(self.column("manner"))
        return base.with_tails(self.signs(base))

    def signs(self, base: Base) -> dict[str, Floats]:
        """Return every sign as it is measured in a base: float64 of shape (n,), -inf for none."""
        found = {"manner": base.measured(self.column("manner"))}
        found["answered"] = self._answered(found["manner"])
        for name in ("gibberish", "injection", "hidden"):
            values = self.column(name)
            found[name] = np.where(values > 0.0, values, -np.inf)
        return found

    def _answered(self, manner: Floats) -> Floats:
        """Return how clearly each passage is written for one question, in spreads of manner.

        Its own manner, 1 for a question that is answered, and half for each time that the number of
        texts in its burst doubles. The manner of the others does not count: by it, whoever plants
        texts could lower or raise that of all.
        """
        answer = self.column("answered")
        written = np.where(np.isfinite(manner), manner, 0.0)
        doublings = np.minimum(np.log2(self.bursts), _MOST_BURST)
        return np.where(answer > 0.0, written + (1.0 + doublings / 2.0) * answer, -np.inf)


def sketches(texts: Sequence[str]) -> Sketches:
    """Return uint32 of shape (n, MOST): the lowest fingerprints of each text, sorted."""
    read = fingerprints(texts)
    found = np.full((len(texts), MOST), _NONE)
    for row in range(len(texts)):
        lowest = read.distinct(row)[:MOST]
        found[row, : len(lowest)] = lowest
    return found


def shared(some: Sketches, others: Sketches) -> NDArray[np.float64]:
    """Return what share of the shorter sketch the longer one has: float64 of shape (n,)."""
    both = np.sort(np.concatenate([some, others], axis=1), axis=1)
    equal = ((both[:, 1:] == both[:, :-1]) & (both[:, 1:] != _NONE)).sum(axis=1)
    sizes = np.minimum((some != _NONE).sum(axis=1), (others != _NONE).sum(axis=1))
    return np.asarray(equal / np.maximum(sizes, 1), np.float64)


def near_copies(read: Sketches) -> NDArray[np.int64]:
    """Return of how many others each of n texts is a near copy: int64 of shape (n,)."""
    bands = read[:, :_BANDS].ravel()
    owners = np.repeat(np.arange(len(read)), min(_BANDS, read.shape[1]))
    found = np.zeros(len(read), np.int64)
    for members in some_together(bands[bands != _NONE], owners[bands != _NONE]):
        together = members[:_MOST_TOGETHER]
        for first in unlike(read[together]):
            copies = together[_alike(read[together], read[together[first]])]
            found[copies] = np.maximum(found[copies], len(copies) - 1)
    return found


def some_together(
    keys: NDArray[np.unsignedinteger], owners: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Yield the owners of each of m keys that several have, each owner once and in order."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order][:1] + 1))
    sizes = np.diff(starts, append=len(order))
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        members = np.unique(owners[order[start : start + size]])
        if len(members) > 1:
            yield members


def unlike(read: Sketches) -> list[int]:
    """Return the places of texts of which none is a near copy of another, greedily in order."""
    left = np.arange(len(read))
    chosen = []
    while len(left):
        chosen.append(int(left[0]))
        alike = _alike(read[left], read[left[0]])
        alike[0] = True  # also of a text without fingerprints
        left = left[~alike]
    return chosen


def _alike(some: Sketches, one: Sketches) -> NDArray[np.bool_]:
    alike: NDArray[np.bool_] = shared(some, np.broadcast_to(one, some.shape)) >= _COPY
    return alike


def edge_hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return hashes of how n texts begin and end: uint64 of shape (n, 2), 0 for short texts."""
    found = [edges(strip_markup(both_ends(text, MAX_CHARS))) for text in texts]
    hashes = [[_hash(edge, side) for side, edge in enumerate(both)] for both in found]
    return np.array(hashes, np.uint64).reshape(-1, 2)


def _hash(edge: str, side: int) -> int:
    data = edge.encode("utf-8", "replace")
    return (crc32(data, side) << 32 | crc32(data[::-1], side)) if data else 0


def bursts(hashes: NDArray[np.uint64], read: Sketches) -> Floats:
    """Return how many different texts begin or end, by `edge_hashes`, as each of n: shape (n,)."""
    found = np.ones(len(hashes))
    for edge in hashes.T:
        owners = np.flatnonzero(edge)
        for together in some_together(edge[owners], owners):
            different = len(unlike(read[together[:_MOST_TOGETHER]]))
            found[together] = np.maximum(found[together], different)
    return found
