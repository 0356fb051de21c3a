"""Does attribution hold where events are not of the usual kind?

Runnable: `python -m benchmarks.events --data DIR --json OUT`.

Strata and cases are defined in `benchmarks.strata`, events and measures in
`benchmarks.misgeneration`. In the rows, "planted" are the events with poison, pooled over datasets
within a case and form; where nothing was planted, any blame is false.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.attribution_events import Selection
from benchmarks.attribution_rows import source
from benchmarks.command import half_parser
from benchmarks.embedders import MiniLM, minilm_folder
from benchmarks.misgeneration import TOP_K, KnowledgeBase, Tally
from benchmarks.report.result import describe_run, write
from benchmarks.strata import STRATA, Setting
from ragguard.attribution import RAGOrigin

__all__ = ["main", "run"]


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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = half_parser("events", __doc__)
    parser.add_argument("--strata", default=",".join(STRATA), help="some of them, by comma")
    arguments = parser.parse_args(argv)
    strata = arguments.strata.split(",")
    if unknown := set(strata) - STRATA.keys():
        parser.error(f"no stratum {', '.join(sorted(unknown))}; there are {', '.join(STRATA)}")
    selection = Selection(arguments.data, arguments.limit, arguments.seed, arguments.half)
    errors, out = Console(stderr=True), Console()
    with Progress(console=errors) as progress:
        rows = run(selection, strata, progress)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.events", "--data", "DIR"]
        command += ["--strata", arguments.strata, "--half", str(arguments.half)]
        result = describe_run(command, [], seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, result, {"events": rows})
    for row in rows:
        out.print(
            f"{row['data']:6} {row['stratum']:19} {row['case']:28} {row['form']:7} "
            f"{row['events']:4} events, DACC {row['dacc']:.3f}, FPR {row['fpr']:.3f}, "
            f"FNR {row['fnr']:.3f}, {row['causes']}",
            highlight=False,
            soft_wrap=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
