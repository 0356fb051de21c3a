"""The filter and attribution in sections: `python -m benchmarks --data DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import attack, clean, cost
from benchmarks.command import add_forms, choices, positive, without_warnings
from benchmarks.datasets import Dataset, skerrin
from benchmarks.defences.contenders import PACKAGE, all_defences, package_version
from benchmarks.embedders import EMBEDDERS, MINILM, MiniLM, built_in, minilm_folder
from benchmarks.forms import DEFAULT_FORMS
from benchmarks.reading import load_with_reading
from benchmarks.report.result import describe_run, write
from benchmarks.retrieval import planted
from benchmarks.tables import as_rich, tables
from ragguard.embedding import Embedder
from ragguard.errors import RagguardError

__all__ = ["main"]

SECTIONS = ("clean", "attack", "attribution", "cost")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    arguments = _parser().parse_args(argv)
    errors = Console(stderr=True)
    try:
        with without_warnings():
            sections, run = _run(arguments, errors)
    except RagguardError as error:
        errors.print(f"error: {error}", style="red", markup=False)
        return 2
    out = Console()
    for table in tables(sections):
        out.print(as_rich(table))
    if arguments.json is not None:
        write(arguments.json, run, sections)
    return 0


def _run(arguments: argparse.Namespace, errors: Console) -> tuple[dict[str, Any], dict[str, Any]]:
    folder: Path | None = arguments.data
    limit: int | None = arguments.limit
    found = [] if folder is None else load_with_reading(folder)
    datasets = [dataset.limited(limit) for dataset in (*found, skerrin())]
    sections: dict[str, Any] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        ExitStack() as stack,
        Progress(*columns, TimeElapsedColumn(), console=errors) as progress,
    ):
        missing = _missing(arguments)
        for name, why in missing.items():
            progress.console.print(f"{name}: {why}", style="yellow")
        embedders = _embedders(arguments, datasets, progress)
        defences = all_defences(stack, package=not arguments.no_package)
        records = sum(len(dataset.report) for dataset in datasets) * len(embedders)
        if "clean" in arguments.sections:
            bar = progress.add_task("clean", total=records)
            sections["clean"] = clean.run(
                datasets, embedders, defences, lambda: progress.advance(bar)
            )
        if "attack" in arguments.sections:
            attacked = [dataset for dataset in datasets if dataset.kinds]
            bar = progress.add_task(
                "attack", total=sum(len(dataset.report) for dataset in attacked) * len(embedders)
            )
            sections["attack"] = attack.run(
                attacked, embedders, defences, arguments.forms, lambda: progress.advance(bar)
            )
        if "attribution" in arguments.sections:
            from benchmarks import attribution
            from benchmarks.attribution_events import Selection

            selection = Selection(folder, limit, arguments.seed)
            sections["attribution"] = attribution.run(selection, progress)
        if "cost" in arguments.sections:
            attacked = [dataset for dataset in datasets if dataset.kinds]
            bar = progress.add_task("cost", total=cost.steps(limit))
            sections["cost"] = cost.run(
                attacked,
                embedders[-1],
                defences,
                lambda: progress.advance(bar),
                limit=limit,
                seed=arguments.seed,
            )
    run = describe_run(_command(arguments), datasets, seed=arguments.seed, limit=limit)
    run["missing"] = missing
    return sections, run


def _missing(arguments: argparse.Namespace) -> dict[str, str]:
    missing = {}
    if MINILM in arguments.embedders and minilm_folder() is None:
        missing[MINILM] = "not installed"
    if not arguments.no_package and package_version() is None:
        missing[PACKAGE] = "not installed"
    return missing


def _embedders(
    arguments: argparse.Namespace, datasets: Sequence[Dataset], progress: Progress
) -> list[Embedder]:
    embedders: list[Embedder] = [built_in()] if EMBEDDERS[0] in arguments.embedders else []
    folder = minilm_folder()
    if MINILM in arguments.embedders and folder is not None:
        model = MiniLM(folder)
        texts = _texts(datasets, arguments.forms if "attack" in arguments.sections else ())
        bar = progress.add_task("MiniLM vectors", total=len(texts))
        model.prepare(texts, lambda done: progress.advance(bar, done))
        embedders.append(model)
    return embedders or [built_in()]


def _texts(datasets: Sequence[Dataset], forms: Sequence[str]) -> dict[str, None]:
    """Return every text that the inline sections embed, once and in order."""
    texts: dict[str, None] = {}
    for dataset in datasets:
        for record in dataset.report:
            texts |= dict.fromkeys((record.question, *record.hits))
            for kind in dataset.kinds:
                for form in forms:
                    texts |= dict.fromkeys(planted(record, kind, form, max(attack.COUNTS)))
    return texts


def _command(arguments: argparse.Namespace) -> list[str]:
    """Return the command as anybody would type it: the data folder goes by its name."""
    command = ["python", "-m", "benchmarks"]
    if arguments.data is not None:
        command += ["--data", arguments.data.resolve().name]
    if arguments.limit is not None:
        command += ["--limit", str(arguments.limit)]
    command += ["--sections", ",".join(arguments.sections), "--forms", ",".join(arguments.forms)]
    command += ["--embedders", ",".join(arguments.embedders), "--seed", str(arguments.seed)]
    return command + (["--no-package"] if arguments.no_package else [])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--limit", type=positive, help="records a dataset at most, for quick runs")
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sections",
        type=choices(SECTIONS),
        default=SECTIONS,
        help=f"comma-separated: {', '.join(SECTIONS)} (default: all)",
    )
    add_forms(parser, DEFAULT_FORMS)
    parser.add_argument(
        "--embedders",
        type=choices(EMBEDDERS),
        default=EMBEDDERS,
        help=f"comma-separated: {', '.join(EMBEDDERS)} (default: all that are installed)",
    )
    parser.add_argument(
        "--no-package",
        action="store_true",
        help=f"leave the published {PACKAGE} package out (it needs torch)",
    )
    return parser
