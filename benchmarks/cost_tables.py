"""The tables of what a query costs, and how that grows with k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.cost import GRAM, growth
from benchmarks.report.table import Row, Table, listed, ratio


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the times of clean and of attacked sets, and how they grow with k."""
    rows = sections["cost"]
    for traffic in ("clean", "attacked"):
        yield listed(
            f"Cost of a query in milliseconds, {traffic} sets, embeddings given",
            [row for row in rows if row["traffic"] == traffic],
            {
                **{"k": "k", "defence": "defence", "caches": _caches},
                "fired": ratio("fired", "samples"),
                **{"median": _number("median_ms", ".3g"), "p99": _number("p99_ms", ".3g")},
                "median cpu": _number("median_cpu_ms", ".3g"),
                "p99 cpu": _number("p99_cpu_ms", ".3g"),
                "cpu / cold": _number("cpu_over_ragguard_cold"),
                "cpu / warm": _number("cpu_over_ragguard_warm"),
            },
        )
    if any(row["defence"] == GRAM for row in rows):
        grown = growth(rows)
        steps = [name for name in grown[0] if " to " in name]
        yield listed(
            "Growth of the processor time with k",
            grown,
            {
                **{"sets": "traffic", "defence": "defence", "caches": _caches},
                **{"exponent": _number("exponent"), "less gram": _number("less_gram")},
                **{step: _number(step) for step in steps},
            },
        )


def _number(name: str, form: str = ".2f") -> Any:
    return lambda row: "-" if row[name] is None else format(row[name], form)


def _caches(row: Row) -> str:
    """Return whether texts were read before; only the guard remembers them."""
    return str(row["caches"]) if row["defence"].startswith("ragguard") else "none"
