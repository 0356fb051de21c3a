"""How often the one poisoned passage among five ranks first: the Influence Score and others.

Runnable alone: `python -m benchmarks.influence --data DIR --json FILE`.

The form is that of Table 1 in the Influence Score's paper: five retrieved passages, one of them
replaced by a poison text, and a generator that gives the wrong answer. There is no language model:
two stand-ins (`benchmarks.stand_ins`) sample answers from the passages, the demo's reader and a
generator that knows the right and the wrong answer only. So the figures tell how the methods rank
on generators of known behaviour; the paper's were measured on large models.

An event counts if the poison says the wrong answer and the first answer that the generator samples
with all five passages does so too. Ties share their ranks: of two passages that score highest,
each ranks first half of the time.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.attributors.ablation import AblationScore, LeaveOneOut
from benchmarks.forms import DEFAULT_FORMS, FORMS
from benchmarks.influence_rows import Tally, table
from benchmarks.metrics.says import says
from benchmarks.report.result import describe_run, write
from benchmarks.stand_ins import SamplingGenerator, reader_support, two_answers_support
from benchmarks.targets import Target, load_targets
from ragguard.attribution import Attribution, InfluenceScore, RAGOrigin
from ragguard.attribution.prompts import short_answer_prompt
from ragguard.attribution.result import Attributor
from ragguard.attribution.semantic_entropy import cluster_by_similarity, gist, semantic_entropy
from ragguard.embedding import HashedEmbedder
from ragguard.passage import Passage

__all__ = ["Event", "events", "main", "run"]

_Key = tuple[str, float, str, str]

DATASETS = ("nq", "hotpotqa", "msmarco", "realtimeqa")
KINDS = ("poisonedrag", "gpt4", "gemini", "statement")
TOP_K = 5
PRINTED = "influence, Eq. 6 alone"
"""Answers that abstain count as one meaning like any other."""


@dataclass(frozen=True)
class Event:
    """The ranking behind a question, one of the first five passages planted.

    Attributes:
        target: The question and its answers.
        passages: Best first. RAGOrigin reads on past the first five, the others do not.
        poisoned: Which of the first five was planted.
    """

    target: Target
    passages: tuple[Passage, ...]
    poisoned: int

    def retrieve(self, query: str, limit: int) -> Sequence[Passage]:
        """Return the passages; the query is the event's."""
        del query
        return self.passages[:limit]


def events(target: Target, seed: int) -> Iterator[tuple[str, Event]]:
    """Yield (form, event): one of the five best hits is replaced by a text of each kind."""
    if len(target.hits) < TOP_K:
        return
    embedder = HashedEmbedder()
    similarity = embedder.embed(target.hits) @ embedder.embed([target.question])[0]
    order = np.argsort(-similarity, kind="stable")
    for kind in KINDS:
        stating = [text for text in target.poison.get(kind, ()) if says(text, target.wrong)]
        if not stating:
            continue
        place = Random(f"{seed} {kind} {target.question}").randrange(TOP_K)
        for form in DEFAULT_FORMS:
            texts = [target.hits[i] for i in order]
            texts[place] = FORMS[form](target.question, stating[0])
            yield form, Event(target, tuple(map(Passage, texts)), place)


