"""The filter and attribution in sections: `python -m benchmarks --data DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import attribution, cost, inline
from benchmarks.command import (
    Command,
    Measured,
    add_embedders,
    add_forms,
    choices,
    embedders_for,
    option,
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
    with ExitStack() as stack:
        if not arguments.no_package and package_version() is None:
            errors.print(f"{PACKAGE} is not installed", style="yellow")
        forms = arguments.forms if "attack" in arguments.sections else ()
        embedders = embedders_for(_texts(datasets, forms), errors, arguments.embedders)
        defences = all_defences(stack, package=not arguments.no_package)
        limit, seed = arguments.limit, arguments.seed
        measured: Mapping[str, Callable[[], Any]] = {
            "clean": lambda: inline.clean(datasets, embedders, defences, errors),
            "attack": lambda: inline.attack(attacked, embedders, defences, forms, errors),
            "attribution": lambda: attribution.run(Selection(folder, limit, seed), errors),
            "cost": lambda: cost.run(
                attacked, embedders[-1], defences, errors, limit=limit, seed=seed
            ),
        }
        sections = {name: run() for name, run in measured.items() if name in arguments.sections}
    return sections, datasets


def _texts(datasets: Sequence[Dataset], forms: Sequence[str]) -> Iterator[str]:
    """Yield every text that the inline sections embed, in order."""
    for dataset in datasets:
        for record in dataset.report:
            yield from (record.question, *record.hits)
            for kind in dataset.kinds:
                for form in forms:
                    yield from planted(record, kind, form, max(inline.COUNTS))


def _forms(parser: argparse.ArgumentParser) -> None:
    add_forms(parser, DEFAULT_FORMS)


main = Command(
    "",
    __doc__,
    measure,
    tables,
    [
        option("--seed", type=int, default=0),
        option(
            "--sections",
            type=choices(SECTIONS),
            default=SECTIONS,
            help=f"comma-separated: {', '.join(SECTIONS)} (default: all)",
        ),
        _forms,
        add_embedders,
        option(
            "--no-package",
            action="store_true",
            help=f"leave the published {PACKAGE} package out (it needs torch)",
        ),
    ],
    own_data=True,
)
