"""The tables of what a query costs: alone, growing with k, with its embedding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.cost import GRAM, growth
from benchmarks.tables import Table, share

__all__ = ["cost_tables", "end_to_end_table", "precision_table"]

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


def end_to_end_table(rows: Sequence[Row]) -> Table:
    """Return the times of a query with its embedding, against the package's single-hop mode.

    Args:
        rows: The section "end_to_end".
    """
    return Table(
        "A query with its embedding, in milliseconds",
        (
            *("threads", "sets", "defence", "caches", "fired", "embedded"),
            *("median", "mean", "median cpu"),
            *("times faster", "times less cpu", "times faster, mean"),
        ),
        tuple(
            (
                str(row["threads"]),
                row["traffic"],
                row["defence"],
                row["caches"],
                share(row["fired"], row["samples"]),
                share(row["embedded"], row["samples"]),
                *(f"{row[name]:.3g}" for name in ("median_ms", "mean_ms", "median_cpu_ms")),
                f"{row['times_faster']:.2f}",
                f"{row['times_less_cpu']:.2f}",
                f"{row['times_faster_mean']:.2f}",
            )
            for row in rows
        ),
    )


def precision_table(rows: Sequence[Row]) -> Table:
    """Return what weights in eight bits change in vectors and verdicts.

    Args:
        rows: The section "int8".
    """
    return Table(
        "The encoder in eight bits against float32",
        ("sets", "defence", "count", "dropped any", "same verdict", "1 - cosine, mean", "largest"),
        tuple(
            (
                row["traffic"],
                row["defence"],
                str(row["sets"]),
                str(row["dropped"]),
                str(row["same"]),
                f"{row['mean']:.2g}",
                f"{row['largest']:.2g}",
            )
            for row in rows
        ),
    )
