"""Which quarantined text a passage is an edited copy of: an index from fingerprints to texts.

A passage is a copy where it holds at least `CONTAINED` of what a quarantined text is recognised by
(containment, whatever else it holds), or where at least `TAKEN` of it comes from one. Both shares
are counted among the fingerprints that the signature covers (`ragguard.inline.fingerprints`). Of a
text of which others were cleared less will do: honest pages hardly say any of what is left.

The index is a few sorted segments behind a Bloom filter, past which few honest passages come. A new
text becomes a segment of its own; segments of like size are merged (log-structured merge: O'Neil et
al., 1996).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.bloom_filter import BloomFilter
from ragguard.inline.fingerprints import (
    FEWEST,
    MOST,
    Fingerprints,
    fingerprints,
    is_rest,
    read_signature,
)

CONTAINED = 0.43
"""Share of a quarantined text's fingerprints that makes a passage a copy of it."""

CONTAINED_REST = 0.32
"""The same of what no cleared text says."""

TAKEN = 0.8
"""Share of a passage's own fingerprints, taken from one quarantined text, that does so too."""

_FEWEST_SHARED = 3  # fingerprints, or a name that both give would do
_TAKEN_LEAST = 20  # fingerprints, a third of all: or pages that the text holds parts of would do
_MOST_PAIRS, _LEAST_TEXTS = 100_000, 8  # of a fingerprint and a text are counted in a segment
_MERGE_BELOW = 8  # times the size of the next segment
_HIGH, _LOW = np.uint64(32), np.uint64(2**32 - 1)

Hashes = NDArray[np.uint32]


@dataclass(frozen=True)
class NearCopy:
    """What a passage is a copy of.

    Attributes:
        key: Of the quarantined text.
        share: How much of what that text is recognised by the passage holds, in (0, 1]; of a piece
            of a long text, how much of the passage comes from it.
        piece: Whether it is such a piece.
        exact: Whether it says the very same.
    """

    key: str
    share: float
    piece: bool = False
    exact: bool = False


class NearCopies:
    """The texts in quarantine, by their signatures. Immutable, so that queries need no lock.

    A text takes at most 900 bytes, its key not counted.
    """

    def __init__(
        self, segments: Sequence[_Segment] = (), bloom_filter: BloomFilter | None = None
    ) -> None:
        self._segments = tuple(segments)
        self._filter = bloom_filter or BloomFilter.of(_all_hashes(segments))

    def __len__(self) -> int:
        return sum(int(one.alive.sum()) for one in self._segments)

    @property
    def keys(self) -> set[str]:
        """The keys of all texts; those too short to be told by fingerprints are not among them."""
        return {key for one in self._segments for key in one.living()}

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self._filter.words.nbytes + sum(one.nbytes for one in self._segments)

    def changed(
        self, added: Mapping[str, bytes | None], removed: Collection[str] = ()
    ) -> NearCopies:
        """Return an index with other texts.

        Args:
            added: Signatures by key; a key that is there already stays as it is.
            removed: Keys to take out.
        """
        segments = [one.without(removed) for one in self._segments] if removed else self._segments
        segments = [one for one in segments if one.alive.any()]
        read = {key: (read_signature(one), is_rest(one)) for key, one in added.items()}
        fresh = {
            key: found
            for key, found in read.items()
            if len(found[0]) >= FEWEST and not any(one.has(key) for one in segments)
        }
        if not fresh:
            return NearCopies(segments, self._filter)
        segments.append(_Segment.of(fresh))
        hashes = segments[-1].hashes
        while len(segments) > 1 and len(segments[-2].keys) < _MERGE_BELOW * len(segments[-1].keys):
            last = segments.pop()
            segments.append(_Segment.merged(segments.pop(), last))
        has_room = self._filter.held + len(hashes) <= self._filter.room
        return NearCopies(segments, self._filter.grown(hashes) if has_room else None)

    def find(
        self, texts: Sequence[str], letters: Sequence[bytes] | None = None
    ) -> list[NearCopy | None]:
        """Return for each text what it is a copy of, or None.

        Of several texts in quarantine it is the one with the greatest share.

        Args:
            texts: The texts.
            letters: Their `ragguard.content.content_letters`, where these are known.
        """
        best: list[NearCopy | None] = [None] * len(texts)
        if not self._segments or not texts:
            return best
        read = fingerprints(texts, letters)
        pairs = self._maybe_here(read)
        for segment in self._segments if len(pairs) else ():
            for place, copy in segment.copies(pairs, read):
                known = best[place]
                if known is None or copy.share > known.share:
                    best[place] = copy
        return best

    def _maybe_here(self, read: Fingerprints) -> NDArray[np.uint64]:
        """Return the fingerprints that the filter lets pass, each with its passage in the low half.

        Each once, and sorted; without those of passages that have too few for any text.
        """
        passing = self._filter.passing(read.hashes)
        owners = read.ends.searchsorted(passing, side="right")
        counts = np.bincount(owners)
        if not len(counts) or counts.max() < _FEWEST_SHARED:
            return np.empty(0, np.uint64)
        enough = counts[owners] >= _FEWEST_SHARED
        hashes, owners = read.hashes[passing[enough]], owners[enough]
        return np.unique(hashes.astype(np.uint64) << _HIGH | owners.astype(np.uint64))


