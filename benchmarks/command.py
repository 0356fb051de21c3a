"""What commands that measure one question share: options, embedders with their vectors, result."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.datasets import Dataset
from benchmarks.embedders import MiniLM, built_in, minilm_folder
from benchmarks.forms import FORMS
from benchmarks.reading import load_with_reading
from benchmarks.report.result import describe_run, write
from benchmarks.tables import Table, as_rich
from ragguard.embedding import Embedder
from ragguard.errors import RagguardError

__all__ = [
    "add_forms",
    "choices",
    "embedders_for",
    "half_parser",
    "new_parser",
    "positive",
    "run_built_in",
    "save",
    "without_warnings",
]


def new_parser(
    name: str, description: str | None, *, forms: Sequence[str] = ()
) -> argparse.ArgumentParser:
    """Return a parser of --data, --limit and --json.

    Args:
        name: Of the module, such as "plain".
        description: What it measures.
        forms: The default question forms; without any there is no --forms.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets")
    parser.add_argument(
        "--limit", type=positive, help="records a half of a dataset at most, for quick runs"
    )
    parser.add_argument("--json", type=Path, help="write the result here")
    if forms:
        add_forms(parser, forms)
    return parser


def add_forms(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    """Add --forms to a parser.

    Args:
        parser: Of any command.
        default: The question forms if there is no --forms.
    """
    parser.add_argument(
        "--forms",
        type=choices(tuple(FORMS)),
        default=tuple(default),
        help=f"'all' or comma-separated: {', '.join(FORMS)} (default: {', '.join(default)})",
    )


def half_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of a command about attribution, which may report either half.

    Args:
        name: Of the module, such as "events".
        description: What it measures.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--limit", type=int, help="records a dataset at most")
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--half",
        type=int,
        choices=(0, 1),
        default=1,
        help="1: the odd records, which are reported; 0: the even, which constants come from",
    )
    return parser


def embedders_for(texts: Iterable[str], progress: Progress) -> list[Embedder]:
    """Return the built-in embedder and, where it is installed, MiniLM with all vectors computed."""
    folder = minilm_folder()
    if folder is None:
        progress.console.print("MiniLM is not installed", style="yellow")
        return [built_in()]
    model, wanted = MiniLM(folder), list(dict.fromkeys(texts))
    bar = progress.add_task("MiniLM vectors", total=len(wanted))
    model.prepare(wanted, lambda done: progress.advance(bar, done))
    return [built_in(), model]


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence what a guard warns of: many attacks in a row, which is what it is given here."""
    logger = logging.getLogger("ragguard")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def run_built_in(
    name: str,
    description: str | None,
    argv: Sequence[str] | None,
    run: Callable[[Path, Sequence[Dataset], Embedder, Console], list[dict[str, Any]]],
    tables: Callable[[Sequence[Mapping[str, Any]]], Iterable[Table]],
) -> int:
    """Measure with the built-in embedder, show the tables and return the exit status.

    Args:
        name: Of the module, and of the section that holds the rows.
        description: What it measures.
        argv: The arguments of the command.
        run: From the folder, its datasets, the embedder and where progress is shown to the rows.
        tables: Of the rows.
    """
    arguments = new_parser(name, description).parse_args(argv)
    errors, out = Console(stderr=True), Console()
    try:
        datasets = [
            dataset.limited(arguments.limit) for dataset in load_with_reading(arguments.data)
        ]
        rows = run(arguments.data, datasets, built_in(), errors)
    except RagguardError as error:
        errors.print(f"error: {error}", style="red", markup=False)
        return 2
    for table in tables(rows):
        out.print(as_rich(table))
    save(arguments, name, {}, datasets, {name: rows})
    return 0


def save(
    arguments: argparse.Namespace,
    name: str,
    options: Mapping[str, object],
    datasets: Sequence[Dataset],
    sections: Mapping[str, Any],
) -> None:
    """Write the result, if --json was given, with the command as anybody would type it.

    Args:
        arguments: What the parser read.
        name: Of the module.
        options: Further options of the command and their values; "seed" is recorded, else 0.
        datasets: The data.
        sections: What was measured.
    """
    if arguments.json is None:
        return
    command = ["python", "-m", f"benchmarks.{name}", "--data", arguments.data.resolve().name]
    if arguments.limit is not None:
        command += ["--limit", str(arguments.limit)]
    for option, value in options.items():
        command += [f"--{option}", str(value)]
    seed = int(str(options.get("seed", 0)))
    run = describe_run(command, datasets, seed=seed, limit=arguments.limit)
    write(arguments.json, run, sections)


def positive(text: str) -> int:
    """Read a whole number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def choices(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Return what reads some of the known names, comma-separated, or "all"."""

    def parse(text: str) -> tuple[str, ...]:
        chosen = known if text == "all" else tuple(dict.fromkeys(text.split(",")))
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(
                f"no {', '.join(unknown)}; pass 'all' or some of {', '.join(known)}"
            )
        return chosen

    return parse
