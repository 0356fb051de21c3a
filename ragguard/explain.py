"""What a picture of one verdict shows: passages in similarity space, what was dropped, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.embedding.vectors import similarity_matrix, vectors
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.verdict import Evidence, Verdict

Fate = Literal["kept", "marked", "dropped", "reserve"]
"""What became of a passage; "marked" is kept and unusual, "reserve" ranks below the k wanted, and
was not needed."""

MOST_DRAWN = 40
"""Passages that a picture shows: those dropped, those marked, then by rank; others are counted."""


@dataclass(frozen=True)
class Explanation:
    """What the picture of a verdict shows."""

    query: str
    passages: tuple[Passage, ...]  # those that were judged, in rank order
    verdict: Verdict
    fates: tuple[Fate, ...]  # what became of each passage
    drawn: tuple[int, ...]  # positions of what is drawn, ascending; at most `MOST_DRAWN`
    # Of shape (n, 2) for n drawn passages, or (n + 1, 2) with the question in the last row.
    places: NDArray[np.float64]
    shown: float  # share of the squared distances that the plane shows, in [0, 1]
    threshold: float | None  # the suspicion at which the gate fires; None if that is not known

    @property
    def not_drawn(self) -> Mapping[Fate, int]:
        """How many passages of each fate the picture leaves out."""
        drawn = set(self.drawn)
        return Counter(fate for position, fate in enumerate(self.fates) if position not in drawn)


def explain(
    query: str,
    passages: Sequence[Passage],
    verdict: Verdict,
    embedder: Embedder,
    *,
    threshold: float | None = None,
) -> Explanation:
    """Place the passages of a verdict in a plane.

    The question is placed too, unless the passages carry vectors of their own: the embedder need
    not be the one that made them. The gate fires at the `threshold`, for the picture to say.

    Raises:
        InvalidInputError: The verdict is not of these passages, or there are none.
    """
    evidence = verdict.evidence
    if not passages or len(passages) != len(evidence):
        raise InvalidInputError(
            f"the verdict is on {len(evidence)} passages, and {len(passages)} are given; pass the "
            "passages that were filtered, at least one"
        )
    kept = {id(passage) for passage in verdict.kept}

    def fate(passage: Passage, found: Evidence) -> Fate:
        if found.flagged or found.marked:
            return "dropped" if found.flagged else "marked"
        return "kept" if id(passage) in kept else "reserve"

    fates = tuple(map(fate, passages, evidence))
    # Sorted is stable: by rank within each fate.
    urgent: dict[Fate, int] = {"dropped": 0, "marked": 1}
    first = sorted(range(len(fates)), key=lambda position: urgent.get(fates[position], 2))
    drawn = sorted(first[:MOST_DRAWN])
    shown = [passages[position] for position in drawn]
    if any(passage.embedding is None for passage in shown):
        shown.append(Passage(query))
    places, share = plane(similarity_matrix(vectors(shown, embedder)))
    return Explanation(
        query, tuple(passages), verdict, fates, tuple(drawn), places, share, threshold
    )


def plane(similarity: NDArray[np.floating]) -> tuple[NDArray[np.float64], float]:
    """Place n items in a plane by classical multidimensional scaling (Torgerson, 1952).

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
