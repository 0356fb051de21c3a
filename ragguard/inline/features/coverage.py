"""Shares on a scale of their own, and how much of a question a stretch of a passage quotes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ragguard.inline.tokens import QueryWords

__all__ = ["LEAST_COVERAGE", "outside", "quoted", "ramp", "weight_of"]

LEAST_COVERAGE = 1 / 3
"""Share of the question's content words, weighed by rarity, that a passage must hold."""

# From a share that says nothing to one that says all there is to say.
_HELD = (0.5, 1.0)
_REST = (0.0, 0.4)


def ramp(share: float, between: tuple[float, float]) -> float:
    """Rescale so that the lower end and less is 0, and the upper end and more is 1.

    >>> ramp(0.5, (0.4, 0.6)), ramp(0.3, (0.4, 0.6)), ramp(1.0, (0.4, 0.6))
    (0.5, 0.0, 1.0)
    """
    low, high = between
    return min(1.0, max(0.0, (share - low) / (high - low)))


def weight_of(stretch: Container[str], weights: Mapping[str, float]) -> float:
    """Return the weight of the content words that stand in a stretch or passage, at most 1."""
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


def quoted(
    query: QueryWords,
    stretch: Sequence[str],
    counts: Mapping[str, int],
    weights: Mapping[str, float],
) -> float:
    """Return how much of a question's content a stretch holds and the passage says again elsewhere.

    Args:
        query: The question.
        stretch: The words of the stretch.
        counts: How often each word of the question stands in the passage.
        weights: The weight of every content word of the question; sum 1.

    Returns:
        A number in [0, 1]; 0 if none of the words that make it a question is in the stretch, since
        a sentence that answers it holds the others.
    """
    if query.asking and query.asking.isdisjoint(stretch):
        return 0.0
    rest = ramp(outside(stretch, counts, weights), _REST)
    return rest and rest * ramp(weight_of(stretch, weights), _HELD)
