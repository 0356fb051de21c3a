"""Runs the adaptive attacks: `python -m benchmarks.adaptive --data DIR --json FILE`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.adaptive.denial import deny
from benchmarks.adaptive.run import BUDGET, own_guards, run
from benchmarks.adaptive.tables import tables
from benchmarks.adaptive.targets import Target, targets
from benchmarks.datasets import Dataset, load_folder, skerrin
from benchmarks.embedders import EMBEDDERS, MINILM, MiniLM, built_in, minilm_folder
from benchmarks.report.result import describe_run, write
from benchmarks.tables import as_rich
from ragguard import Guard
from ragguard.embedding import Embedder
from ragguard.errors import CalibrationError, RagguardError

__all__ = ["main"]

_MORE = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the attacks and return the exit status."""
    arguments = _parser().parse_args(argv)
    errors = Console(stderr=True)
    # The guard warns of many attacks in a row, which is what it is given here.
    logger = logging.getLogger("ragguard")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        sections, about = _measure(arguments, errors)
    except RagguardError as error:
        errors.print(f"error: {error}", style="red", markup=False)
        return 2
    finally:
        logger.setLevel(before)
    out = Console()
    for table in tables(sections):
        out.print(as_rich(table))
    if arguments.json is not None:
        write(arguments.json, about, {"adaptive": sections})
    return 0


def _measure(
    arguments: argparse.Namespace, errors: Console
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any]]:
    folder: Path | None = arguments.data
    datasets = [skerrin()] if folder is None else load_folder(folder)
    limit = arguments.limit
    chosen = [target for one in datasets for target in targets(one, limit)]
    # Few questions have their answer among the first k, and denying it takes few questions.
    denied = [target for one in datasets for target in targets(one, _MORE * limit)]
    denied = [target for target in denied if target.record.golden]
    with Progress(console=errors) as progress, ExitStack() as stack:
        embedders = _embedders(arguments, [*chosen, *denied], progress)
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
    about = describe_run(
        _command(arguments),
        [one.limited(limit) for one in datasets if one.kinds],
        seed=arguments.seed,
        limit=limit,
    )
    return sections, about


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


def _embedders(
    arguments: argparse.Namespace, chosen: Sequence[Target], progress: Progress
) -> list[Embedder]:
    embedders: list[Embedder] = [built_in()] if EMBEDDERS[0] in arguments.embedders else []
    folder = minilm_folder()
    if MINILM in arguments.embedders and folder is not None:
        model = MiniLM(folder)
        texts = [text for t in chosen for text in (t.record.question, *t.record.hits)]
        bar = progress.add_task("MiniLM vectors", total=len(set(texts)))
        model.prepare(texts, lambda done: progress.advance(bar, done))
        embedders.append(model)
    return embedders or [built_in()]


def _command(arguments: argparse.Namespace) -> list[str]:
    """Return the command as anybody would type it: the data folder goes by its name."""
    command = ["python", "-m", "benchmarks.adaptive"]
    if arguments.data is not None:
        command += ["--data", arguments.data.resolve().name]
    command += ["--limit", str(arguments.limit), "--budget", str(arguments.budget)]
    return [
        *command,
        "--embedders",
        ",".join(arguments.embedders),
        "--seed",
        str(arguments.seed),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adaptive", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--limit", type=int, default=6, help="targets a dataset (default: 6)")
    parser.add_argument(
        "--budget", type=int, default=BUDGET, help=f"of the attack 'wording' (default: {BUDGET})"
    )
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--embedders",
        type=lambda text: tuple(text.split(",")),
        default=EMBEDDERS,
        help="comma-separated: built-in, minilm (default: all that are installed)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
