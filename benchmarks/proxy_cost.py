"""What scoring one scope of passages costs: RAGOrigin as printed, and the proxies here.

Runnable alone: `python -m benchmarks.proxy_cost --shape 20m --threads 1 --json OUT`. Needs the
extras `export` and `onnx`; no network and no weights: the model's are random, which costs the same.

Rows: "torch, as printed" takes Eq. 6 and Eq. 7 of the RAGOrigin paper one after the other, one
passage at a time, each with a forward pass of its own and all its logits; the `OnnxProxy` rows
score the same model on the same tokens in one pass a batch. Contenders take turns, and are compared
by processor time, which says little of other work on the machine.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.report.result import describe_run, write
from ragguard.demo.corpus import load_corpus
from ragguard.export import export_proxy
from ragguard.export.parity import PROBES, BlameScope
from ragguard.proxy import LexicalProxy, OnnxProxy
from ragguard.proxy.base import Scores
from ragguard.proxy.manifest import Precision
from ragguard.proxy.prompt import PromptEncoder, PromptFormat

__all__ = ["MODELS", "ModelShape", "main", "run"]

PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16-weights")
SCOPE = 15
AS_PRINTED = "torch, as printed"
_MAX_LENGTH = 512


@dataclass(frozen=True)
class ModelShape:
    """A Llama's numbers."""

    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    groups: int


MODELS = {
    "20m": ModelShape(16384, 384, 1024, 8, 6, 6),
    "135m": ModelShape(49152, 576, 1536, 30, 9, 3),
    "0.5b": ModelShape(151936, 896, 4864, 24, 14, 2),
}
"""A small one, and the shapes of two models that are in use."""


def run(shape: ModelShape, *, threads: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Return seconds a scope for every contender, and how far its scores are from the first's.

    Args:
        shape: The model.
        threads: Of torch and of ONNX Runtime.
        repeats: Timed calls; one more goes before them.
        folder: Where the exports go.
    """
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    corpus = load_corpus()
    contexts = [passage.text for passage in corpus.passages[:SCOPE]]
    query = corpus.questions[0].text
    response = f"The answer is {corpus.questions[0].incorrect_answer}."
    tokenizer = _tokenizer(passage.text for passage in corpus.passages)
    model = _model(shape)
    encoder = PromptEncoder(tokenizer, PromptFormat(), _MAX_LENGTH)
    contenders: dict[str, Callable[[], Scores]] = {
        AS_PRINTED: lambda: as_printed(model, encoder, contexts, query, response)
    }
    for precision in PRECISIONS:
        proxy = _exported(model, tokenizer, precision, folder / precision, threads)
        contenders[f"OnnxProxy {precision}"] = _scoring(proxy, contexts, query, response)
    contenders["LexicalProxy"] = _scoring(LexicalProxy(), contexts, query, response)
    wall: dict[str, list[float]] = {name: [] for name in contenders}
    processor: dict[str, list[float]] = {name: [] for name in contenders}
    scores = {name: score() for name, score in contenders.items()}
    for _ in range(repeats):
        for name, score in contenders.items():
            began, worked = time.perf_counter(), time.process_time()
            score()
            processor[name].append(time.process_time() - worked)
            wall[name].append(time.perf_counter() - began)
    reference = scores[AS_PRINTED].generation_influence
    lengths = [len(row) for row in encoder.encode(contexts, query, response).rows]
    return {
        "shape": vars(shape),
        "parameters": model.num_parameters(),
        "scope": len(contexts),
        "tokens": sum(lengths),
        "threads": threads,
        "repeats": repeats,
        "rows": [
            {
                "contender": name,
                "processor_s": round(median(took), 4),
                "fastest_processor_s": round(min(took), 4),
                "wall_s": round(median(wall[name]), 4),
                "times_faster": round(median(processor[AS_PRINTED]) / median(took), 2),
                "largest_gc_difference": None
                if name == "LexicalProxy"
                else float(f"{np.abs(scores[name].generation_influence - reference).max():.3g}"),
            }
            for name, took in processor.items()
        ],
    }


def as_printed(
    model: Any, encoder: PromptEncoder, contexts: Sequence[str], query: str, response: str
) -> Scores:
    """Return SC (Eq. 6) and GC (Eq. 7), each from a forward pass a passage, nats per token."""
    import torch

    prompts = encoder.encode(contexts, query, response)
    found: list[list[float]] = [[], []]
    with torch.no_grad():
        for column, scored in zip(found, (prompts.query, prompts.response), strict=True):
            for row in prompts.rows:
                # Eq. 6 needs nothing after the query: what follows it is not read.
                tokens = torch.from_numpy(row[: len(row) + int(scored[-1]) + 1])[None]
                at = torch.from_numpy(len(row) + scored)
                of_next = model(input_ids=tokens, use_cache=False).logits[0].float()
                of_next = of_next.log_softmax(dim=-1)
                column.append(float(of_next[at - 1, tokens[0, at]].mean()))
    return Scores(np.array(found[0]), np.array(found[1]))


def _tokenizer(texts: Iterable[str]) -> Any:
    """Return a byte-level BPE `tokenizers.Tokenizer` for `texts`; every digit is a token."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors, trainers

    begin = "<|begin|>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=4096,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            special_tokens=[begin],
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, tokenizer.token_to_id(begin))]
    )
    return tokenizer


def _model(shape: ModelShape) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=shape.vocabulary,
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.groups,
            max_position_embeddings=_MAX_LENGTH,
            tie_word_embeddings=True,
        )
    ).eval()


def _exported(
    model: Any, tokenizer: Any, precision: Precision, folder: Path, threads: int
) -> OnnxProxy:
    export_proxy(
        model,
        folder,
        tokenizer=tokenizer,
        precision=precision,
        max_length=_MAX_LENGTH,
        probes=PROBES[:1],
        scopes=[BlameScope(PROBES[0].contexts[:2], PROBES[0].query, PROBES[0].response)],
    )
    return OnnxProxy(folder, threads=threads)


def _scoring(
    proxy: LexicalProxy | OnnxProxy, contexts: Sequence[str], query: str, response: str
) -> Callable[[], Scores]:
    return lambda: proxy.score(contexts, query, response)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy_cost", description=__doc__)
    parser.add_argument("--shape", choices=tuple(MODELS), default="20m")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        result = run(
            MODELS[arguments.shape],
            threads=arguments.threads,
            repeats=arguments.repeats,
            folder=Path(folder),
        )
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.proxy_cost", "--shape", arguments.shape]
        command += ["--threads", str(arguments.threads), "--repeats", str(arguments.repeats)]
        write(
            arguments.json,
            describe_run(command, (), seed=0, limit=None),
            {"proxy_cost": result},
        )
    Console().print_json(data=result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
