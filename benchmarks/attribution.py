"""Section "attribution": does RAGOrigin find the poison, and does it leave the innocent alone?

Runnable alone: `python -m benchmarks.attribution --data DIR --limit N --json OUT`.

`benchmarks.misgeneration` says what an event is and what is measured.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.command import half_parser
from benchmarks.forms import DEFAULT_FORMS
from benchmarks.misgeneration import (
    MAIN_KINDS,
    MAX_SCOPE,
    OWN,
    TOP_K,
    Event,
    KnowledgeBase,
    Tally,
    Target,
    chosen,
    datasets,
    event,
    in_form,
    rounded,
    states,
)
from benchmarks.report import describe_run, write
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.attribution.scope import MIN_SCOPE, LikelihoodProbe, Ranking, narrow_scope
from ragguard.attribution.support import SupportMeter
from ragguard.proxy import default

__all__ = ["RESPONSES", "clean_event", "main", "poisoned_events", "run", "single_events"]

FIXED_SCOPE = 15
_MEASURES = ("dacc", "fpr", "fnr", "fnr_stating")

RESPONSES: Mapping[str, Callable[[str], str]] = {
    "short": lambda answer: answer,
    "sentence": lambda answer: f"Based on the provided context, the answer is {answer}.",
}
"""How the generator words the wrong answer that is reported."""


def run(
    data_dir: Path | None,
    *,
    limit: int | None,
    seed: int,
    progress: Progress,
    half: int = 1,
) -> dict[str, Any]:
    """Return the section's rows.

    Args:
        data_dir: Folder of datasets; None: only the project's own.
        limit: Reported records of a dataset at most.
        seed: Chooses which five texts are planted where an attack has more.
        progress: Told about every record.
        half: 1 reports the odd records; the even ones are what the constants were chosen on.

    Raises:
        InvalidInputError: A line of a file is not a record.
    """
    methods: dict[str, tuple[RAGOrigin, int]] = {
        "ragorigin": (RAGOrigin(top_k=TOP_K), MAX_SCOPE),
        f"scope of {FIXED_SCOPE}": (RAGOrigin(top_k=TOP_K), FIXED_SCOPE),
        "paper weighting": (RAGOrigin(top_k=TOP_K, weighting="paper"), MAX_SCOPE),
    }
    poisoned: list[dict[str, Any]] = []
    clean: list[dict[str, Any]] = []
    scopes: dict[tuple[str, str], list[tuple[int, float]]] = {}
    single: dict[tuple[str, str], Tally] = {}
    seconds: list[float] = []  # of processor time, which a busy machine distorts less
    for name, targets, texts in datasets(data_dir, limit, half):
        base = KnowledgeBase(texts)
        bar = progress.add_task(f"attribution: {name}", total=len(targets))
        strata: dict[tuple[str, str, str, str], Tally] = {}
        blamed: dict[tuple[str, str], list[bool]] = {}
        for target in targets:
            for kind, form, attack in poisoned_events(target, base, seed):
                for wording, respond in RESPONSES.items():
                    for method, (origin, reach) in methods.items():
                        attribution, took = _attribute(origin, attack, respond, reach)
                        strata.setdefault((kind, form, wording, method), Tally()).add(
                            attack, attribution
                        )
                        if method == "ragorigin":
                            seconds.append(took)
                for rule, least in (("Eq. 4", 0), (f"at least {MIN_SCOPE}", MIN_SCOPE)):
                    scope = _scope(attack, least)
                    missed = len(attack.poison.difference(scope)) / len(attack.poison)
                    scopes.setdefault((form, rule), []).append((len(scope), missed))
            for form, attack in single_events(target, base, seed):
                attribution, _ = _attribute(
                    methods["ragorigin"][0], attack, RESPONSES["short"], MAX_SCOPE
                )
                single.setdefault((name, form), Tally()).add(attack, attribution)
            unpoisoned = clean_event(target, base)
            for wording, respond in RESPONSES.items():
                for method, (origin, reach) in methods.items():
                    attribution, _ = _attribute(origin, unpoisoned, respond, reach)
                    blamed.setdefault((wording, method), []).append(bool(attribution.responsible))
            progress.advance(bar)
        keys = ("kind", "form", "response", "method")
        poisoned += [
            {"dataset": name, **dict(zip(keys, key, strict=True)), **tally.row()}
            for key, tally in strata.items()
        ]
        clean += [
            {
                "dataset": name,
                "response": wording,
                "method": method,
                "events": len(outcomes),
                "blamed": rounded(mean(outcomes)),
            }
            for (wording, method), outcomes in blamed.items()
        ]
    return {
        "poisoned": poisoned,
        "clean": clean,
        "single": [
            {"dataset": name, "form": form, **tally.row()} for (name, form), tally in single.items()
        ],
        "scopes": [
            {
                "form": form,
                "rule": rule,
                "events": len(found),
                "size": rounded(mean(size for size, _ in found)),
                "missed": rounded(mean(missed for _, missed in found)),
            }
            for (form, rule), found in scopes.items()
        ],
        "summary": _summary(poisoned, clean),
        "ms_per_event": {
            "median": rounded(1e3 * median(seconds)) if seconds else None,
            "p95": rounded(1e3 * float(np.quantile(seconds, 0.95))) if seconds else None,
        },
    }


def poisoned_events(
    target: Target, base: KnowledgeBase, seed: int
) -> Iterator[tuple[str, str, Event]]:
    """Yield (kind, form, event) for every attack on `target` that got through."""
    for kind in target.poison:
        texts = chosen(target, kind, seed)
        for form in DEFAULT_FORMS:
            found = event(target, base, in_form(target, form, texts))
            if found is not None:
                yield kind, form, found


def single_events(target: Target, base: KnowledgeBase, seed: int) -> Iterator[tuple[str, Event]]:
    """Yield (form, event) for one text of each main kind that states the answer and is read."""
    for kind in MAIN_KINDS:
        if kind not in target.poison:
            continue
        stating = [text for text in chosen(target, kind, seed) if states(text, target.wrong)]
        for form in DEFAULT_FORMS:
            poison = in_form(target, form, stating[:1])
            ranked = base.ranked(target.question, poison)
            if any(passage.text in poison for passage in ranked[:TOP_K]):
                yield form, Event(target.question, target.wrong, ranked, frozenset(poison))


def clean_event(target: Target, base: KnowledgeBase) -> Event:
    """Return the event in which the wrong answer is reported though nothing was planted."""
    return Event(target.question, target.wrong, base.ranked(target.question, ()), frozenset())


def _attribute(
    origin: RAGOrigin, event: Event, respond: Callable[[str], str], reach: int
) -> tuple[Attribution, float]:
    began = time.process_time()
    attribution = origin.attribute(
        event.question,
        respond(event.wrong),
        lambda query, limit: event.retrieve(query, min(limit, reach)),
    )
    return attribution, time.process_time() - began


def _scope(event: Event, least: int) -> list[str]:
    probe = LikelihoodProbe(SupportMeter(default(), event.question, event.wrong))
    scope = narrow_scope(
        Ranking(event.retrieve, event.question),
        probe,
        top_k=TOP_K,
        max_scope=MAX_SCOPE,
        min_scope=least,
    )
    return [passage.text for passage in scope.passages]


def _summary(
    poisoned: Sequence[Mapping[str, Any]], clean: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the mean over datasets, each being the mean over its main kinds; our own apart."""
    groups: dict[tuple[str, ...], dict[str, list[list[float]]]] = {}
    for row in poisoned:
        if row["kind"] not in MAIN_KINDS:
            continue
        key = (_source(row), row["form"], row["response"], row["method"])
        measures = [row[measure] for measure in _MEASURES]
        groups.setdefault(key, {}).setdefault(row["dataset"], []).append(measures)
    blamed: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in clean:
        blamed.setdefault((_source(row), row["response"], row["method"]), []).append(row)
    rows = []
    for (source, form, response, method), by_dataset in groups.items():
        means = np.mean([np.mean(values, axis=0) for values in by_dataset.values()], axis=0)
        unpoisoned = blamed[source, response, method]
        events = sum(row["events"] for row in unpoisoned)
        rows.append(
            {
                "data": source,
                "form": form,
                "response": response,
                "method": method,
                **dict(zip(_MEASURES, map(rounded, means), strict=True)),
                "clean_blamed": rounded(mean(row["blamed"] for row in unpoisoned)),
                "clean_blamed_pooled": rounded(
                    sum(row["blamed"] * row["events"] for row in unpoisoned) / events
                ),
            }
        )
    return rows


def _source(row: Mapping[str, Any]) -> str:
    return "own" if row["dataset"] == OWN else "public"


def main(argv: Sequence[str] | None = None) -> int:
    """Run this section alone and return the exit status."""
    parser = half_parser("attribution", __doc__)
    arguments = parser.parse_args(argv)
    errors, out = Console(stderr=True), Console()
    with Progress(console=errors) as progress:
        result = run(
            arguments.data,
            limit=arguments.limit,
            seed=arguments.seed,
            progress=progress,
            half=arguments.half,
        )
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.attribution", "--data", "DIR"]
        command += ["--half", str(arguments.half)]
        about = describe_run(command, [], seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, about, {"attribution": result})
    out.print_json(
        data={key: result[key] for key in ("summary", "single", "scopes", "ms_per_event")}
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
