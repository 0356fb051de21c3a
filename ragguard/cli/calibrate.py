"""`ragguard calibrate` and `drift`: what clean traffic looks like, and whether it still does."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import typer

import ragguard
from ragguard.cli import options
from ragguard.cli.options import flag, option, share
from ragguard.cli.output import FINDING, write_json
from ragguard.cli.traffic import opened_traffic, read_traffic, require_apart
from ragguard.errors import InvalidInputError
from ragguard.inline.calibration_file import as_calibration, promise
from ragguard.inline.drift import drift as compare
from ragguard.score_records import recent_p_values
from ragguard.text import printable


def calibrate(
    source: str = options.source("Clean traffic as JSON lines; - is stdin."),
    output: Path = options.output("Where to write the calibration.", Path("calibration.json")),
    alpha: float = share("The share of clean queries that it has to serve: 1/ALPHA - 1 questions."),
    k: int | None = options.K,
    from_store: str | None = option(
        "Learn from what guards on this audit store scored, not from FILE.", metavar="URL"
    ),
    newest: int | None = option(
        "Of the store, only the newest so many queries; 1000 are kept. Else a sample of all.", min=1
    ),
    clean_looking: bool = flag(
        "--clean-looking", "Learn nothing above the threshold in force: it cannot rise."
    ),
    in_force: Path | None = option(
        "The calibration that this one will replace. Else the shipped one.",
        "--calibration",
        metavar="FILE",
    ),
    force: bool = flag("--force", "Write it although it looks as if attacks were in it."),
    trail: str | None = option(
        "With FILE: tell of it in this audit store's trail.", "--store", metavar="URL"
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Learn from trusted clean traffic, and write a file for `filter --calibration`.

    The input has the format that `filter` reads, or is what the guards on an audit store have
    recorded. Every query of it counts as clean: what an attacker slips in here, the filter will
    take for normal. So what looks attacked is refused without --force: a record in which the gate
    fires too often, a threshold that rises by more than 1 nat, or one above which more than 10 % of
    the shipped reference attacks would be missed.
    """
    if from_store is None and (newest is not None or clean_looking):
        raise InvalidInputError("--newest and --clean-looking need --from-store URL")
    if from_store is not None and (source != "-" or k is not None or trail is not None):
        raise InvalidInputError(
            "--from-store takes neither FILE nor --k nor --store; the guards that recorded it had "
            "a k, and its own trail tells of it"
        )
    url = trail if from_store is None else from_store
    # It may take the place of the calibration in force, which was read by then.
    require_apart({"--output": output}, source, url)
    with (
        opened_traffic(source) if from_store is None else nullcontext() as stream,
        nullcontext() if url is None else options.opened_store(url) as store,
        ragguard.Guard(alpha=alpha, store=store, calibration=in_force) as guard,
    ):
        if stream is not None:
            traffic = read_traffic(stream, source, progress=True)
            pairs = ((one.query, one.passages) for one in traffic)
            calibration = guard.calibrate(pairs, k=k, force=force)
        else:
            calibration = guard.calibrate_from_store(
                newest=newest, clean_looking=clean_looking, force=force
            )
        guard.save_calibration(output)
    passages = len(calibration.passage_scores) + len(calibration.passage_naming)
    if as_json:
        write_json(
            {
                "calibration": str(output),
                "queries": calibration.queries,
                "naming": len(calibration.naming),
                "passages": passages,
                "passages_per_query": calibration.size,
                "alpha": alpha,
                "source": calibration.source,
                "promise": promise(calibration, alpha),
            }
        )
        return
    typer.echo(
        f"calibrated on {calibration.queries} queries with {passages} passages; "
        f"use it with: ragguard filter --calibration {output}"
    )
    typer.echo(promise(calibration, alpha))
    if from_store is not None:
        typer.echo(f"from {printable(calibration.source)}")


def drift(
    store: str = options.STORE,
    calibration: Path | None = options.CALIBRATION,
    alpha: float = options.ALPHA,
    as_json: bool = options.AS_JSON,
) -> None:
    """Compare the newest queries of a store with the calibration, and exit with 1 on drift.

    Counts how many of the newest queries, at most 1000, score above the calibrated quantile, and
    asks how probable so many are if nothing has changed. Too many mean an attack, or traffic that
    the calibration does not cover: look at what was flagged, and calibrate anew if it is clean.
    """
    measure = as_calibration(calibration)
    if measure is not None:
        measure.require(alpha)
    with options.opened_store(store) as opened:
        p_values, calibrated = recent_p_values(opened.scores(), measure, alpha=alpha)
    found = compare(p_values, calibrated, alpha)
    if as_json:
        write_json({**asdict(found), "calibrated": sorted(set(calibrated.tolist()))})
    elif not found.queries:
        typer.echo("no query is recorded that can be compared with the calibration")
    else:
        expected, say = alpha * found.queries, "no drift: the calibration covers this traffic"
        if found.drifted:
            say = "drift: an attack, or traffic that the calibration does not cover; look at what "
            say += "was flagged, and calibrate anew if it is clean"
        elif expected < 1.0:
            say = f"too few to tell: of less than {1.0 / alpha:.0f} queries none is expected above "
            say += "it; filter more traffic on this store first"
        typer.echo(
            f"{found.above} of the newest {found.queries} queries score above the calibrated "
            f"quantile, {alpha:g} allows about {expected:.1f} (p={found.p_value:.2g})\n{say}"
        )
    if found.drifted:
        raise typer.Exit(FINDING)
