"""The commands of suites: `python -m benchmarks run | plan | report | compare`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.cells import Suite, load_suite
from benchmarks.command import positive
from benchmarks.measuring import Place
from benchmarks.metrics.intervals import Rate
from benchmarks.report.compare import compared
from benchmarks.report.figures import shown, suite_tables
from benchmarks.report.page import page
from benchmarks.report.result import describe_run, read
from benchmarks.report.rows import read_rows, write_rows
from benchmarks.report.table import as_markdown, as_rich
from benchmarks.running import finished, pending, run
from ragguard.errors import RagguardError

_RESULTS = Path(__file__).with_name("results")
_FOLDER = Path(__file__).resolve().parent.parent / ".benchmarks"
_WIDTH = 150  # columns; narrower tables cannot be read


def main(argv: Sequence[str]) -> int:
    """Run a command and return the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command](arguments, Console(width=max(Console().width, _WIDTH)))
    except RagguardError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False)
        return 2


def _place(arguments: argparse.Namespace) -> Place:
    return Place(arguments.data, arguments.folder)


def _plan(arguments: argparse.Namespace, out: Console) -> int:
    suite, place = load_suite(arguments.suite, arguments.data), _place(arguments)
    for cell in suite.cells:
        kept = finished(cell, place)
        state = "to run" if kept is None else "done" if kept["reason"] is None else "to run again"
        names = " ".join(str(part) for part in cell.key if part != "")
        out.print(f"{cell.id} {state:12} {names}", highlight=False, soft_wrap=True, markup=False)
    out.print(f"{len(suite.cells)} cells, {len(pending(suite.cells, place))} to run")
    committed = _RESULTS / f"suite_{suite.name}.json"
    if committed.is_file():
        ids = {one["id"] for one in read(committed)["sections"]["suite_cells"]}
        void = sum(cell.id not in ids for cell in suite.cells)
        out.print(f"{committed.name}: {void} are not of the present sources", soft_wrap=True)
    return 0


def _run(arguments: argparse.Namespace, out: Console) -> int:
    suite, place = load_suite(arguments.suite, arguments.data), _place(arguments)
    todo = len(pending(suite.cells, place))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    errors = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=errors) as progress:
        bar = progress.add_task(suite.name, total=todo)
        run(
            suite.cells,
            place,
            jobs=arguments.jobs,
            scheduler=arguments.scheduler,
            done=lambda _: progress.advance(bar),
        )
    return _report(arguments, out)


def _report(arguments: argparse.Namespace, out: Console) -> int:
    suite, place = load_suite(arguments.suite, arguments.data), _place(arguments)
    found = shown(suite, place)
    about = _about(arguments, suite)
    tables = list(suite_tables(found))
    for table in tables:
        out.print(as_rich(table))
    folder: Path = arguments.out or place.folder / "reports" / suite.name
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([f"# {suite.title}\n", *map(as_markdown, tables)])
    (folder / "report.md").write_text(text, encoding="utf-8")
    figures = [{**dict(one.figures), "cell": one.cell.id, "reason": one.reason} for one in found]
    (folder / "figures.json").write_text(
        json.dumps(figures, default=Rate.with_ends), encoding="utf-8"
    )
    html = folder / "report.html"
    html.write_text(page(suite.title, about, found), encoding="utf-8")
    write_rows(arguments.rows or folder / "rows.json", about, found)
    out.print(f"page: {html}", highlight=False, soft_wrap=True)
    return 0


def _about(arguments: argparse.Namespace, suite: Suite) -> dict[str, Any]:
    command = ["python", "-m", "benchmarks", "run", arguments.suite]
    command += [] if arguments.data is None else ["--data", arguments.data.resolve().name]
    about = describe_run(command, (), seed=0, limit=None)
    return {**about, "title": suite.title}


def _compare(arguments: argparse.Namespace, out: Console) -> int:
    first, second = read_rows(arguments.first), read_rows(arguments.second)
    out.print(as_rich(compared(first, second)))
    return 0


COMMANDS: Mapping[str, Callable[[argparse.Namespace, Console], int]] = {
    "run": _run,
    "plan": _plan,
    "report": _report,
    "compare": _compare,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    helps = {
        "run": "run what is not finished, then report",
        "plan": "list every cell; nothing is run",
        "report": "tables, rows and a page of what is finished",
    }
    for name, text in helps.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("suite", help="a suite's name, or a .toml file")
        command.add_argument("--data", type=Path, help="folder of datasets")
        command.add_argument(
            "--folder", type=Path, default=_FOLDER, help="keeps cells and answers (%(default)s)"
        )
        if name != "plan":
            command.add_argument("--out", type=Path, help="folder of the report")
            command.add_argument("--rows", type=Path, help="write the rows without text here")
        if name == "run":
            command.add_argument("--jobs", type=positive, default=1, help="processes")
            command.add_argument(
                "--scheduler", help="address of a dask scheduler to run on instead"
            )
    command = commands.add_parser("compare", help="what changed between two files of rows")
    command.add_argument("first", type=Path)
    command.add_argument("second", type=Path)
    return parser
