"""Section "attribution": does RAGOrigin find the poison, and does it leave the innocent alone?

Runnable alone: `python -m benchmarks.attribution --data DIR --limit N --json OUT`.

The knowledge base of an event is every hit of every question of its dataset, plus the poison
planted for this one question, ranked by one embedder. An event counts if at least two of its
poison passages come among the first K and state the wrong answer; that answer is what is reported.

Measures are those of the RAGOrigin paper (Section 6.1.4), over the texts of the scope. Poison that
the scope did not reach cannot be found: it counts as false negative, and enters DACC as an error.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.forms import DEFAULT_FORMS, FORMS
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.attribution.scope import MIN_SCOPE, LikelihoodProbe, Ranking, narrow_scope
from ragguard.attribution.support import SupportMeter
from ragguard.demo.corpus import load_corpus
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.jsonl import open_input, read_lines
from ragguard.passage import Passage
from ragguard.proxy import default
from ragguard.proxy.words import tokenize

__all__ = ["Event", "clean_events", "main", "poisoned_events", "run"]

DATASETS = ("nq", "hotpotqa", "msmarco", "realtimeqa", "simpleqa")
OWN = "skerrin"
MAIN_KINDS = ("poisonedrag", "gpt4", "gemini", "statement")
"""Kinds whose every text argues for the wrong answer; the summary is over these."""

TOP_K = 5
PLANTED = 5
FIXED_SCOPE = 15
_MAX_SCOPE = 200

RESPONSES: Mapping[str, Callable[[str], str]] = {
    "short": lambda answer: answer,
    "sentence": lambda answer: f"Based on the provided context, the answer is {answer}.",
}
"""How the generator words the wrong answer that is reported."""


@dataclass(frozen=True)
class Target:
    """A question, the wrong answer to it, and the texts that an attacker plants, by kind."""

    question: str
    wrong: str
    poison: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Event:
    """A reported response and the knowledge base behind it.

    Attributes:
        question: What was asked.
        wrong: The wrong answer that was given.
        ranked: The best passages of the knowledge base, best first.
        poison: The planted texts.
    """

    question: str
    wrong: str
    ranked: tuple[Passage, ...]
    poison: frozenset[str]

    def retrieve(self, query: str, limit: int) -> Sequence[Passage]:
        """Return the `limit` best passages; the query is the event's."""
        del query
        return self.ranked[:limit]


