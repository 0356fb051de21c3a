"""`ragguard calibrate`: learn from clean traffic what clean traffic looks like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ragguard.cli.output import JsonOption, printable, write_json
from ragguard.cli.store import opened_store
from ragguard.cli.traffic import opened_traffic, read_traffic
from ragguard.errors import InvalidInputError

if TYPE_CHECKING:
    from ragguard.passage import Passage

__all__ = ["calibrate"]


def calibrate(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Clean traffic as JSON lines; - is stdin.")
    ] = "-",
    output: Annotated[
        Path, typer.Option("--output", "--out", "-o", help="Where to write the calibration.")
    ] = Path("calibration.json"),
    alpha: Annotated[
        float,
        typer.Option(help="The share of clean queries that it has to serve: 1/ALPHA - 1 lines."),
    ] = 0.01,
    k: Annotated[
        int | None,
        typer.Option(min=1, help="Passages wanted per query, the same as for `filter`."),
    ] = None,
    from_store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Learn from what guards on this audit store scored, not from FILE."
        ),
    ] = None,
    newest: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of the store, only the newest so many queries; 1000 are kept. Else a "
            "sample of all.",
        ),
    ] = None,
    clean_looking: Annotated[
        bool,
        typer.Option(
            "--clean-looking",
            metavar="",
            help="Learn nothing above the threshold in force: it cannot rise.",
        ),
    ] = False,
    in_force: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="The calibration that this one will replace. Else the shipped one.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", metavar="", help="Write it although it looks as if attacks were in it."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Learn from trusted clean traffic, and write a file for `filter --calibration`.

    The input has the format that `filter` reads, or is what the guards on an audit store have
    recorded. Every query of it counts as clean: what an attacker slips in here, the filter will
    take for normal. So what looks attacked is refused without --force: a record in which the gate
    fires too often, a threshold that rises by more than 1 nat, or one above which more than 10 % of
    the shipped reference attacks would be missed.
    """
    from ragguard import Guard

    if from_store is None:
        if newest is not None or clean_looking:
            raise InvalidInputError("--newest and --clean-looking need --from-store URL")
        with opened_traffic(source) as stream, Guard(alpha=alpha, calibration=in_force) as guard:
            calibration = guard.calibrate(_pairs(stream, source), k=k, force=force)
            guard.save_calibration(output)
    else:
        if source != "-" or k is not None:
            raise InvalidInputError(
                "--from-store takes neither FILE nor --k; the guards that recorded it had a k"
            )
        with (
            opened_store(from_store) as store,
            Guard(alpha=alpha, store=store, calibration=in_force) as guard,
        ):
            calibration = guard.calibrate_from_store(
                newest=newest, clean_looking=clean_looking, force=force
            )
            guard.save_calibration(output)
    figures = {
        "calibration": str(output),
        "queries": len(calibration.scores),
        "passages": len(calibration.passage_scores),
        "passages_per_query": calibration.size,
        "alpha": alpha,
        "source": calibration.source,
    }
    if as_json:
        write_json(figures)
    else:
        typer.echo(
            f"calibrated on {figures['queries']} queries with {figures['passages']} passages; "
            f"use it with: ragguard filter --calibration {output}"
        )
        if from_store is not None:
            typer.echo(f"from {printable(calibration.source)}")


def _pairs(stream: BinaryIO, source: str) -> Iterator[tuple[str, list[Passage]]]:
    for retrieval in read_traffic(stream, source, progress=True):
        yield retrieval.query, retrieval.passages
