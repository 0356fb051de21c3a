"""What a defence does to a retrieved set, counted the same way in every section and command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.defences.contenders import Defence
from benchmarks.retrieval import RetrievedSet


def counted(defence: Defence, ranked: RetrievedSet, k: int) -> dict[str, int]:
    """Let a defence judge a set, of which the generator gets k passages, and count what it does.

    Returns:
        By name: `fired` (it dropped anything), `noticed` (dropped or marked), and of the first k
        the `passages` and those `removed`; the `poison`, the `benign` and of each those removed;
        `golden` (they hold the passage that answers) and `golden_removed`; `poison_left` (poison
        reaches the generator), and the `reference`, passages from below that it was given.
    """
    given = ranked.first(k * defence.over_fetch)
    outcome = defence.outcome(defence.bind(given, k)(), k)
    poison, golden, dropped = given.poisoned[:k], given.golden[:k], outcome.dropped
    return {
        "fired": int(outcome.fired),
        "noticed": int(outcome.fired or outcome.marked),
        "passages": len(dropped),
        "removed": int(dropped.sum()),
        "poison": int(poison.sum()),
        "poison_removed": int((poison & dropped).sum()),
        "benign": int((~poison).sum()),
        "benign_removed": int((~poison & dropped).sum()),
        "golden": int(golden.any()),
        "golden_removed": int((golden & dropped).any()),
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
