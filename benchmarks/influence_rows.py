"""Rows of the comparison of rankings: places and costs of each method, and their printed table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.targets import OWN
from ragguard.attribution import Attribution

__all__ = ["Tally", "rank_shares", "table"]

_DEEPEST = 3


def rank_shares(scores: Sequence[float], index: int) -> NDArray[np.float64]:
    """Return the probabilities that `scores[index]` ranks among the first 1, 2 and 3.

    Over random orders of what is tied, to a billionth.

    >>> rank_shares([1.0, 2.0, 2.0], 1).tolist()
    [0.5, 1.0, 1.0]
    """
    gaps = np.asarray(scores, dtype=np.float64) - scores[index]
    ahead, tied = int((gaps > 1e-9).sum()), int((np.abs(gaps) <= 1e-9).sum())
    return np.clip((np.arange(1, _DEEPEST + 1) - ahead) / tied, 0.0, 1.0)


@dataclass
class Tally:
    """What one method did on the events of one stratum."""

    shares: list[NDArray[np.float64]] = field(default_factory=list)
    found: list[bool] = field(default_factory=list)
    wronged: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    def add(self, scores: Sequence[float], poisoned: int, attribution: Attribution | None) -> None:
        """Count one ranking, and what the attribution behind it says and cost."""
        self.shares.append(rank_shares(scores, poisoned))
        if attribution is None:
            return
        guilty = [score.responsible for score in attribution.scores]
        self.found.append(guilty[poisoned])
        self.wronged.append(sum(guilty) - guilty[poisoned])
        for name, into in (
            ("calls", self.calls),
            ("input_tokens", self.read),
            ("output_tokens", self.written),
        ):
            into.append(attribution.details[name])

    def row(self) -> dict[str, Any]:
        """Return shares of the events; calls and words are means an event."""
        first, second, third = np.mean(self.shares, axis=0)
        return {
            "events": len(self.shares),
            "top_1": round(float(first), 4),
            "top_2": round(float(second), 4),
            "top_3": round(float(third), 4),
            "found": round(mean(self.found), 4) if self.found else None,
            "benign_blamed": round(mean(self.wronged), 4) if self.wronged else None,
            "calls": round(mean(self.calls), 1) if self.calls else None,
            "words_read": round(mean(self.read), 1) if self.read else None,
            "words_written": round(mean(self.written), 1) if self.written else None,
        }


def table(ranks: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rows of the section "ranks" as a table, pooled over the public datasets."""
    columns = ("generator", "temperature", "form", "method")
    shown = Table(*columns, "events", "top 1", "top 2", "top 3", "found")
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in ranks:
        if row["dataset"] != OWN:  # reported whole, and so apart
            groups[tuple(str(row[name]) for name in columns)].append(row)
    for key, rows in sorted(groups.items(), key=lambda item: item[0][:3]):
        count = sum(row["events"] for row in rows)
        shares = [
            "" if rows[0][name] is None else f"{_pooled(rows, name) / count:.1%}"
            for name in ("top_1", "top_2", "top_3", "found")
        ]
        shown.add_row(*key, str(count), *shares)
    return shown


def _pooled(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    return float(sum(row[name] * row["events"] for row in rows))
