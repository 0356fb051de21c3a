"""Section "attribution": does RAGOrigin find the poison, and does it leave the innocent alone?

Runnable alone: `python -m benchmarks.attribution --data DIR --limit N --json OUT`.

`benchmarks.misgeneration` says what an event is and what is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.attribution_events import (
    RESPONSES,
    Selection,
    clean_event,
    poisoned_events,
    single_events,
)
from benchmarks.attribution_rows import Outcomes, summary
from benchmarks.attribution_tables import tables
from benchmarks.command import Measured, add_half, new_parser, run_command
from benchmarks.misgeneration import MAX_SCOPE, TOP_K, Event, rounded
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.attribution.ragorigin.scope import MIN_SCOPE, Ranking, narrow_scope
from ragguard.attribution.ragorigin.support import SupportMeter
from ragguard.proxy import default

FIXED_SCOPE = 15


def run(selection: Selection, progress: Progress) -> dict[str, Any]:
    """Return the section's rows.

    Raises:
        InvalidInputError: A line of a file is not a record.
    """
    methods: dict[str, tuple[RAGOrigin, int]] = {
        "ragorigin": (RAGOrigin(top_k=TOP_K), MAX_SCOPE),
        f"scope of {FIXED_SCOPE}": (RAGOrigin(top_k=TOP_K), FIXED_SCOPE),
    }
    outcomes, single = Outcomes(), Outcomes()
    scopes: dict[tuple[str, str], list[tuple[int, float]]] = {}
    seconds: list[float] = []  # of processor time, which a busy machine distorts less
    for name, targets, base in selection.datasets():
        bar = progress.add_task(f"attribution: {name}", total=len(targets))
        for target in targets:
            for kind, form, attack in poisoned_events(target, base, selection.seed):
                for wording, respond in RESPONSES.items():
                    for method, (origin, reach) in methods.items():
                        found, took = _attribute(origin, reach, attack, respond)
                        stratum = {"kind": kind, "form": form, "response": wording}
                        outcomes.add(name, attack, found, **stratum, method=method)
                        if method == "ragorigin":
                            seconds.append(took)
                for rule, least in (("Eq. 4", 0), (f"at least {MIN_SCOPE}", MIN_SCOPE)):
                    scope = _scope(attack, least)
                    missed = len(attack.poison.difference(scope)) / len(attack.poison)
                    scopes.setdefault((form, rule), []).append((len(scope), missed))
            for form, attack in single_events(target, base, selection.seed):
                found, _ = _attribute(*methods["ragorigin"], attack, RESPONSES["short"])
                single.add(name, attack, found, form=form)
            unpoisoned = clean_event(target, base)
            for wording, respond in RESPONSES.items():
                for method, (origin, reach) in methods.items():
                    found, _ = _attribute(origin, reach, unpoisoned, respond)
                    outcomes.add(name, unpoisoned, found, response=wording, method=method)
            progress.advance(bar)
    poisoned, clean = outcomes.poisoned(), outcomes.clean()
    return {
        "poisoned": poisoned,
        "clean": clean,
        "single": single.poisoned(),
        "scopes": [
            {
                "form": form,
                "rule": rule,
                "events": len(reached),
                "size": rounded(mean(size for size, _ in reached)),
                "missed": rounded(mean(missed for _, missed in reached)),
            }
            for (form, rule), reached in scopes.items()
        ],
        "summary": summary(poisoned, clean, by=("data", "form", "response", "method")),
        "ms_per_event": {
            "median": rounded(1e3 * median(seconds)) if seconds else None,
            "p95": rounded(1e3 * float(np.quantile(seconds, 0.95))) if seconds else None,
        },
    }


def _attribute(
    origin: RAGOrigin, reach: int, event: Event, respond: Callable[[str], str]
) -> tuple[Attribution, float]:
    began = time.process_time()
    attribution = origin.attribute(
        event.question,
        respond(event.wrong),
        lambda query, limit: event.retrieve(query, min(limit, reach)),
    )
    return attribution, time.process_time() - began


def _scope(event: Event, least: int) -> list[str]:
    probe = SupportMeter(default(), event.question, event.wrong)
    scope = narrow_scope(
        Ranking(event.retrieve, event.question),
        probe,
        top_k=TOP_K,
        max_scope=MAX_SCOPE,
        min_scope=least,
    )
    return [passage.text for passage in scope.passages]


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the section "attribution"."""
    selection = Selection(arguments.data, arguments.limit, arguments.seed, arguments.half)
    with Progress(console=errors) as progress:
        return {"attribution": run(selection, progress)}, ()


def main(argv: Sequence[str] | None = None) -> int:
    """Run this section alone and return the exit status."""
    parser = new_parser("attribution", __doc__, own_data=True)
    add_half(parser)
    return run_command(parser, argv, measure, tables)


if __name__ == "__main__":
    sys.exit(main())
