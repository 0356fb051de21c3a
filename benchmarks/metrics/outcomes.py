"""What a defence does to a retrieved set, counted the same way in every section and command."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.defences.contenders import Defence
from benchmarks.retrieval import RetrievedSet


def removed(found: RetrievedSet, dropped: NDArray[np.bool_]) -> dict[str, int]:
    """Count the `poison`, `benign` and `golden` passages, and those of each that were removed.

    Counted are the first of what was retrieved, as many as `dropped` is long.
    """
    poison, golden = found.poisoned[: len(dropped)], found.golden[: len(dropped)]
    of = {"poison": poison, "benign": ~poison, "golden": golden}
    counts = {}
    for name, those in of.items():
        counts[name], counts[f"{name}_removed"] = int(those.sum()), int((those & dropped).sum())
    return counts


def counted(defence: Defence, ranked: RetrievedSet, k: int) -> dict[str, int]:
    """Let a defence judge a set, of which the generator gets k passages, and count what it does.

    Returns:
        By name: `fired` (it dropped anything), `noticed` (dropped or marked), of the first k the
        `passages` and those `removed`, and what the function `removed` counts, but whether there
        is a `golden` one and it was removed; `poison_left` (poison reaches the generator), and the
        `reference`, passages from below that it was given.
    """
    given = ranked.first(k * defence.over_fetch)
    outcome = defence.outcome(defence.bind(given, k)(), k)
    counts = removed(given, outcome.dropped)
    return {
        "fired": int(outcome.fired),
        "noticed": int(outcome.fired or outcome.marked),
        "passages": len(outcome.dropped),
        "removed": int(outcome.dropped.sum()),
        **counts,
        "golden": min(1, counts["golden"]),
        "golden_removed": min(1, counts["golden_removed"]),
        "poison_left": int(given.poisoned[list(outcome.kept)].any()),
        "reference": len(given.texts) - k,
    }


class Counts:
    """Rows of counts, each under columns that say of what."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add(self, place: Mapping[str, Any], counts: Mapping[str, int]) -> None:
        """Add to the row of these columns."""
        new = {**place, **dict.fromkeys(self._names, 0)}
        row = self._rows.setdefault(tuple(place.values()), new)
        for name in self._names:
            row[name] += counts.get(name, 0)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows, in the order in which they were first added to."""
        return list(self._rows.values())
