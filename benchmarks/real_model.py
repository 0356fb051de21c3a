"""What a small language model takes here: `python -m benchmarks.real_model --model smollm2`.

Seconds for a scope of 15 passages, and tokens read and written, with one thread and with two; by
the clock and by the processor, which says little of other work on the machine. The model is one
that `ragguard proxy get` exported, or a folder. With --openvino, in an environment that has
onnxruntime-openvino in place of onnxruntime, the scopes are scored with products in bfloat16.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import Measured, command
from benchmarks.report.table import Table, as_is
from ragguard.attribution.prompts import answer_prompt
from ragguard.demo.corpus import load_corpus
from ragguard.embedding.onnx import Providers
from ragguard.proxy import OnnxGenerator, OnnxProxy
from ragguard.proxy.manifest import export_folder


def by_openvino(threads: int) -> Providers:
    """Return providers that take products in bfloat16, where the processor has them."""
    options = {"INFERENCE_PRECISION_HINT": "bf16", "INFERENCE_NUM_THREADS": threads}
    settings = {"device_type": "CPU", "load_config": json.dumps({"CPU": options})}
    return [("OpenVINOExecutionProvider", settings), "CPUExecutionProvider"]


def speed(folder: Path, threads: int, *, openvino: bool = False) -> dict[str, Any]:
    """Return seconds a scope of 15 passages takes, and tokens read and written a second."""
    corpus = load_corpus()
    texts = [passage.text for passage in corpus.passages[:15]]
    question = corpus.questions[0]
    providers = by_openvino(threads) if openvino else None
    proxy = OnnxProxy(folder, threads=threads, providers=providers)
    generator = OnnxGenerator(folder, max_tokens=64, threads=threads)
    read = generator.tokens(answer_prompt(question.text, texts[:5]))
    written = generator.tokens("Tell a long story about an island.")
    rows: dict[str, Callable[[], object]] = {
        "scope_s": lambda: proxy.score(texts, question.text, question.incorrect_answer),
        "read_s": lambda: generator.read(read),
        "written_s": lambda: [generator.read([*written, *read[:at]]) for at in range(64)],
    }
    found: dict[str, Any] = {"provider": proxy.providers[0], "threads": threads}
    found |= {"read": len(read), "written": 64}
    for name, work in rows.items():
        work()  # the first call is slower
        generator.read(written[:1])
        began, worked = time.perf_counter(), time.process_time()
        work()
        found[name] = round(time.perf_counter() - began, 3)
        found[f"{name.removesuffix('_s')}_processor_s"] = round(time.process_time() - worked, 3)
    return found


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    yield as_is("What the model takes", sections["speed"])


@command(tables)
def main(
    model: Annotated[str, typer.Option(help="a model's name, or an exported folder")] = "smollm2",
    openvino: Annotated[bool, typer.Option("--openvino", help="score by OpenVINO too")] = False,
) -> Measured:
    folder = export_folder(model)
    ways = [(by, threads) for by in (False, True)[: 1 + openvino] for threads in (1, 2)]
    return {"speed": [speed(folder, threads, openvino=by) for by, threads in ways]}, ()
