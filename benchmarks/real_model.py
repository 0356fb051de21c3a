"""RAGForensics, RAGOrigin and the Influence Score with a small language model that runs anywhere.

Runnable alone: `python -m benchmarks.real_model --data DIR --model smollm2 --json FILE`. The model
is one that `ragguard proxy get` exported. It is asked over HTTP by the OpenAI-compatible protocol,
as a model of a provider would be, and is judge and generator here.

The forms are those of Table 1 in RAGForensics' paper, on the events of `benchmarks.misgeneration`,
and of Table 1 in the Influence Score's (`benchmarks.influence`). Of each dataset the first records
are taken, each with one kind of attack, drawn by the seed, with the question in front and plain.

RAGForensics is measured with its own prompt and with one that asks for a yes or no and for nothing
else. The Influence Score's paper counts only events in which the model itself is misled; here they
have rows of their own, beside those of all events, in which the wrong answer is what is reported.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.chat import served
from benchmarks.datasets import OWN, Record
from benchmarks.influence import Ranks, events
from benchmarks.metrics.says import says
from benchmarks.misgeneration import (
    TOP_K,
    KnowledgeBase,
    Selection,
    Tally,
    of_one_kind,
    poisoned_events,
    rounded,
)
from benchmarks.report.result import describe_run, write
from benchmarks.report.table import Row, Table, as_is, as_rich, listed
from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.attribution.prompts import answer_prompt, short_answer_prompt
from ragguard.attribution.result import Attributor
from ragguard.demo.corpus import load_corpus
from ragguard.proxy import OnnxGenerator, OnnxProxy
from ragguard.proxy.named import export_folder
from ragguard.text import encodable

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
    selection = Selection(folder, limit, seed, half)
    return {
        "model_judges": judged(selection, make(max_tokens=JUDGE_TOKENS), progress),
        "model_samples": sampled(
            selection,
            make(max_tokens=ANSWER_TOKENS, temperature=0.7, seed=seed),
            samples,
            progress,
        ),
    }


def judged(selection: Selection, model: OnnxGenerator, progress: Progress) -> list[dict[str, Any]]:
    """Return what RAGForensics and RAGOrigin find by method and form, with the model as judge.

    "unreadable" is the share of judgements that say neither yes nor no.
    """
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    unread: dict[tuple[str, str], list[int]] = defaultdict(list)
    with served(spoken(model)) as judge:
        forensics = partial(RAGForensics, judge=judge, top_k=TOP_K, concurrency=1)
        tracing: dict[str, Attributor] = {
            "ragforensics": forensics(),
            "ragforensics, yes or no": forensics(prompt=yes_or_no_prompt),
            "ragorigin": RAGOrigin(proxy="lexical", top_k=TOP_K),
            "ragorigin, asking": RAGOrigin(proxy="lexical", generate=judge, top_k=TOP_K),
        }
        for only, base in _records(selection, progress):
            for _, form, event in poisoned_events(only, base, selection.seed):
                for method, attributor in tracing.items():
                    found = attributor.attribute(only.question, only.wrong, event.retrieve)
                    tallies[method, form].add(event, found)
                    unread[method, form].append(len(found.details.get("unreadable", ())))
    return [
        {
            "method": method,
            "form": form,
            **_measures(tally),
            "unreadable": rounded(sum(unread[method, form]) / max(1, sum(tally.scope))),
        }
        for (method, form), tally in sorted(tallies.items())
    ]


def yes_or_no_prompt(query: str, passage: str, response: str) -> str:
    """Return the question whether a passage gives an answer, as short as a small model needs it."""
    query, passage, response = (encodable(text) for text in (query, passage, response))
    return (
        f"{passage}\n\nQuestion: {query}\nAnswer: {response}\n\n"
        "Does the passage above give this answer? Reply with one word, Yes or No."
    )


def sampled(
    selection: Selection, model: OnnxGenerator, samples: int, progress: Progress
) -> list[dict[str, Any]]:
    """Return the places of the planted passage by the Influence Score, with the model sampling."""
    ranks: dict[tuple[str, str], Ranks] = defaultdict(Ranks)
    with served(spoken(model)) as generate:
        influence = InfluenceScore(generate=generate, samples=samples, top_k=TOP_K, concurrency=1)
        for only, _ in _records(selection, progress):
            for form, ranked in events(only, selection.seed):
                texts = [passage.text for passage in ranked.passages[:TOP_K]]
                response = generate(short_answer_prompt(only.question, texts)).content
                misled = says(response, only.wrong)
                reported = response if misled else only.wrong
                found = influence.attribute(only.question, reported, ranked.retrieve)
                for counted in ("all", "misled") if misled else ("all",):
                    ranks[counted, form].add(ranked.poisoned, found)
    return [
        {"counted": counted, "form": form, **tally.row()}
        for (counted, form), tally in sorted(ranks.items())
    ]


def _records(selection: Selection, progress: Progress) -> Iterator[tuple[Record, KnowledgeBase]]:
    """Yield (record with one kind of attack, knowledge base)."""
    for name, records, base in selection.datasets():
        if name == OWN and selection.data_dir is not None:
            continue
        for record in progress.track(records, description=name):
            only = of_one_kind(record, base, selection.seed)
            if only is not None:
                yield only, base


def _measures(tally: Tally) -> dict[str, Any]:
    row = tally.row()
    return {name: row[name] for name in ("events", "dacc", "fpr", "fnr", "scope")}


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of the sections "model_judges", "model_samples" and "speed"."""
    yield listed(
        "A small model as judge: DACC / FPR / FNR in %",
        sections["model_judges"],
        {
            "method": lambda row: _METHODS[row["method"]],
            "form": lambda row: _FORMS[row["form"]],
            "events": "events",
            "DACC / FPR / FNR": lambda row: _percent(row, "dacc", "fpr", "fnr", to=1),
            "judgements that say neither": _unread,
        },
    )
    yield listed(
        "Influence Score with a small model: first / first two / first three, %",
        sections["model_samples"],
        {
            "events": lambda row: _COUNTED[row["counted"]],
            "form": lambda row: _FORMS[row["form"]],
            "count": "events",
            "place": lambda row: _percent(row, "top_1", "top_2", "top_3", to=0),
            "held responsible": lambda row: f"{100 * row['found']:.0f} %",
            "calls": lambda row: f"{row['calls']:.0f}",
            "words read": lambda row: f"{row['words_read']:,.0f}",
        },
    )
    yield as_is("What the model takes", sections.get("speed", ()))


_FORMS = {"prepend": "question in front", "plain": "plain"}
_COUNTED = {"all": "all", "misled": "the model was misled"}
_METHODS = {
    "ragforensics": "RAGForensics, our prompt",
    "ragforensics, yes or no": "RAGForensics, yes or no",
    "ragorigin": "RAGOrigin, lexical proxy",
    "ragorigin, asking": "RAGOrigin, the model answers and compares",
}


def _percent(row: Row, *names: str, to: int) -> str:
    return " / ".join(f"{100 * row[name]:.{to}f}" for name in names)


def _unread(row: Row) -> str:
    return f"{100 * row['unreadable']:.0f} %" if "forensics" in row["method"] else ""


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
            lambda **options: OnnxGenerator(folder, threads=1, **options),
            **numbers,
            progress=progress,
        )
    result["speed"] = [speed(folder, threads) for threads in (1, 2)]
    for table in tables(result):
        Console().print(as_rich(table))
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.real_model", "--model", Path(arguments.model).name]
        command += [] if arguments.data is None else ["--data", arguments.data.resolve().name]
        for name, value in numbers.items():
            command += [f"--{name}", str(value)]
        about = describe_run(command, (), seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, about, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
