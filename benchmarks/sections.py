"""The filter and attribution in sections: `python -m benchmarks --data DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import attribution, cost, inline
from benchmarks.command import (
    Measured,
    add_embedders,
    add_forms,
    choices,
    embedders_for,
    new_parser,
    run_command,
)
from benchmarks.datasets import Dataset, skerrin
from benchmarks.defences.contenders import PACKAGE, all_defences, package_version
from benchmarks.forms import DEFAULT_FORMS
from benchmarks.misgeneration import Selection
from benchmarks.reading import load_with_reading
from benchmarks.retrieval import planted
from benchmarks.tables import tables

SECTIONS = ("clean", "attack", "attribution", "cost")


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the sections that are asked for."""
    folder: Path | None = arguments.data
    found = [] if folder is None else load_with_reading(folder)
    datasets = [dataset.limited(arguments.limit) for dataset in (*found, skerrin())]
    attacked = [dataset for dataset in datasets if dataset.kinds]
    sections: dict[str, Any] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        ExitStack() as stack,
        Progress(*columns, TimeElapsedColumn(), console=errors) as progress,
    ):

        def steps(name: str, total: int) -> Callable[[], None]:
            bar = progress.add_task(name, total=total)
            return lambda: progress.advance(bar)

        if not arguments.no_package and package_version() is None:
            progress.console.print(f"{PACKAGE} is not installed", style="yellow")
        forms = arguments.forms if "attack" in arguments.sections else ()
        embedders = embedders_for(_texts(datasets, forms), progress, arguments.embedders)
        defences = all_defences(stack, package=not arguments.no_package)
        records, of_attacked = (
            sum(len(dataset.report) for dataset in part) * len(embedders)
            for part in (datasets, attacked)
        )
        if "clean" in arguments.sections:
            step = steps("clean", records)
            sections["clean"] = inline.clean(datasets, embedders, defences, step)
        if "attack" in arguments.sections:
            step = steps("attack", of_attacked)
            sections["attack"] = inline.attack(attacked, embedders, defences, forms, step)
        if "attribution" in arguments.sections:
            selection = Selection(folder, arguments.limit, arguments.seed)
            sections["attribution"] = attribution.run(selection, progress)
        if "cost" in arguments.sections:
            limit, seed = arguments.limit, arguments.seed
            step = steps("cost", cost.steps(limit))
            sections["cost"] = cost.run(
                attacked, embedders[-1], defences, step, limit=limit, seed=seed
            )
    return sections, datasets


def _texts(datasets: Sequence[Dataset], forms: Sequence[str]) -> Iterator[str]:
    """Yield every text that the inline sections embed, in order."""
    for dataset in datasets:
        for record in dataset.report:
            yield from (record.question, *record.hits)
            for kind in dataset.kinds:
                for form in forms:
                    yield from planted(record, kind, form, max(inline.COUNTS))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    parser = new_parser("", __doc__, own_data=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sections",
        type=choices(SECTIONS),
        default=SECTIONS,
        help=f"comma-separated: {', '.join(SECTIONS)} (default: all)",
    )
    add_forms(parser, DEFAULT_FORMS)
    add_embedders(parser)
    parser.add_argument(
        "--no-package",
        action="store_true",
        help=f"leave the published {PACKAGE} package out (it needs torch)",
    )
    return run_command(parser, argv, measure, tables)
