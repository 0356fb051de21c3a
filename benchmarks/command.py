"""What commands that measure one question share: options, embedders with their vectors, result."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.datasets import Dataset
from benchmarks.embedders import EMBEDDERS, MINILM, MiniLM, built_in, minilm_folder
from benchmarks.forms import FORMS
from benchmarks.report.result import describe_run, write
from benchmarks.report.table import Table, as_rich
from ragguard.embedding import Embedder
from ragguard.errors import RagguardError

_WIDTH = 160  # characters, where no terminal says

Measured = tuple[Mapping[str, Any], Sequence[Dataset]]
"""The sections of a result, and the data that they were measured on."""


def add_forms(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    """Add --forms, the question forms, with those that are taken without it."""
    parser.add_argument(
        "--forms",
        type=choices(tuple(FORMS)),
        default=tuple(default),
        help=f"'all' or comma-separated: {', '.join(FORMS)} (default: {', '.join(default)})",
    )


def add_embedders(parser: argparse.ArgumentParser) -> None:
    """Add --embedders."""
    parser.add_argument(
        "--embedders",
        type=choices(EMBEDDERS),
        default=EMBEDDERS,
        help=f"comma-separated: {', '.join(EMBEDDERS)} (default: all that are installed)",
    )


def add_half(parser: argparse.ArgumentParser) -> None:
    """Add --seed and --half, for what may report either half."""
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--half",
        type=int,
        choices=(0, 1),
        default=1,
        help="1: the odd records, which are reported; 0: the even, which constants come from",
    )


def embedders_for(
    texts: Iterable[str], errors: Console, names: Sequence[str] = EMBEDDERS
) -> list[Embedder]:
    """Return the embedders of these names that there are, MiniLM with all vectors computed."""
    found: list[Embedder] = [built_in()] if EMBEDDERS[0] in names else []
    folder = minilm_folder() if MINILM in names else None
    if folder is not None:
        model, wanted = MiniLM(folder), list(dict.fromkeys(texts))
        with Progress(console=errors) as progress:
            bar = progress.add_task("MiniLM vectors", total=len(wanted))
            model.prepare(wanted, lambda done: progress.advance(bar, done))
        found.append(model)
    elif MINILM in names:
        errors.print("MiniLM is not installed", style="yellow")
    return found or [built_in()]


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


@dataclass(frozen=True)
class Command:
    """A command that measures one question; it takes arguments, and returns the exit status.

    Attributes:
        name: Of the module, such as "protocol"; empty for `python -m benchmarks` itself.
        about: What it measures.
        measure: From the arguments, and the console for progress, to what is found.
        tables: Of the sections.
        options: Add to the parser what is not among --data, --limit and --json.
        own_data: Whether it runs on the project's own data without --data.
        data: False for what needs none.
    """

    name: str
    about: str | None
    measure: Callable[[argparse.Namespace, Console], Measured]
    tables: Callable[[Mapping[str, Any]], Iterable[Table]]
    options: Sequence[Callable[[argparse.ArgumentParser], object]] = ()
    own_data: bool = False
    data: bool = True

    def __call__(self, argv: Sequence[str] | None = None) -> int:
        """Measure, show the tables, and write the result if --json was given."""
        parser = self.parser()
        arguments = parser.parse_args(argv)
        errors, out = Console(stderr=True), Console()
        try:
            with without_warnings():
                sections, datasets = self.measure(arguments, errors)
        except RagguardError as error:
            errors.print(f"error: {error}", style="red", markup=False)
            return 2
        if not out.is_terminal:
            out.width = _WIDTH
        for table in self.tables(sections):
            out.print(as_rich(table))
        if arguments.json is not None:
            seed, limit = getattr(arguments, "seed", 0), getattr(arguments, "limit", None)
            about = describe_run(_typed(parser, arguments), datasets, seed=seed, limit=limit)
            write(arguments.json, about, sections)
        return 0

    def parser(self) -> argparse.ArgumentParser:
        """Return what reads its arguments."""
        module = f"benchmarks.{self.name}" if self.name else "benchmarks"
        parser = argparse.ArgumentParser(prog=f"python -m {module}", description=self.about)
        if self.data:
            folder = f"folder of datasets{'; without it, the own set' if self.own_data else ''}"
            parser.add_argument("--data", type=Path, required=not self.own_data, help=folder)
            how = "records a dataset (or half of it) at most, for quick runs"
            parser.add_argument("--limit", type=positive, help=how)
        parser.add_argument("--json", type=Path, help="write the result here")
        for add in self.options:
            add(parser)
        return parser


def option(name: str, **how: Any) -> Callable[[argparse.ArgumentParser], object]:
    """Return what adds an option to a parser."""
    return lambda parser: parser.add_argument(name, **how)


def _typed(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> list[str]:
    """Return the command as anybody would type it: the data folder goes by its name."""
    command = parser.prog.split()
    for action in parser._actions:
        value = getattr(arguments, action.dest, action.default)
        if value == action.default or action.dest == "json":
            continue
        command.append(action.option_strings[0])
        if isinstance(value, Path):
            command.append(value.resolve().name)
        elif value is not True:
            command.append(",".join(value) if isinstance(value, tuple) else str(value))
    return command


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
