"""Density: vectors near each other whose texts have nothing in common word for word.

    density = mean cosine similarity to the 4 nearest texts that share less than a fifth

Whoever plants several texts for one question says one thing in other words each time. Copies and
overlapping parts of one page are near too, and share their words.

The nearest are looked for by cluster pruning (Chierichetti et al. 2007, "Finding near neighbors
through cluster pruning"): sqrt(n) vectors lead, every other one follows the nearest leaders, and
only who follows the same leader is compared. That is n^1.5 work, and finds most of them.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.sketches import shared

__all__ = ["density"]

_NEIGHBOURS = 4
_LOOKED_AT = 16  # nearest ones, of which some are near copies
_FAR = 0.2
_FOLLOWED = 2  # leaders of each
_MOST = 4_000  # followers of one leader that are compared at once


def density(vectors: NDArray[np.float32], read: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the density around each of n texts: float64 of shape (n,); 0 where none is far.

    Args:
        vectors: float32 array of shape (n, d), unit rows.
        read: Their sketches.
    """
    n = len(vectors)
    near = np.full((n, _LOOKED_AT), -1.0, np.float32)
    who = np.zeros((n, _LOOKED_AT), np.int64)
    leaders = np.random.default_rng(0).permutation(n)[: max(1, isqrt(n))]
    followed = _nearest_leaders(vectors, vectors[leaders])
    for leader in range(len(leaders)):
        members = np.flatnonzero((followed == leader).any(axis=1))
        for start in range(0, len(members), _MOST):
            part = members[start : start + _MOST]
            similar = vectors[part] @ vectors[part].T
            np.fill_diagonal(similar, -1.0)
            count = min(_LOOKED_AT, len(part))
            best = np.argpartition(-similar, count - 1, axis=1)[:, :count]
            _keep(near, who, part, np.take_along_axis(similar, best, axis=1), part[best])
    found = np.zeros(n)
    for start in range(0, n, _MOST):
        part = np.arange(start, min(start + _MOST, n))
        found[part] = _mean_of_far(near[part], who[part], read, part)
    return found


def _nearest_leaders(
    vectors: NDArray[np.float32], leading: NDArray[np.float32]
) -> NDArray[np.int64]:
    count = min(_FOLLOWED, len(leading))
    found = np.empty((len(vectors), count), np.int64)
    for start in range(0, len(vectors), _MOST):
        similar = vectors[start : start + _MOST] @ leading.T
        found[start : start + _MOST] = np.argpartition(-similar, count - 1, axis=1)[:, :count]
    return found


def _keep(
    near: NDArray[np.float32],
    who: NDArray[np.int64],
    rows: NDArray[np.int64],
    similar: NDArray[np.float32],
    others: NDArray[np.int64],
) -> None:
    """Keep the nearest of those known and those found, each once."""
    known = (who[rows][:, :, None] == others[:, None, :]) & (near[rows] > -1.0)[:, :, None]
    similar = np.where(known.any(axis=1), -1.0, similar)
    all_near = np.concatenate([near[rows], similar], axis=1)
    order = np.argsort(-all_near, axis=1, kind="stable")[:, :_LOOKED_AT]
    near[rows] = np.take_along_axis(all_near, order, axis=1)
    who[rows] = np.take_along_axis(np.concatenate([who[rows], others], axis=1), order, axis=1)


def _mean_of_far(
    near: NDArray[np.float32],
    who: NDArray[np.int64],
    read: NDArray[np.uint32],
    rows: NDArray[np.int64],
) -> NDArray[np.float64]:
    own = np.repeat(rows, near.shape[1])
    far = shared(read[own], read[who.ravel()]).reshape(near.shape) < _FAR
    far &= near > -1.0
    far &= far.cumsum(axis=1) <= _NEIGHBOURS
    total = np.where(far, near, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(far.sum(axis=1), 1), np.float64)