class KnowledgeBase:
    """Texts that any question can be ranked against, embedded once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._embedder = HashedEmbedder()
        self._passages = [Passage(text) for text in texts]
        self._rows = self._embedder.embed(texts)

    def ranked(self, question: str, poison: Sequence[str]) -> tuple[Passage, ...]:
        """Return the best passages for `question`; of equally similar ones, poison comes last."""
        rows = self._embedder.embed([question, *poison])
        passages = [*self._passages, *map(Passage, poison)]
        similarity = np.concatenate([self._rows, rows[1:]]) @ rows[0]
        best = np.argsort(-similarity, kind="stable")[:_MAX_SCOPE]
        return tuple(passages[i] for i in best)


@dataclass
class Tally:
    """Counts over the events of one stratum."""

    events: int = 0
    accuracy: list[float] = field(default_factory=list)
    found: int = 0
    wronged: int = 0
    benign: int = 0
    poison: int = 0
    missed_by_scope: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    scope: list[int] = field(default_factory=list)

    def add(self, event: Event, attribution: Attribution) -> None:
        """Count one attribution."""
        planted = [score.passage.text in event.poison for score in attribution.scores]
        blamed = [score.responsible for score in attribution.scores]
        missed = len(event.poison) - sum(planted)
        right = sum(p == b for p, b in zip(planted, blamed, strict=True))
        self.events += 1
        self.accuracy.append(right / max(1, len(planted) + missed))
        self.found += sum(p and b for p, b in zip(planted, blamed, strict=True))
        self.wronged += sum(b and not p for p, b in zip(planted, blamed, strict=True))
        self.benign += planted.count(False)
        self.poison += len(event.poison)
        self.missed_by_scope += missed
        self.causes[attribution.cause] = self.causes.get(attribution.cause, 0) + 1
        self.scope.append(attribution.scope_size)

    def row(self) -> dict[str, Any]:
        """Return the measures: DACC is a mean over events, the others are over all texts."""
        return {
            "events": self.events,
            "dacc": _rounded(mean(self.accuracy)),
            "fpr": _rounded(self.wronged / max(1, self.benign)),
            "fnr": _rounded(1.0 - self.found / max(1, self.poison)),
            "precision": _rounded(self.found / max(1, self.found + self.wronged)),
            "recall": _rounded(self.found / max(1, self.poison)),
            "missed_by_scope": _rounded(self.missed_by_scope / max(1, self.poison)),
            "scope": _rounded(mean(self.scope)),
            "causes": self.causes,
        }


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
        "ragorigin": (RAGOrigin(top_k=TOP_K), _MAX_SCOPE),
        f"scope of {FIXED_SCOPE}": (RAGOrigin(top_k=TOP_K), FIXED_SCOPE),
        "paper weighting": (RAGOrigin(top_k=TOP_K, weighting="paper"), _MAX_SCOPE),
    }
    poisoned: list[dict[str, Any]] = []
    clean: list[dict[str, Any]] = []
    scopes: dict[tuple[str, str], list[tuple[int, float]]] = {}
    seconds: list[float] = []
    for name, targets, base in _datasets(data_dir, limit, half):
        bar = progress.add_task(f"attribution: {name}", total=len(targets))
        strata: dict[tuple[str, str, str, str], Tally] = {}
        blamed: dict[tuple[str, str], list[bool]] = {}
        for target in targets:
            for kind, form, event in poisoned_events(target, base, seed):
                for wording, respond in RESPONSES.items():
                    for method, (origin, reach) in methods.items():
                        attribution, took = _attribute(origin, event, respond, reach)
                        strata.setdefault((kind, form, wording, method), Tally()).add(
                            event, attribution
                        )
                        if method == "ragorigin":
                            seconds.append(took)
                for rule, least in (("Eq. 4", 0), (f"at least {MIN_SCOPE}", MIN_SCOPE)):
                    scope = _scope(event, least)
                    missed = len(event.poison.difference(scope)) / len(event.poison)
                    scopes.setdefault((form, rule), []).append((len(scope), missed))
            for event in clean_events(target, base):
                for wording, respond in RESPONSES.items():
                    for method, (origin, reach) in methods.items():
                        attribution, took = _attribute(origin, event, respond, reach)
                        blamed.setdefault((wording, method), []).append(
                            bool(attribution.responsible)
                        )
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
                "blamed": _rounded(mean(outcomes)),
            }
            for (wording, method), outcomes in blamed.items()
        ]
    return {
        "poisoned": poisoned,
        "clean": clean,
        "scopes": [
            {
                "form": form,
                "rule": rule,
                "events": len(found),
                "size": _rounded(mean(size for size, _ in found)),
                "missed": _rounded(mean(missed for _, missed in found)),
            }
            for (form, rule), found in scopes.items()
        ],
        "summary": _summary(poisoned, clean),
        "ms_per_event": {
            "median": _rounded(1e3 * median(seconds)) if seconds else None,
            "p95": _rounded(1e3 * float(np.quantile(seconds, 0.95))) if seconds else None,
        },
    }


def poisoned_events(
    target: Target, base: KnowledgeBase, seed: int
) -> Iterator[tuple[str, str, Event]]:
    """Yield (kind, form, event) for every attack on `target` that got through."""
    for kind, texts in target.poison.items():
        chosen = _planted(target, kind, texts, seed)
        for form in DEFAULT_FORMS:
            poison = list(dict.fromkeys(FORMS[form](target.question, text) for text in chosen))
            ranked = base.ranked(target.question, poison)
            stating = [
                passage
                for passage in ranked[:TOP_K]
                if passage.text in poison and _states(passage.text, target.wrong)
            ]
            if len(stating) >= 2:
                yield kind, form, Event(target.question, target.wrong, ranked, frozenset(poison))


def clean_events(target: Target, base: KnowledgeBase) -> Iterator[Event]:
    """Yield the event in which the wrong answer is reported though nothing was planted."""
    yield Event(target.question, target.wrong, base.ranked(target.question, ()), frozenset())


def _planted(target: Target, kind: str, texts: Sequence[str], seed: int) -> list[str]:
    usable = list(dict.fromkeys(text for text in texts if text.strip()))
    if len(usable) <= PLANTED:
        return usable
    return random.Random(f"{seed} {kind} {target.question}").sample(usable, PLANTED)


def _states(text: str, answer: str) -> bool:
    return f" {' '.join(tokenize(answer))} " in f" {' '.join(tokenize(text))} "


def _attribute(
    origin: RAGOrigin, event: Event, respond: Callable[[str], str], reach: int
) -> tuple[Attribution, float]:
    began = time.perf_counter()
    attribution = origin.attribute(
        event.question,
        respond(event.wrong),
        lambda query, limit: event.retrieve(query, min(limit, reach)),
    )
    return attribution, time.perf_counter() - began


def _scope(event: Event, least: int) -> list[str]:
    probe = LikelihoodProbe(SupportMeter(default(), event.question, event.wrong))
    scope = narrow_scope(
        Ranking(event.retrieve, event.question),
        probe,
        top_k=TOP_K,
        max_scope=_MAX_SCOPE,
        min_scope=least,
    )
    return [passage.text for passage in scope.passages]


def _summary(
    poisoned: Sequence[Mapping[str, Any]], clean: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the mean over datasets, each being the mean over its main kinds."""
    groups: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in poisoned:
        if row["kind"] not in MAIN_KINDS:
            continue
        key = (row["form"], row["response"], row["method"])
        groups.setdefault(key, {}).setdefault(row["dataset"], []).append(row["dacc"])
    blamed: dict[tuple[str, str], list[float]] = {}
    for row in clean:
        blamed.setdefault((row["response"], row["method"]), []).append(row["blamed"])
    return [
        {
            "form": form,
            "response": response,
            "method": method,
            "dacc": _rounded(mean(mean(values) for values in by_dataset.values())),
            "clean_blamed": _rounded(mean(blamed[response, method])),
        }
        for (form, response, method), by_dataset in groups.items()
    ]


