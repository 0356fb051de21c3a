"""What changed between two results of a suite, question by question."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.metrics.intervals import difference
from benchmarks.report.figures import Shown, title_of
from benchmarks.report.table import Table, as_is

_PARTS = {"attack success": "attacked", "right answers": "right"}


def compared(first: Sequence[Shown], second: Sequence[Shown]) -> Table:
    """Return the difference of every cell that both hold, over the questions that both hold.

    Intervals are of the paired difference; a cell of other sources is the same cell here.
    """
    before = {one.cell.key: {row["question"]: row for row in one.rows} for one in first}
    lines = []
    for one in second:
        old = before.get(one.cell.key, {})
        both = [(old[row["question"]], row) for row in one.rows if row["question"] in old]
        if both and one.cell.room == "defences":
            line = {"data": one.cell.dataset, "attack": title_of("attacks", one.cell.attack)}
            line |= {"defence": title_of("defences", one.cell.method), "questions": str(len(both))}
            lines.append(line | {said: _change(both, part) for said, part in _PARTS.items()})
    return as_is("Second less first, points", lines)


def _change(both: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], part: str) -> str:
    found = difference([a[part] for a, _ in both], [b[part] for _, b in both])
    low, high = found.ends
    return f"{100 * (found.value or 0.0):+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
