"""The commands of suites: `python -m benchmarks run | plan | report | compare`.

Each cell is run once: a finished one is a file, and is not run again.
"""

import json
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import joblib
import typer
from rich.progress import track

from benchmarks.cells import Cell, Suite, load_suite
from benchmarks.command import ERRORS, OUT, Out, OwnData, run_app, without_warnings
from benchmarks.datasets.sources import origin
from benchmarks.measuring import Place, measure
from benchmarks.metrics.counting import Rate
from benchmarks.report import figures
from benchmarks.report.page import page
from benchmarks.report.result import describe_run, read, write
from benchmarks.report.table import as_is, as_markdown, as_rich
from ragguard.attribution.text_model import Prices
from ragguard.errors import RagguardError

_RESULTS = Path(__file__).with_name("results")
_FOLDER = Path(__file__).resolve().parent.parent / ".benchmarks"

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)
SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="its name, or a .toml file")]
Folder = Annotated[Path, typer.Option(help="keeps cells and answers")]
Rows = Annotated[Path | None, typer.Option(help="write the rows without text here")]


def run(
    cells: Sequence[Cell], place: Place, *, jobs: int = 1, scheduler: str | None = None
) -> Iterator[Cell]:
    """Run what is not finished, and yield each cell once it is; equal cells give equal rows.

    On this machine in so many `jobs`, or on the workers of the dask `scheduler` of this address,
    which must reach the same folders.
    """
    workers: dict[str, Any] = {"n_jobs": jobs}
    if scheduler is not None:
        workers = {"backend": "dask", "scheduler_host": scheduler}
    with joblib.parallel_config(**workers):
        yield from joblib.Parallel(return_as="generator_unordered")(
            joblib.delayed(_run_one)(cell, place) for cell in pending(cells, place)
        )


def pending(cells: Sequence[Cell], place: Place) -> list[Cell]:
    return [cell for cell in cells if (finished(cell, place) or {}).get("reason", "?") is not None]


def finished(cell: Cell, place: Place) -> Mapping[str, Any] | None:
    """Return a cell's `rows`, or the `reason` why there are none; None if it is not finished."""
    try:
        kept: dict[str, Any] = json.loads(_file(cell, place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if kept["reason"] or kept["expected"] == len(kept["rows"]) else None


@without_warnings()
def _run_one(cell: Cell, place: Place) -> Cell:
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


def shown(suite: Suite, place: Place) -> list[figures.Shown]:
    kept = {}
    for cell in suite.cells:
        content = finished(cell, place) or {"rows": (), "reason": "not run yet"}
        empty = "" if content["rows"] else "nothing to plant in this data"
        kept[cell.key] = (cell, content["rows"], content["reason"] or empty)
    return figures.judged(kept)


@app.command()
def plan(suite: SuiteName, data: OwnData = None, folder: Folder = _FOLDER) -> None:
    """List every cell; nothing is run."""
    cells, place = load_suite(suite, data).cells, Place(data, folder)
    for cell in cells:
        kept = finished(cell, place)
        state = "to run" if kept is None else "done" if kept["reason"] is None else "to run again"
        names = " ".join(str(part) for part in cell.key if part != "")
        typer.echo(f"{cell.id} {state:12} {names}")
    typer.echo(f"{len(cells)} cells, {len(pending(cells, place))} to run")
    committed = _RESULTS / f"suite_{Path(suite).stem}.json"
    if committed.is_file():
        ids = {one["id"] for one in read(committed)["sections"]["suite_cells"]}
        void = sum(cell.id not in ids for cell in cells)
        typer.echo(f"{committed.name}: {void} are not of the present sources")


@app.command("run")
def run_suite(
    suite: SuiteName,
    data: OwnData = None,
    folder: Folder = _FOLDER,
    out: Out = None,
    rows: Rows = None,
    jobs: Annotated[int, typer.Option(min=1, help="processes")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="address of a dask scheduler to run on instead")
    ] = None,
) -> None:
    """Run what is not finished, then report."""
    cells, place = load_suite(suite, data).cells, Place(data, folder)
    done = run(cells, place, jobs=jobs, scheduler=scheduler)
    deque(track(done, suite, len(pending(cells, place)), console=ERRORS), maxlen=0)
    report(suite, data, folder, out, rows)


@app.command()
def report(
    suite: SuiteName,
    data: OwnData = None,
    folder: Folder = _FOLDER,
    out: Out = None,
    rows: Rows = None,
    prices: Annotated[
        str | None, typer.Option(help="READ,WRITTEN: of a million tokens, to say what they cost")
    ] = None,
) -> None:
    """Write tables, rows and a page of what is finished."""
    asked = load_suite(suite, data)
    found = shown(asked, Place(data, folder))
    command = ["python", "-m", "benchmarks", "run", suite]
    command += [] if data is None else ["--data", data.resolve().name]
    origins = {one: origin(one, data) for one in dict.fromkeys(c.dataset for c in asked.cells)}
    about = {**describe_run(command, (), seed=0, limit=None), "title": asked.title}
    about |= {"records": {name: of["records"] for name, of in origins.items()}, "data": origins}
    paid = Prices(*map(float, prices.split(","))) if prices else None
    tables = list(figures.suite_tables(found, paid))
    for table in tables:
        OUT.print(as_rich(table))
    out = out or folder / "reports" / asked.name
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join([f"# {asked.title}\n", *map(as_markdown, tables)])
    (out / "report.md").write_text(text, encoding="utf-8")
    counts = [{**one.figures, "cell": one.cell.id, "reason": one.reason} for one in found]
    (out / "figures.json").write_text(json.dumps(counts, default=Rate.with_ends), encoding="utf-8")
    html = out / "report.html"
    html.write_text(page(asked.title, about, found, tables), encoding="utf-8")
    write(rows or out / "rows.json", about, figures.sections_of(found))
    typer.echo(f"page: {html}")


@app.command()
def compare(first: Path, second: Path) -> None:
    """Show what changed between two files of rows."""
    before, after = (figures.of_sections(read(path)["sections"]) for path in (first, second))
    OUT.print(as_rich(as_is("Second less first, points", figures.compared(before, after))))


COMMANDS = frozenset({"run", "plan", "report", "compare"})
main = partial(run_app, app, "python -m benchmarks")
