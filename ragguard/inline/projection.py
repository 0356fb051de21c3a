"""Similarities as a plane: classical multidimensional scaling (Torgerson, 1952)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["plane"]


def plane(similarity: NDArray[np.floating]) -> tuple[NDArray[np.float64], float]:
    """Place n items in a plane so that their distances tell their similarities.

    The distance of two unit vectors is sqrt(2 - 2 s). The squared distances, centred twice, are the
    inner products of the items; their two leading eigenvectors span the plane that loses least.

    Args:
        similarity: float array of shape (n, n): cosine of each pair.

    Returns:
        float64 array of shape (n, 2), and the share of all squared distances that the plane shows,
        in [0, 1]. The largest coordinate of each axis is positive, so a picture is never mirrored.
    """
    n = len(similarity)
    squared = 2.0 - 2.0 * np.asarray(similarity, dtype=np.float64)
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    order = np.argsort(-values, kind="stable")[:2]
    # Rounding, or similarities of no vectors at all, make eigenvalues that are negative.
    kept = np.clip(values[order], 0.0, None)
    axes = vectors[:, order] * np.sqrt(kept)
    places = np.zeros((n, 2))
    places[:, : axes.shape[1]] = axes
    largest = places[np.abs(places).argmax(axis=0), [0, 1]]
    places *= np.where(largest < 0.0, -1.0, 1.0)
    whole = np.clip(values, 0.0, None).sum()
    return places, float(kept.sum() / whole) if whole > 1e-12 else 1.0
