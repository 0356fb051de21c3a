"""What an encoder in fewer bits changes: its vectors, and what guards decide with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.retrieval import RetrievedSet
from ragguard import Guard, Passage
from ragguard.embedding import Embedder

__all__ = ["compare", "smallest_cosine"]

Embed = Callable[[list[str]], Any]


def compare(
    given: Mapping[str, Sequence[RetrievedSet]],
    whole: Embedder,
    small: Embedder,
    guards: Mapping[str, Callable[..., Guard]],
) -> list[dict[str, Any]]:
    """Return one row for every kind of traffic and guard.

    Args:
        given: Sets by kind of traffic.
        whole: The encoder in full precision.
        small: The same in fewer bits.
        guards: By name; each is called with `embedder` and `on_error`.

    Returns:
        Rows with the number of "sets"; in how many the guard keeps the "same" passages with both
        encoders; in how many it "dropped" any with the whole one; and "largest" and "mean", over
        the questions and passages of all sets: 1 - cosine of a text's two vectors.
    """
    found = []
    for traffic, sets in given.items():
        apart = np.concatenate([1.0 - _cosines(whole.embed, small.embed, one) for one in sets])
        for name, make in guards.items():
            pairs = [tuple(_kept(make, e, one) for e in (whole, small)) for one in sets]
            found.append(
                {
                    "traffic": traffic,
                    "defence": name,
                    "sets": len(sets),
                    "dropped": sum(not all(kept) for kept, _ in pairs),
                    "same": sum(kept == other for kept, other in pairs),
                    "largest": round(float(apart.max()), 6),
                    "mean": round(float(apart.mean()), 6),
                }
            )
    return found


def smallest_cosine(one: Embed, other: Embed, sets: Sequence[RetrievedSet]) -> float:
    """Return the smallest cosine of a text's two vectors, over all texts of the sets."""
    return min(float(_cosines(one, other, found).min()) for found in sets)


def _cosines(one: Embed, other: Embed, found: RetrievedSet) -> Any:
    texts = [found.question, *found.texts]
    mine, theirs = (np.asarray(embed(texts), dtype=np.float64) for embed in (one, other))
    lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(theirs, axis=1)
    return (mine * theirs).sum(axis=1) / lengths


def _kept(make: Callable[..., Guard], embedder: Embedder, found: RetrievedSet) -> list[bool]:
    """Return for every passage whether it is kept."""
    with make(embedder=embedder, on_error="raise") as guard:
        passages = [Passage(text, id=str(n)) for n, text in enumerate(found.texts)]
        kept = {passage.id for passage in guard.filter(found.question, passages).kept}
    return [passage.id in kept for passage in passages]
