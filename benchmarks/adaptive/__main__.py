"""Runs the adaptive attacks: `python -m benchmarks.adaptive --data DIR --json FILE`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.adaptive.denial import deny
from benchmarks.adaptive.run import BUDGET, own_guards, run
from benchmarks.adaptive.tables import tables
from benchmarks.adaptive.targets import targets
from benchmarks.command import Measured, add_embedders, embedders_for, new_parser, run_command
from benchmarks.datasets import Dataset, load_folder, skerrin
from benchmarks.embedders import MiniLM
from ragguard import Guard
from ragguard.embedding import Embedder
from ragguard.errors import CalibrationError

_LIMIT = 6
_MORE = 3


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the section "adaptive": attacks, what attribution finds of them, and denial."""
    limit = arguments.limit or _LIMIT
    datasets = [skerrin()] if arguments.data is None else load_folder(arguments.data)
    chosen = [target for one in datasets for target in targets(one, limit)]
    # Few questions have their answer among the first k, and denying it takes few questions.
    denied = [target for one in datasets for target in targets(one, _MORE * limit)]
    denied = [target for target in denied if target.record.golden]
    with Progress(console=errors) as progress, ExitStack() as stack:
        asked = [target.record for target in (*chosen, *denied)]
        texts = (text for record in asked for text in (record.question, *record.hits))
        embedders = embedders_for(texts, progress, arguments.embedders)
        bar = progress.add_task("attacks", total=len(chosen) * len(embedders))
        sections = run(
            chosen,
            embedders,
            lambda: progress.advance(bar),
            own=_own(datasets, embedders, stack),
            budget=arguments.budget,
            seed=arguments.seed,
        )
        guard = stack.enter_context(Guard(on_error="raise"))
        bar = progress.add_task("denial", total=len(denied) * len(embedders))
        rows = deny(denied, embedders, guard, lambda: progress.advance(bar))
        sections["denial"] = [asdict(row) for row in rows]
    return {"adaptive": sections}, [one.limited(limit) for one in datasets if one.kinds]


def _own(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], stack: ExitStack
) -> dict[str, Any]:
    """Calibrate on the choosing half, for the built-in embedder, which needs no stored vectors."""
    records = [record for one in datasets for record in one.choosing]
    embedder = next((one for one in embedders if not isinstance(one, MiniLM)), None)
    if embedder is None or not records:
        return {}
    try:
        return {embedder.name: own_guards(records, embedder, stack)}
    except CalibrationError:  # a small folder
        return {}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the attacks and return the exit status."""
    about = f"{__doc__} Without --limit, of {_LIMIT} targets a dataset."
    parser = new_parser("adaptive", about, own_data=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--budget", type=int, default=BUDGET, help=f"of the attack 'wording' (default: {BUDGET})"
    )
    add_embedders(parser)
    return run_command(parser, argv, measure, tables)


if __name__ == "__main__":
    sys.exit(main())