def run(
    folder: Path | None,
    *,
    half: int,
    limit: int | None,
    samples: int,
    temperatures: Sequence[float],
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Return ranks and costs by generator, temperature, dataset, form and method.

    Args:
        folder: Folder of datasets; None: the project's own alone.
        half: 1 reports the odd records, 0 the even ones.
        limit: Records of a dataset at most.
        samples: N, answers sampled for each set of passages.
        temperatures: Of the stand-ins.
        seed: Of which passage is replaced, and of every answer.
        progress: Told about every record.
    """
    tallies: dict[_Key, dict[str, Tally]] = defaultdict(lambda: defaultdict(Tally))
    attempts: Counter[_Key] = Counter()
    accounts: list[dict[str, float]] = []
    for name, targets in load_targets(folder, DATASETS, half=half, limit=limit):
        bar = progress.add_task(name, total=len(targets))
        reader = reader_support(dict.fromkeys(t for target in targets for t in target.hits))
        for target in targets:
            supports = {
                "reader": reader,
                "two answers": two_answers_support(target.right, target.wrong),
            }
            for kind, temperature in product(supports, temperatures):
                generator = SamplingGenerator(supports[kind], temperature=temperature, seed=seed)
                for form, event in events(target, seed):
                    key = (kind, temperature, name, form)
                    attempts[key] += 1
                    response = generator(_prompt(event, range(TOP_K))).content
                    if not says(response, target.wrong):
                        continue
                    accounts.append(_account(event, samples))
                    for method, scores, found in _ranked(event, response, generator, samples):
                        tallies[key][method].add(scores, event.poisoned, found)
            progress.advance(bar)
    keys = ("generator", "temperature", "dataset", "form")
    return {
        "ranks": [
            {**dict(zip(keys, key, strict=True)), "method": method, **tally.row()}
            for key, by_method in tallies.items()
            for method, tally in by_method.items()
        ],
        "events": [
            {
                **dict(zip(keys, key, strict=True)),
                "attempts": count,
                "wrong_answers": len(tallies[key]["influence"].shares),
            }
            for key, count in attempts.items()
        ],
        "accounting": {
            key: round(mean(account[key] for account in accounts), 1)
            for key in (accounts[0] if accounts else ())
        },
    }


def _ranked(
    event: Event, response: str, generator: SamplingGenerator, samples: int
) -> Iterator[tuple[str, Sequence[float], Attribution | None]]:
    methods: Mapping[str, Attributor] = {
        "influence": InfluenceScore(
            generate=generator, samples=samples, top_k=TOP_K, concurrency=1
        ),
        "leave-one-out, proxy": LeaveOneOut(top_k=TOP_K),
        "leave-one-out, generator": LeaveOneOut(generate=generator, top_k=TOP_K),
        "ablation, proxy": AblationScore(top_k=TOP_K),
        "ablation, generator": AblationScore(generate=generator, top_k=TOP_K),
        "ragorigin": RAGOrigin(top_k=TOP_K),
    }
    question = event.target.question
    for name, method in methods.items():
        found = method.attribute(question, response, event.retrieve)
        yield name, [score.responsibility for score in found.scores[:TOP_K]], found
        if name == "influence":
            entropies = [_entropy(question, generator, _prompt(event, [i])) for i in range(TOP_K)]
            yield PRINTED, [-entropy for entropy in entropies], None
            yield "share of repeats", found.details["repeats_alone"], None


def _entropy(question: str, generator: SamplingGenerator, prompt: str) -> float:
    """Return the entropy of the answers that were sampled, by Eq. 6 and nothing else."""
    gists = [gist(question, answer) for answer in generator.drawn[prompt]]
    return semantic_entropy(cluster_by_similarity(HashedEmbedder().embed(gists), 0.8))


def _prompt(event: Event, places: Sequence[int]) -> str:
    return short_answer_prompt(event.target.question, [event.passages[i].text for i in places])


def _account(event: Event, samples: int) -> dict[str, float]:
    """Return sets of passages, calls and words read: by the paper's count, by Eq. 6, and here."""
    everything = range(TOP_K)
    together, alone = [tuple(everything)], [(i,) for i in everything]
    without = [tuple(j for j in everything if j != i) for i in everything]
    found: dict[str, float] = {}
    for name, sets in (
        ("paper, 2k + 1", together + alone + without),
        ("Eq. 6, k + 1", together + alone),
        ("here, k + 2", [*together, *alone, ()]),
    ):
        words = sum(len(_prompt(event, places).split()) for places in sets)
        found |= {
            f"{name}: sets": len(sets),
            f"{name}: calls": samples * len(sets),
            f"{name}: words read": samples * words,
        }
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.influence", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--limit", type=int, help="records a dataset at most")
    parser.add_argument("--half", type=int, choices=(0, 1), default=1, help="1: the report half")
    parser.add_argument("--samples", type=int, default=10, help="answers for each set of passages")
    parser.add_argument(
        "--temperatures",
        type=lambda text: [float(part) for part in text.split(",")],
        default=[0.05, 0.1],
        help="of the stand-ins",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    with Progress(console=Console(stderr=True)) as progress:
        result = run(
            arguments.data,
            half=arguments.half,
            limit=arguments.limit,
            samples=arguments.samples,
            temperatures=arguments.temperatures,
            seed=arguments.seed,
            progress=progress,
        )
    console = Console()
    console.print(table(result["ranks"]))
    console.print_json(data=result["accounting"])
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.influence"]
        command += [] if arguments.data is None else ["--data", arguments.data.resolve().name]
        command += [] if arguments.limit is None else ["--limit", str(arguments.limit)]
        command += ["--half", str(arguments.half), "--samples", str(arguments.samples)]
        command += ["--temperatures", ",".join(map(str, arguments.temperatures))]
        command += ["--seed", str(arguments.seed)]
        about = describe_run(command, (), seed=arguments.seed, limit=arguments.limit)
        about["generators"] = "stand-ins that sample answers from the passages; no language model"
        write(arguments.json, about, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