@dataclass(frozen=True)
class _Segment:
    """Texts in quarantine, found by their fingerprints.

    Attributes:
        keys: Of n texts.
        alive: bool array of shape (n,): False for those that were released.
        sizes: int64 array of shape (n,): how many fingerprints each has.
        least: float64 array of shape (n,): which share of them makes a copy.
        highest: uint32 array of shape (n,): up to where the signature of each covers its text.
        hashes: uint32 array of shape (m,): fingerprints of all texts, sorted.
        texts: uint32 array of shape (m,): whose fingerprint each is.
    """

    keys: tuple[str, ...]
    alive: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    least: NDArray[np.float64]
    highest: Hashes
    hashes: Hashes
    texts: NDArray[np.uint32]

    @classmethod
    def of(cls, signatures: Mapping[str, tuple[Hashes, bool]]) -> _Segment:
        """Make a segment of signatures by key, and whether each is of what no cleared text says."""
        read = [one for one, _ in signatures.values()]
        sizes = np.array([*map(len, read)], np.int64)
        rest = [one for _, one in signatures.values()]
        least = np.where(rest, CONTAINED_REST, CONTAINED)
        texts = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
        return cls._made(tuple(signatures), sizes, least, np.concatenate(read), texts)

    @classmethod
    def merged(cls, first: _Segment, second: _Segment) -> _Segment:
        """Make one segment of what is alive in two."""
        numbers = np.cumsum(np.concatenate([first.alive, second.alive]), dtype=np.uint32) - 1
        hashes, texts = [], []
        for one, number in ((first, numbers), (second, numbers[len(first.keys) :])):
            alive = one.alive[one.texts]
            hashes.append(one.hashes[alive])
            texts.append(number[one.texts[alive]])
        keys = (*first.living(), *second.living())
        sizes = np.concatenate([first.sizes[first.alive], second.sizes[second.alive]])
        least = np.concatenate([first.least[first.alive], second.least[second.alive]])
        return cls._made(keys, sizes, least, np.concatenate(hashes), np.concatenate(texts))

    @classmethod
    def _made(
        cls,
        keys: tuple[str, ...],
        sizes: NDArray[np.int64],
        least: NDArray[np.float64],
        hashes: Hashes,
        texts: NDArray[np.uint32],
    ) -> _Segment:
        order = np.argsort(hashes, kind="stable")
        hashes, texts = hashes[order], texts[order]
        highest = np.zeros(len(keys), np.uint32)
        highest[texts] = hashes  # the last one of each stays: the highest
        highest[sizes < MOST] = np.iinfo(np.uint32).max
        return cls(keys, np.ones(len(keys), np.bool_), sizes, least, highest, hashes, texts)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.alive, self.sizes, self.least, self.highest, self.hashes, self.texts)
        return sum(one.nbytes for one in arrays)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each key."""
        return {key: number for number, key in enumerate(self.keys)}

    def has(self, key: str) -> bool:
        """Return whether a key is here and was not released."""
        number = self.number.get(key)
        return number is not None and bool(self.alive[number])

    def living(self) -> Iterator[str]:
        """Return the keys that were not released."""
        return compress(self.keys, self.alive.tolist())

    def without(self, removed: Collection[str]) -> _Segment:
        """Return the segment without some texts."""
        gone = [self.number[key] for key in removed if key in self.number]
        if not gone:
            return self
        alive = self.alive.copy()
        alive[gone] = False
        return replace(self, alive=alive)

    def copies(
        self, pairs: NDArray[np.uint64], read: Fingerprints
    ) -> Iterator[tuple[int, NearCopy]]:
        """Yield the places of passages that are copies, and of what.

        Args:
            pairs: Fingerprints in the high half and places in the low half, sorted.
            read: All fingerprints of the passages.
        """
        sought = (pairs >> _HIGH).astype(np.uint32)
        first = np.searchsorted(self.hashes, sought, side="left")
        counts = np.searchsorted(self.hashes, sought, side="right") - first
        # Of a fingerprint that very many texts have some are counted: hostile pages cost no more.
        np.minimum(counts, max(_LEAST_TEXTS, _MOST_PAIRS // len(sought)), out=counts)
        total = int(counts.sum())
        if total < _FEWEST_SHARED:
            return
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        texts = self.texts[np.repeat(first, counts) + within]
        owners = np.repeat(pairs & _LOW, counts)
        found, shared = np.unique(owners << _HIGH | texts, return_counts=True)
        text, place = (found & _LOW).astype(np.intp), (found >> _HIGH).astype(np.intp)
        contained = shared / self.sizes[text]
        alive = self.alive[text]
        enough = (contained >= self.least[text]) & (shared >= _FEWEST_SHARED)
        for at in np.flatnonzero(alive & enough).tolist():
            yield int(place[at]), NearCopy(self.keys[text[at]], float(contained[at]))
        pieces = np.flatnonzero(alive & ~enough & (shared >= _TAKEN_LEAST))
        for owner in np.unique(place[pieces]).tolist():
            mine = pieces[place[pieces] == owner]
            covered = np.searchsorted(read.distinct(owner), self.highest[text[mine]], side="right")
            taken = shared[mine] / covered
            for at in np.flatnonzero(taken >= TAKEN).tolist():
                key = self.keys[text[mine[at]]]
                yield owner, NearCopy(key, min(1.0, float(taken[at])), piece=True)


def _all_hashes(segments: Sequence[_Segment]) -> Hashes:
    return np.concatenate([np.empty(0, np.uint32), *[one.hashes for one in segments]])
