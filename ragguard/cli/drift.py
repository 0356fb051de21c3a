"""`ragguard drift`: does the calibration still speak for the traffic of today?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragguard.cli.exits import FINDING
from ragguard.cli.output import JsonOption, write_json
from ragguard.cli.store import StoreOption, opened_store
from ragguard.errors import InvalidInputError

if TYPE_CHECKING:
    from ragguard.inline.drift import Drift

__all__ = ["drift"]


def drift(
    store: StoreOption,
    calibration: Annotated[
        Path | None,
        typer.Option(help="What `ragguard calibrate` wrote; the shipped one if left out."),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Share of clean queries that the guards may touch, in (0, 1).")
    ] = 0.01,
    as_json: JsonOption = False,
) -> None:
    """Compare the newest queries of a store with the calibration, and exit with 1 on drift.

    Counts how many of the newest queries, at most 1000, score above the calibrated quantile, and
    asks how probable so many are if nothing has changed. Too many mean an attack, or traffic that
    the calibration does not cover: look at what was flagged, and calibrate anew if it is clean.
    """
    from ragguard.inline.conformal import load_calibration
    from ragguard.inline.drift import drift as compare
    from ragguard.inline.scoring import SCORER
    from ragguard.recorded import recent_p_values

    if not 0.0 < alpha < 1.0:
        raise InvalidInputError(f"--alpha must be between 0 and 1, not {alpha!r}; try 0.01")
    measure = None if calibration is None else load_calibration(calibration)
    if measure is not None:
        measure.require(alpha)
    with opened_store(store) as opened:
        p_values, calibrated = recent_p_values(opened.scores(), SCORER, measure, alpha=alpha)
    found = compare(p_values, calibrated, alpha)
    if as_json:
        write_json({**asdict(found), "calibrated": calibrated})
    elif not found.queries:
        typer.echo("no query is recorded that can be compared with the calibration")
    else:
        typer.echo(
            f"{found.above} of the newest {found.queries} queries score above the calibrated "
            f"quantile, {alpha:g} allows about {alpha * found.queries:.1f} (p={found.p_value:.2g})"
        )
        typer.echo(_finding(found))
    if found.drifted:
        raise typer.Exit(FINDING)


def _finding(found: Drift) -> str:
    if found.drifted:
        return (
            "drift: an attack, or traffic that the calibration does not cover; look at what was "
            "flagged, and calibrate anew if it is clean"
        )
    if found.alpha * found.queries < 1.0:
        return (
            f"too few to tell: of less than {1.0 / found.alpha:.0f} queries none is expected above "
            "it; filter more traffic on this store first"
        )
    return "no drift: the calibration covers this traffic"
