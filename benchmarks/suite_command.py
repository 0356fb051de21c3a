"""The commands of suites: `python -m benchmarks run | plan | report | compare`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.cells import load_suite
from benchmarks.command import ERRORS, OwnData
from benchmarks.measuring import Place
from benchmarks.metrics.counting import Rate
from benchmarks.report.figures import compared, read_rows, sections_of, shown, suite_tables
from benchmarks.report.page import page
from benchmarks.report.result import describe_run, read, write
from benchmarks.report.table import as_markdown, as_rich
from benchmarks.running import finished, pending, run

_RESULTS = Path(__file__).with_name("results")
_FOLDER = Path(__file__).resolve().parent.parent / ".benchmarks"
_OUT = Console(width=max(Console().width, 150))  # columns; narrower tables cannot be read

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)
SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="its name, or a .toml file")]
Folder = Annotated[Path, typer.Option(help="keeps cells and answers")]
Out = Annotated[Path | None, typer.Option(help="folder of the report")]
Rows = Annotated[Path | None, typer.Option(help="write the rows without text here")]


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
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=ERRORS) as progress:
        bar = progress.add_task(suite, total=len(pending(cells, place)))
        run(cells, place, jobs=jobs, scheduler=scheduler, done=lambda _: progress.advance(bar))
    report(suite, data, folder, out, rows)


@app.command()
def report(
    suite: SuiteName,
    data: OwnData = None,
    folder: Folder = _FOLDER,
    out: Out = None,
    rows: Rows = None,
) -> None:
    """Write tables, rows and a page of what is finished."""
    asked = load_suite(suite, data)
    found = shown(asked, Place(data, folder))
    command = ["python", "-m", "benchmarks", "run", suite]
    command += [] if data is None else ["--data", data.resolve().name]
    about = {**describe_run(command, (), seed=0, limit=None), "title": asked.title}
    tables = list(suite_tables(found))
    for table in tables:
        _OUT.print(as_rich(table))
    out = out or folder / "reports" / asked.name
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join([f"# {asked.title}\n", *map(as_markdown, tables)])
    (out / "report.md").write_text(text, encoding="utf-8")
    figures = [{**dict(one.figures), "cell": one.cell.id, "reason": one.reason} for one in found]
    (out / "figures.json").write_text(json.dumps(figures, default=Rate.with_ends), encoding="utf-8")
    html = out / "report.html"
    html.write_text(page(asked.title, about, found), encoding="utf-8")
    write(rows or out / "rows.json", about, sections_of(found))
    typer.echo(f"page: {html}")


@app.command()
def compare(first: Path, second: Path) -> None:
    """Show what changed between two files of rows."""
    _OUT.print(as_rich(compared(read_rows(first), read_rows(second))))


COMMANDS = frozenset({"run", "plan", "report", "compare"})
