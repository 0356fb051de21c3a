"""A batch of passages as arrays: what is read of each once, a few hundred bytes a passage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.base import Base, Floats
from ragguard.admission.bursts import bursts, edge_hashes
from ragguard.admission.density import density
from ragguard.admission.profile import PROFILE, profiles
from ragguard.admission.sketches import near_copies, sketches
from ragguard.passage import Passage

__all__ = ["Batch"]

_ANSWER, _BURST, _LENGTH = 1.0, 0.5, 0.4  # in spreads of manner
_MOST_BURST = 3.0  # doublings
_AT = {name: column for column, name in enumerate(PROFILE)}


class Batch:
    """Passages that are judged together.

    Attributes:
        ids: Of n passages.
        profile: float32 array of shape (n, len(PROFILE)).
        edges: uint64 array of shape (n, 2): hashes of how each begins and ends.
        sketches: uint32 array of shape (n, s): its lowest fingerprints.
        vectors: float32 array of shape (n, d), unit rows; None unless all carry a vector of one
            length.
    """

    def __init__(
        self,
        ids: Sequence[str],
        profile: NDArray[np.float32],
        edges: NDArray[np.uint64],
        read: NDArray[np.uint32],
        vectors: NDArray[np.float32] | None = None,
    ) -> None:
        self.ids = list(ids)
        self.profile = profile
        self.edges = edges
        self.sketches = read
        self.vectors = vectors

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Batch:
        """Read passages."""
        texts = [passage.text for passage in passages]
        return cls(
            [passage.id for passage in passages],
            profiles(texts),
            edge_hashes(texts),
            sketches(texts),
            _unit_rows(passages),
        )

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """Return several batches as one, in order."""
        if not parts:
            return cls.of([])
        rows = [part.vectors for part in parts if part.vectors is not None]
        alike = len(rows) == len(parts) and len({row.shape[1] for row in rows}) == 1
        return cls(
            [one for part in parts for one in part.ids],
            np.concatenate([part.profile for part in parts]),
            np.concatenate([part.edges for part in parts]),
            np.concatenate([part.sketches for part in parts]),
            np.concatenate(rows) if alike else None,
        )

    def where(self, chosen: NDArray[np.bool_]) -> Batch:
        """Return some of the passages; `chosen` has one entry a passage."""
        return Batch(
            [one for one, keep in zip(self.ids, chosen.tolist(), strict=True) if keep],
            self.profile[chosen],
            self.edges[chosen],
            self.sketches[chosen],
            None if self.vectors is None else self.vectors[chosen],
        )

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> Floats:
        """Return a column of the profile: float64 of shape (n,)."""
        return self.profile[:, _AT[name]].astype(np.float64)

    @cached_property
    def bursts(self) -> Floats:
        """How many different texts begin or end as each does: float64 of shape (n,)."""
        return bursts(self.edges, self.sketches)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """Of how many others each is a near copy: int64 of shape (n,)."""
        return near_copies(self.sketches)

    @cached_property
    def relative(self) -> dict[str, Floats]:
        """The signs that are measured from the middle of a base."""
        found = {"manner": self.column("manner")}
        if self.vectors is not None and len(self):
            found["density"] = density(self.vectors, self.sketches)
        return found

    @property
    def base(self) -> Base:
        """What is usual in the batch itself."""
        base = Base.of(self.relative)
        return base.with_tails(self.signs(base))

    def signs(self, base: Base) -> dict[str, Floats]:
        """Return every sign of every passage, as it is measured in a base.

        Returns:
            float64 arrays of shape (n,) by name: all of `ragguard.admission.base.SIGNS` but the
            relative ones of which the base has no middle; -inf where a passage shows nothing.
        """
        found = {
            name: base.measured(name, values)
            for name, values in self.relative.items()
            if name in base.middle
        }
        answer = self.column("answered")
        doublings = np.minimum(np.log2(self.bursts), _MOST_BURST)
        manner = found.get("manner", np.zeros(len(self)))
        written = np.where(np.isfinite(manner), manner, 0.0)
        written -= _LENGTH * np.log1p(self.column("words"))
        answered = written + (_ANSWER + _BURST * doublings) * answer
        found["answered"] = np.where(answer > 0.0, answered, -np.inf)
        for name in ("jumble", "injection", "hidden"):
            values = self.column(name)
            found[name] = np.where(values > 0.0, values, -np.inf)
        return found


def _unit_rows(passages: Sequence[Passage]) -> NDArray[np.float32] | None:
    rows = [passage.embedding for passage in passages]
    if not rows or any(row is None or row.ndim != 1 for row in rows):
        return None
    if len({len(row) for row in rows if row is not None}) != 1:
        return None
    vectors = np.array(rows, np.float32)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(length).all():
        return None
    return np.asarray(vectors / np.maximum(length, 1e-12), np.float32)