def _rounded(value: float) -> float:
    return round(float(value), 4)


def _datasets(
    data_dir: Path | None, limit: int | None, half: int
) -> Iterator[tuple[str, list[Target], KnowledgeBase]]:
    for name in DATASETS:
        path = None if data_dir is None else data_dir / f"{name}.jsonl"
        if path is not None and path.is_file():
            records = list(_records(path))
            texts = dict.fromkeys(text for _, hits in records for text in hits)
            targets = [target for target, _ in records[half::2]]
            yield name, targets[:limit], KnowledgeBase(list(texts))
    corpus = load_corpus()
    own = [
        Target(question.text, question.incorrect_answer, dict(question.texts))
        for question in corpus.questions
    ]
    texts = dict.fromkeys(passage.text for passage in corpus.passages)
    yield OWN, own[:limit], KnowledgeBase(list(texts))


def _records(path: Path) -> Iterator[tuple[Target, list[str]]]:
    with open_input(path) as stream:
        for line in read_lines(stream, str(path)):
            value = line.value
            try:
                poison = {kind: tuple(texts) for kind, texts in value["poison"].items()}
                target = Target(value["question"], value["incorrect_answer"], poison)
                yield target, [hit["text"] for hit in value["hits"]]
            except (AttributeError, KeyError, TypeError) as error:
                raise InvalidInputError(
                    f'{line.place}: expected an object with "question", "incorrect_answer", '
                    f'"hits" and "poison" ({error!r})'
                ) from error


def main(argv: Sequence[str] | None = None) -> int:
    """Run this section alone and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attribution", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--limit", type=int, help="records a dataset at most")
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--half",
        type=int,
        choices=(0, 1),
        default=1,
        help="1: the odd records, which are reported; 0: the even, which constants come from",
    )
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
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    out.print_json(data={key: result[key] for key in ("summary", "scopes", "ms_per_event")})
    return 0


if __name__ == "__main__":
    sys.exit(main())
