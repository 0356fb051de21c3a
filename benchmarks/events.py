"""Does attribution hold where events are not of the usual kind?

Runnable: `python -m benchmarks.events --data DIR --json OUT`.

Strata and cases are defined in `benchmarks.strata`, events and measures in
`benchmarks.misgeneration`. In the rows, "planted" are the events with poison, pooled over datasets
within a case and form; where nothing was planted, any blame is false.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.attribution_events import Selection, Setting
from benchmarks.attribution_rows import source
from benchmarks.attribution_tables import tables
from benchmarks.command import Measured, add_half, choices, new_parser, run_command
from benchmarks.embedders import MiniLM, minilm_folder
from benchmarks.misgeneration import TOP_K, KnowledgeBase, Tally
from benchmarks.strata import STRATA
from ragguard.attribution import RAGOrigin


def run(selection: Selection, strata: Sequence[str], progress: Progress) -> list[dict[str, Any]]:
    """Return one row for every stratum, case, form and source of data.

    Args:
        selection: Which records are measured.
        strata: Names of `STRATA`.
        progress: Told about every record.

    Raises:
        InvalidInputError: A line of a file is not a record.
    """
    origin = RAGOrigin(top_k=TOP_K)
    folder = minilm_folder() if "other_retrievers" in strata else None
    minilm = None if folder is None else MiniLM(folder)
    tallies: dict[tuple[str, str, str, str], Tally] = {}
    for name, targets, base in selection.datasets():
        bases = {"built-in, dot product": KnowledgeBase(base.texts, dot=True)}
        if minilm is not None:
            bases["MiniLM, cosine"] = KnowledgeBase(base.texts, embedder=minilm)
            bases["MiniLM, dot product"] = KnowledgeBase(base.texts, embedder=minilm, dot=True)
        bar = progress.add_task(f"events: {name}", total=len(targets))
        for target in targets:
            others = [other for other in targets if other is not target]
            setting = Setting(base, bases, others, selection.seed)
            for stratum in strata:
                for reported in STRATA[stratum](target, setting):
                    found = origin.attribute(
                        target.question, reported.response, reported.event.retrieve
                    )
                    key = (source(name), stratum, reported.case, reported.form)
                    tallies.setdefault(key, Tally()).add(reported.event, found)
            progress.advance(bar)
    keys = ("data", "stratum", "case", "form")
    return [
        {**dict(zip(keys, key, strict=True)), **tally.row()}
        for key, tally in sorted(tallies.items())
    ]


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the rows of `run`, in the section "events"."""
    selection = Selection(arguments.data, arguments.limit, arguments.seed, arguments.half)
    with Progress(console=errors) as progress:
        return {"events": run(selection, arguments.strata, progress)}, ()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = new_parser("events", __doc__, own_data=True)
    add_half(parser)
    parser.add_argument(
        "--strata", type=choices(tuple(STRATA)), default=tuple(STRATA), help="some, by comma"
    )
    return run_command(parser, argv, measure, tables)


if __name__ == "__main__":
    sys.exit(main())
