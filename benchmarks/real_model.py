"""RAGForensics, RAGOrigin and the Influence Score with a small language model that runs anywhere.

Runnable alone: `python -m benchmarks.real_model --data DIR --model smollm2 --json FILE`. The model
is one that `ragguard proxy get` exported. It is asked over HTTP by the OpenAI-compatible protocol,
as a model of a provider would be, and is judge and generator here.

The forms are those of Table 1 in RAGForensics' paper, on the events of `benchmarks.misgeneration`,
and of Table 1 in the Influence Score's (`benchmarks.influence`). Of each dataset the first records
are taken, each with one kind of attack, drawn by the seed, with the question in front and plain. An
event of the Influence Score counts if the model itself is misled.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.attribution_events import Selection, of_one_kind, poisoned_events
from benchmarks.chat import served
from benchmarks.influence import Ranks, events
from benchmarks.metrics.says import says
from benchmarks.misgeneration import OWN, TOP_K, Tally
from benchmarks.report.result import describe_run, write
from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.attribution.prompts import answer_prompt, short_answer_prompt
from ragguard.attribution.result import Attributor
from ragguard.demo.corpus import load_corpus
from ragguard.proxy import OnnxGenerator, OnnxProxy
from ragguard.proxy.named import export_folder

__all__ = ["main", "run", "speed", "spoken"]

JUDGE_TOKENS = 96
ANSWER_TOKENS = 24


def speed(folder: Path, threads: int) -> dict[str, Any]:
    """Return seconds a scope of 15 passages takes, and tokens read and written a second.

    By the clock and by the processor: the latter says little of other work on the machine.
    """
    corpus = load_corpus()
    texts = [passage.text for passage in corpus.passages[:15]]
    question = corpus.questions[0]
    proxy = OnnxProxy(folder, threads=threads)
    generator = OnnxGenerator(folder, max_tokens=64, threads=threads)
    prompt = answer_prompt(question.text, texts[:5])
    read = generator.tokens(prompt)
    written = generator.tokens("Tell a long story about an island.")
    rows: dict[str, Callable[[], object]] = {
        "scope_s": lambda: proxy.score(texts, question.text, question.incorrect_answer),
        "read_s": lambda: generator.read(read),
        "written_s": lambda: [generator.read([*written, *read[:at]]) for at in range(64)],
    }
    found: dict[str, Any] = {"threads": threads, "read": len(read), "written": 64}
    for name, work in rows.items():
        work()  # the first call is slower
        generator.read(written[:1])
        began, worked = time.perf_counter(), time.process_time()
        work()
        found[name] = round(time.perf_counter() - began, 3)
        found[f"{name.removesuffix('_s')}_processor_s"] = round(time.process_time() - worked, 3)
    return found


def spoken(model: OnnxGenerator) -> Callable[[str], SimpleNamespace]:
    """Return the model as `benchmarks.chat.served` asks it: with how much it read and wrote."""

    def answer(prompt: str) -> SimpleNamespace:
        text = model(prompt)
        read, written = len(model.tokens(prompt)), len(text.split())
        usage = {"input_tokens": read, "output_tokens": written}
        return SimpleNamespace(content=text, usage_metadata=usage)

    return answer


def run(
    folder: Path | None,
    make: Callable[..., OnnxGenerator],
    *,
    half: int,
    limit: int,
    samples: int,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Return the rows of both tables.

    Args:
        folder: Folder of datasets; None: the project's own alone.
        make: Makes the model, from the options of `OnnxGenerator`.
        half: 1 reports the odd records, 0 the even ones.
        limit: Records of a dataset.
        samples: N, answers sampled for each set of passages.
        seed: Of which attack and which passage, and of every answer.
        progress: Told about every record.
    """
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    ranks: dict[str, Ranks] = defaultdict(Ranks)
    asked = 0
    judging = make(max_tokens=JUDGE_TOKENS)
    drawing = make(max_tokens=ANSWER_TOKENS, temperature=0.7, seed=seed)
    with served(spoken(judging)) as judge, served(spoken(drawing)) as generate:
        tracing: dict[str, Attributor] = {
            "ragforensics": RAGForensics(judge=judge, top_k=TOP_K, concurrency=1),
            "ragorigin": RAGOrigin(proxy="lexical", top_k=TOP_K),
            "ragorigin, asking": RAGOrigin(proxy="lexical", generate=judge, top_k=TOP_K),
        }
        influence = InfluenceScore(generate=generate, samples=samples, top_k=TOP_K, concurrency=1)
        for name, targets, base in Selection(folder, limit, seed, half).datasets():
            if name == OWN and folder is not None:
                continue
            for target in progress.track(targets, description=name):
                only = of_one_kind(target, base, seed)
                if only is None:
                    continue
                for _, form, event in poisoned_events(only, base, seed):
                    for method, attributor in tracing.items():
                        found = attributor.attribute(target.question, target.wrong, event.retrieve)
                        tallies[method, form].add(event, found)
                for form, ranked in events(only, seed):
                    asked += 1
                    texts = [passage.text for passage in ranked.passages[:TOP_K]]
                    response = generate(short_answer_prompt(target.question, texts)).content
                    if says(response, target.wrong):
                        found = influence.attribute(target.question, response, ranked.retrieve)
                        ranks[form].add(ranked.poisoned, found)
    return {
        "forensics": [
            {"method": method, "form": form, **_measures(tally)}
            for (method, form), tally in sorted(tallies.items())
        ],
        "influence": [{"form": form, **tally.row()} for form, tally in sorted(ranks.items())],
        "influence_asked": asked,
    }


def _measures(tally: Tally) -> dict[str, Any]:
    row = tally.row()
    return {name: row[name] for name in ("events", "dacc", "fpr", "fnr", "scope")}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_model", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of datasets; without it, the own set")
    parser.add_argument("--model", default="smollm2", help="a model's name, or an exported folder")
    parser.add_argument("--limit", type=int, default=2, help="records a dataset")
    parser.add_argument("--half", type=int, choices=(0, 1), default=1, help="1: the report half")
    parser.add_argument("--samples", type=int, default=5, help="answers for each set of passages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    folder = export_folder(arguments.model)
    numbers = {name: getattr(arguments, name) for name in ("half", "limit", "samples", "seed")}
    with Progress(console=Console(stderr=True)) as progress:
        result = run(
            arguments.data,
            lambda **options: OnnxGenerator(folder, **options),
            **numbers,
            progress=progress,
        )
    result["speed"] = [speed(folder, threads) for threads in (1, 2)]
    for rows in (result["forensics"], result["influence"], result["speed"]):
        _show(rows)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.real_model", "--model", Path(arguments.model).name]
        command += [] if arguments.data is None else ["--data", arguments.data.resolve().name]
        for name, value in numbers.items():
            command += [f"--{name}", str(value)]
        about = describe_run(command, (), seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, about, result)
    return 0


def _show(rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
