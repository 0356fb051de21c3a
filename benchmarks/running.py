"""Runs the cells of a suite, each once: a finished cell is a file, and is not run again."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.command import without_warnings
from benchmarks.measuring import Place, measure
from ragguard.errors import RagguardError


def run(
    cells: Sequence[Cell],
    place: Place,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    done: Callable[[Cell], object] = lambda _: None,
) -> None:
    """Run what is not finished; equal cells, whichever way they are run, give equal rows.

    On this machine in so many `jobs`, or on the workers of the dask `scheduler` of this address,
    which must reach the same folders. `done` is told about every cell once it is finished.
    """
    todo = pending(cells, place)
    if jobs == 1 and scheduler is None:
        for cell in todo:
            done(_run_one(cell, place))
        return
    import joblib  # only here: one process needs neither it nor dask

    workers: dict[str, Any] = {"n_jobs": jobs}
    if scheduler is not None:
        workers = {"backend": "dask", "scheduler_host": scheduler}
    with joblib.parallel_config(**workers), without_warnings():
        found = joblib.Parallel(return_as="generator_unordered")(
            joblib.delayed(_run_one)(cell, place) for cell in todo
        )
        for cell in found:
            done(cell)


def pending(cells: Sequence[Cell], place: Place) -> list[Cell]:
    return [cell for cell in cells if (finished(cell, place) or {}).get("reason", "?") is not None]


def finished(cell: Cell, place: Place) -> Mapping[str, Any] | None:
    """Return the kept `rows` of a cell and the `reason` why there are none, or None.

    A file that holds fewer rows than it should is none.
    """
    try:
        kept: dict[str, Any] = json.loads(_file(cell, place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if kept["reason"] or kept["expected"] == len(kept["rows"]) else None


def _run_one(cell: Cell, place: Place) -> Cell:
    with without_warnings():
        try:
            expected, rows = measure(cell, place)
            reason = None
        except (RagguardError, ImportError) as error:
            expected, rows, reason = 0, [], str(error)
    content = {"cell": asdict(cell), "expected": expected, "reason": reason, "rows": rows}
    path = _file(cell, place)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all, also if the process is killed.
    partial = path.with_suffix(f".{os.getpid()}.partial")
    with partial.open("w", encoding="utf-8") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)
    return cell


def _file(cell: Cell, place: Place) -> Path:
    return place.folder / "cells" / f"{cell.id}.json"
