"""The table of a result of `python -m benchmarks.contamination`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tables import Table

__all__ = ["tables"]


def tables(rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Return the table of the rows: one line a mixture, the ways beside each other.

    Poison removed: with the question in front / shuffled.
    """
    names = list(dict.fromkeys(row["way"] for row in rows))
    mixtures: dict[tuple[str, float], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        mixtures.setdefault((row["kind"], row["share"]), {})[row["way"]] = row
    return [
        Table(
            "Attacked traffic in the calibration",
            (
                "the attacker's queries",
                "share",
                "refused",
                *(f"{way}: {what}" for way in names for what in ("threshold", "poison removed")),
            ),
            tuple(
                (
                    kind,
                    f"{100 * share:.2g} %",
                    f"{ways[names[0]]['refused']} of {ways[names[0]]['draws']}",
                    *(cell for way in names for cell in _cells(ways.get(way))),
                )
                for (kind, share), ways in mixtures.items()
            ),
        )
    ]


def _cells(row: Mapping[str, Any] | None) -> tuple[str, str]:
    if row is None or row["threshold"] is None:
        return "-", "-"
    return f"{row['threshold']:.1f}", f"{_percent(row['prepended'])} / {_percent(row['shuffled'])}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"
