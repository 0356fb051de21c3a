"""`ragguard calibrate`: learn from clean traffic what clean traffic looks like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ragguard.cli.output import JsonOption, write_json
from ragguard.cli.traffic import opened_traffic, read_traffic

if TYPE_CHECKING:
    from ragguard.passage import Passage

__all__ = ["calibrate"]


def calibrate(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Clean traffic as JSON lines; - is stdin.")
    ] = "-",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the calibration.")
    ] = Path("calibration.json"),
    alpha: Annotated[
        float,
        typer.Option(help="The share of clean queries that it has to serve: 1/ALPHA - 1 lines."),
    ] = 0.01,
    k: Annotated[
        int | None,
        typer.Option(min=1, help="Passages wanted per query, the same as for `filter`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from trusted clean traffic, and write a file for `filter --calibration`.

    The input has the format that `filter` reads. Every line of it counts as clean: what an
    attacker slips in here, the filter will take for normal.
    """
    from ragguard import Guard

    with opened_traffic(source) as stream, Guard(alpha=alpha) as guard:
        calibration = guard.calibrate(_pairs(stream, source), k=k)
        guard.save_calibration(output)
    figures = {
        "calibration": str(output),
        "queries": len(calibration.scores),
        "passages": len(calibration.passage_scores),
        "passages_per_query": calibration.size,
        "alpha": alpha,
    }
    if as_json:
        write_json(figures)
    else:
        typer.echo(
            f"calibrated on {figures['queries']} queries with {figures['passages']} passages; "
            f"use it with: ragguard filter --calibration {output}"
        )


def _pairs(stream: BinaryIO, source: str) -> Iterator[tuple[str, list[Passage]]]:
    for retrieval in read_traffic(stream, source, progress=True):
        yield retrieval.query, retrieval.passages
