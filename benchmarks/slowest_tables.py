"""The tables of `benchmarks.slowest`, with what is aimed at beside what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.tables import Table

__all__ = ["TARGETS", "tables"]

Row = Mapping[str, Any]

_SHOWN = 10

TARGETS: Mapping[str, float] = {
    "passage of 10 kB, ms": 20.0,
    "passage of 100 kB, ms": 150.0,
    "growth, exponent": 1.1,
    "memory, times the text": 50.0,
    "question of 10 kB against ten passages of 10 kB, ms": 300.0,
    "standstill of the loop, ms": 20.0,
}
"""What nothing should exceed."""


def tables(sections: Mapping[str, Sequence[Row]]) -> Iterator[Table]:
    """Yield the summary and, for each measure, the worst kinds.

    Args:
        sections: What `benchmarks.slowest.run` returns.
    """
    yield Table(
        "The slowest texts",
        ("what", "worst found", "aimed at most at", "by"),
        tuple(_summary(sections)),
    )
    yield Table(
        "Kinds whose time grows fastest",
        ("kind", "quarantine", "exponent", "ms by size"),
        tuple(
            (
                row["kind"],
                "something" if row["quarantine"] else "nothing",
                f"{row['exponent']}",
                ", ".join(f"{int(size) // 1000} kB {ms:.3g}" for size, ms in row["ms"].items()),
            )
            for row in _most(sections["growth"], "exponent")
        ),
    )
    yield Table(
        "Kinds that take the most memory",
        ("kind", "bytes", "times the text"),
        tuple(
            (row["kind"], f"{row['size']:,}", f"{row['times_the_text']:.1f}")
            for row in _most(sections["memory"], "times_the_text")
        ),
    )
    yield Table(
        "Kinds of long questions that take longest",
        ("kind", "passages hold it, ms", "passages are like it, ms"),
        tuple(
            (row["kind"], f"{row['held_ms']:.0f}", f"{row['alike_ms']:.0f}")
            for row in _most(sections["queries"], "held_ms", "alike_ms")
        ),
    )
    yield Table(
        "Kinds that hold up the event loop longest",
        ("kind", "one passage, ms", "a long question, ms"),
        tuple(
            (row["kind"], f"{row['passage_ms']:.1f}", f"{row['query_ms']:.1f}")
            for row in _most(sections["standstill"], "passage_ms", "query_ms")
        ),
    )


def _largest(row: Row, *names: str) -> float:
    return max(row[name] or 0.0 for name in names)


def _most(rows: Sequence[Row], *names: str) -> list[Row]:
    return sorted(rows, key=lambda row: -_largest(row, *names))[:_SHOWN]


def _summary(sections: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, str, str, str]]:
    aims = list(TARGETS.items())
    found: list[tuple[float, str]] = []
    for size in (10_000, 100_000):
        rows = [row for row in sections["slowest"] if row["size"] == size]
        rows = rows or list(sections["slowest"])
        worst = max(rows, key=lambda row: float(row["cpu_ms"]))
        found.append((worst["cpu_ms"], worst["kinds"]))
    for section, names in (
        ("growth", ("exponent",)),
        ("memory", ("times_the_text",)),
        ("queries", ("held_ms", "alike_ms")),
        ("standstill", ("passage_ms", "query_ms")),
    ):
        worst = _most(sections[section], *names)[0]
        found.append((_largest(worst, *names), worst["kind"]))
    for (what, aim), (value, kind) in zip(aims, found, strict=True):
        yield what, f"{value:.3g}", f"{aim:g}", kind
