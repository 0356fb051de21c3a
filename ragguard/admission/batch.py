"""A batch of passages as arrays: what is read of each once, a few hundred bytes a passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.base import Base, Floats
from ragguard.admission.profile import PROFILE, profiles
from ragguard.admission.sketches import bursts, edge_hashes, near_copies, sketches
from ragguard.passage import Passage

_ANSWER, _BURST, _LENGTH = 1.0, 0.5, 0.4  # in spreads of manner
_MOST_BURST = 3.0  # doublings
_AT = {name: column for column, name in enumerate(PROFILE)}


@dataclass(frozen=True, eq=False)
class Batch:
    """Passages that are judged together.

    Attributes:
        ids: Of n passages.
        profile: float32 array of shape (n, len(PROFILE)).
        edges: uint64 array of shape (n, 2): hashes of how each begins and ends.
        sketches: uint32 array of shape (n, s): its lowest fingerprints.
    """

    ids: list[str]
    profile: NDArray[np.float32]
    edges: NDArray[np.uint64]
    sketches: NDArray[np.uint32]

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

    @cached_property
    def bursts(self) -> tuple[Floats, NDArray[np.int64]]:
        """How many different texts begin or end as each does, and which these are."""
        return bursts(self.edges, self.sketches)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """Of how many others each is a near copy: int64 of shape (n,)."""
        return near_copies(self.sketches)

    @property
    def base(self) -> Base:
        """What is usual in the batch itself."""
        base = Base.of(self.column("manner"))
        return base.with_tails(self.signs(base))

    def signs(self, base: Base) -> dict[str, Floats]:
        """Return every sign of every passage, as it is measured in a base.

        Returns:
            float64 arrays of shape (n,) by name; -inf where a passage shows nothing of a sign.
        """
        found = {"manner": base.measured(self.column("manner"))}
        found["answered"] = self._answered(found["manner"])
        for name in ("gibberish", "injection", "hidden"):
            values = self.column(name)
            found[name] = np.where(values > 0.0, values, -np.inf)
        return found

    def _answered(self, manner: Floats) -> Floats:
        """Return how clearly each passage is written for one question; a burst is as one text."""
        answer = self.column("answered")
        rows = np.flatnonzero(answer > 0.0)
        different, burst = self.bursts
        _, of = np.unique(burst[rows], return_inverse=True)
        written = np.where(np.isfinite(manner), manner, 0.0)
        written -= _LENGTH * np.log1p(self.column("words"))
        mean = np.bincount(of, written[rows]) / np.maximum(np.bincount(of), 1)
        mean = mean.round(9)  # or the order of the passages would change the last digits
        highest = np.zeros(len(mean))
        np.maximum.at(highest, of, answer[rows])
        doublings = np.minimum(np.log2(different[rows]), _MOST_BURST)
        found = np.full(len(self), -np.inf)
        found[rows] = mean[of] + (_ANSWER + _BURST * doublings) * highest[of]
        return found
