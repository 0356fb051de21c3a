"""What changed between two results of a suite, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.metrics.intervals import difference
from benchmarks.report.figures import Shown, title_of
from benchmarks.report.table import Table

_PARTS = {"attacked": "attack success", "right": "right answers"}


def compared(first: Sequence[Shown], second: Sequence[Shown]) -> Table:
    """Return the difference of every cell that both hold, over the questions that both hold.

    Intervals are of the paired difference; a cell of other sources is the same cell here.
    """
    before = {one.cell.key: one for one in first if one.cell.room == "defences"}
    body = []
    for one in second:
        old = before.get(one.cell.key)
        if old is None:
            continue
        rows = {row["question"]: row for row in old.rows}
        both: list[tuple[Any, Any]] = [
            (rows[row["question"]], row) for row in one.rows if row["question"] in rows
        ]
        if both:
            names = (one.cell.dataset, title_of("attacks", one.cell.attack))
            line = [*names, title_of("defences", one.cell.method), str(len(both))]
            for part in _PARTS:
                change = difference([a[part] for a, _ in both], [b[part] for _, b in both])
                low, high = change.ends
                line.append(
                    f"{100 * (change.value or 0.0):+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
                )
            body.append(tuple(line))
    head = ("data", "attack", "defence", "questions")
    return Table(
        "Second less first, points", (*head, *(f"{name}" for name in _PARTS.values())), tuple(body)
    )
