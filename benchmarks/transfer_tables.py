"""The tables of `benchmarks.transfer`: what is left of the promise, kind by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.tables import Table

__all__ = ["tables", "worst"]

Row = Mapping[str, Any]

_WORST = 5
_ORDER = ("other", "own", "all others", "shipped")


def tables(rows: Sequence[Row], simulated: Sequence[Row]) -> Iterator[Table]:
    """Yield the pairs, the worst of them, and the simulation, for every alpha.

    Shares are over all embedders, k and over-fetch together: the same queries several times, so
    only single rows have an interval.
    """
    for alpha in sorted({row["alpha"] for row in rows}):
        part = [row for row in rows if row["alpha"] == alpha]
        yield _matrix(alpha, part)
        yield _worst(alpha, part)
    yield _simulation(simulated)


def worst(rows: Sequence[Row]) -> list[Row]:
    """Return the rows in which the largest share of queries is touched, the largest first."""
    return sorted(rows, key=lambda row: -row["touched"] / row["queries"])[:_WORST]


def _matrix(alpha: float, rows: Sequence[Row]) -> Table:
    tested = list(dict.fromkeys(row["tested"] for row in rows))
    labels = {
        (row["how"], "" if row["how"] in ("own", "all others") else row["calibrated"]): None
        for row in rows
    }
    # Kinds first, in the order of the data; then what judges every kind.
    order = sorted(labels, key=lambda label: (_ORDER.index(label[0]), _place(tested, label[1])))
    body = []
    for how, calibrated in order:
        cells = [calibrated if how == "other" else how]
        for name in tested:
            part = [
                row
                for row in rows
                if row["tested"] == name
                and row["how"] == how
                and (row["calibrated"] == calibrated or not calibrated)
            ]
            cells.append(_cell(part))
        body.append(tuple(cells))
    return Table(
        f"Clean queries touched (golden passage lost), alpha {alpha:.0%}; judged kind in columns",
        ("calibrated on", *tested),
        tuple(body),
    )


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


def _cell(rows: Sequence[Row]) -> str:
    queries, golden = (sum(row[name] for row in rows) for name in ("queries", "golden"))
    if not queries:
        return "-"
    share = f"{sum(row['touched'] for row in rows) / queries:.1%}"
    lost = sum(row["golden_removed"] for row in rows)
    return f"{share} ({lost / golden:.1%})" if golden else share


def _worst(alpha: float, rows: Sequence[Row]) -> Table:
    return Table(
        f"Worst, alpha {alpha:.0%}",
        ("calibrated on", "judged", "embedder", "k", "over-fetch", "touched", "95 % interval"),
        tuple(
            (
                row["how"] if row["how"] != "other" else row["calibrated"],
                row["tested"],
                row["embedder"],
                str(row["k"]),
                f"{row['over_fetch']}x",
                f"{row['touched']} of {row['queries']}, {row['touched'] / row['queries']:.1%}",
                f"{row['low']:.1%} to {row['high']:.1%}",
            )
            for row in worst(rows)
        ),
    )


def _simulation(simulated: Sequence[Row]) -> Table:
    """Mean over embedders, k and over-fetch of what single settings give."""
    body = []
    for traffic, alpha in dict.fromkeys((row["traffic"], row["alpha"]) for row in simulated):
        part = [row for row in simulated if (row["traffic"], row["alpha"]) == (traffic, alpha)]
        names = [name for name in part[0] if name.startswith("quantile")]
        cells = [traffic, f"{alpha:.0%}", str(part[0]["calibrating"])]
        cells += [
            f"{fmean(row[name] for row in part):.2%}" for name in ("promised", "mean", *names)
        ]
        body.append((*cells, f"{max(row['mean'] for row in part):.2%}"))
    return Table(
        "Random halves of clean traffic: share touched",
        (
            *("traffic", "alpha", "calibrating", "promised", "mean"),
            *("5 % quantile", "median", "95 % quantile", "largest mean"),
        ),
        tuple(body),
    )
