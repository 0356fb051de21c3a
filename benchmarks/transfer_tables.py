"""The tables of `benchmarks.transfer`: what is left of the promise, kind by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from benchmarks.report.table import Row, Table, crossed, grouped, listed, share, summed

_ORDER = ("other", "own", "all others", "shipped")
_SIMULATED = ("promised", "mean", "quantile_5%", "quantile_50%", "quantile_95%")


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the pairs for every alpha, and the simulation.

    Shares are over all embedders, k and over-fetch together: the same queries several times, so
    only single rows have an interval.
    """
    pairs = sections["pairs"]
    for (alpha,), rows in sorted(grouped(pairs, "alpha").items()):
        tested = list(dict.fromkeys(row["tested"] for row in rows))

        def place(row: Row, names: list[str] = tested) -> tuple[int, int]:
            # Kinds first, in the order of the data; then what judges every kind.
            other = row["how"] == "other" and row["calibrated"] in names
            at = names.index(row["calibrated"]) if other else len(names)
            return _ORDER.index(row["how"]), at

        yield crossed(
            f"Clean queries touched (golden passage lost), alpha {alpha:.0%}; judged kind in "
            "columns",
            sorted(rows, key=place),
            {"calibrated on": lambda row: row["calibrated" if row["how"] == "other" else "how"]},
            "tested",
            _touched,
            order=tested,
            empty="-",
        )
    yield listed(
        "Random halves of clean traffic: share touched",
        [_simulated(rows) for rows in grouped(sections["simulation"], "traffic", "alpha").values()],
        {
            **{"traffic": "traffic", "alpha": "alpha", "calibrating": "calibrating"},
            **{"promised": "promised", "mean": "mean", "5 % quantile": "quantile_5%"},
            **{"median": "quantile_50%", "95 % quantile": "quantile_95%"},
            "largest mean": "largest",
        },
    )


def _touched(rows: list[Row]) -> str:
    n = summed(rows)
    lost = f" ({share(n['golden_removed'], n['golden'])})" if n["golden"] else ""
    return f"{share(n['touched'], n['queries'])}{lost}".replace(" %", "%")


def _simulated(rows: list[Row]) -> dict[str, str]:
    """Return the means over embedders, k and over-fetch of what single settings give."""
    means = {name: f"{fmean(row[name] for row in rows):.2%}" for name in _SIMULATED}
    first = rows[0]
    return {
        "traffic": first["traffic"],
        "alpha": f"{first['alpha']:.0%}",
        "calibrating": str(first["calibrating"]),
        **means,
        "largest": f"{max(row['mean'] for row in rows):.2%}",
    }
