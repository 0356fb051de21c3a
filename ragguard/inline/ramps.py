"""Shares on a scale of their own, and the weight of words in and outside a stretch of a passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["outside", "ramp", "weight_of"]


def ramp(share: float, between: tuple[float, float]) -> float:
    """Rescale so that the lower end and less is 0, and the upper end and more is 1.

    >>> ramp(0.5, (0.4, 0.6)), ramp(0.3, (0.4, 0.6)), ramp(1.0, (0.4, 0.6))
    (0.5, 0.0, 1.0)
    """
    low, high = between
    return min(1.0, max(0.0, (share - low) / (high - low)))


def weight_of(stretch: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return the weight of the content words that stand in a stretch, at most 1."""
    return min(1.0, sum([weight for word, weight in weights.items() if word in stretch]))


def outside(
    stretch: Sequence[str], counts: Mapping[str, int], weights: Mapping[str, float]
) -> float:
    """Return the weight of the content words that a passage says outside a stretch as well.

    Args:
        stretch: The words of the stretch.
        counts: How often each word of the question stands in the passage.
        weights: The weight of every content word of the question; sum 1.
    """
    found = [
        weight
        for word, weight in weights.items()
        if (count := counts.get(word, 0)) and count > stretch.count(word)
    ]
    return min(1.0, sum(found))
