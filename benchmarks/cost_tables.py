"""The tables of what a query costs, and how that grows with k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.cost import GRAM, growth
from benchmarks.tables import Table, share

__all__ = ["cost_tables"]

Row = Mapping[str, Any]


def cost_tables(rows: Sequence[Row]) -> Iterator[Table]:
    """Yield the times of clean and of attacked sets, and how they grow with k.

    Args:
        rows: The section "cost".
    """
    for traffic in ("clean", "attacked"):
        yield _times(traffic, [row for row in rows if row["traffic"] == traffic])
    if any(row["defence"] == GRAM for row in rows):
        yield _growth(growth(rows))


def _times(traffic: str, rows: Sequence[Row]) -> Table:
    return Table(
        f"Cost of a query in milliseconds, {traffic} sets, embeddings given",
        (
            *("k", "defence", "caches", "fired", "median", "p99"),
            *("median cpu", "p99 cpu", "cpu / cold", "cpu / warm"),
        ),
        tuple(
            (
                str(row["k"]),
                row["defence"],
                _caches(row),
                share(row["fired"], row["samples"]),
                f"{row['median_ms']:.3g}",
                f"{row['p99_ms']:.3g}",
                f"{row['median_cpu_ms']:.3g}",
                f"{row['p99_cpu_ms']:.3g}",
                f"{row['cpu_over_ragguard_cold']:.2f}",
                f"{row['cpu_over_ragguard_warm']:.2f}",
            )
            for row in rows
        ),
    )


def _growth(rows: Sequence[Row]) -> Table:
    steps = [name for name in rows[0] if " to " in name]
    return Table(
        "Growth of the processor time with k",
        ("sets", "defence", "caches", "exponent", "less gram", *steps),
        tuple(
            (
                row["traffic"],
                row["defence"],
                _caches(row),
                *("-" if row[name] is None else f"{row[name]:.2f}" for name in _EXPONENTS),
                *(f"{row[step]:.2f}" for step in steps),
            )
            for row in rows
        ),
    )


_EXPONENTS = ("exponent", "less_gram")


def _caches(row: Row) -> str:
    """Return whether texts were read before; only the guard remembers them."""
    return str(row["caches"]) if row["defence"].startswith("ragguard") else "none"
