"""Exports a causal language model as a proxy: an ONNX graph that scores, or also generates.

It is kept if it scores and blames as the original.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ragguard.arguments import require_path
from ragguard.attribution.ragorigin.support import STATING_GAIN, SupportMeter
from ragguard.errors import InvalidInputError, MissingExtraError, ProxyError
from ragguard.export.graph import halve_weights
from ragguard.export.parity import GATES, BlameScope, demo_scopes
from ragguard.export.sources import read_model
from ragguard.export.verify import measure, require_same_logits, verify_proxy
from ragguard.proxy.base import Proxy
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.manifest import (
    CACHE,
    ChatFormat,
    Manifest,
    Precision,
    PromptFormat,
    sha256_of,
)
from ragguard.proxy.onnx import OnnxProxy

__all__ = ["export_proxy", "verify_proxy"]

_LEAST_PARTED = 0.5  # share of planted passages above the parting gain, less that of the others
_MARK = "PROMPT-GOES-HERE"
_MOST_TOKENS = 8192  # of a prompt and its answer
_VERSIONS = ("torch", "transformers", "onnx", "onnxscript", "tokenizers")


def export_proxy(
    model: Any,
    folder: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    precision: Precision = "fp32",
    generator: bool = False,
    max_length: int = 1024,
    prompt: PromptFormat | None = None,
    scopes: Sequence[BlameScope] | None = None,
    on_stage: Callable[[str], object] = lambda _: None,
) -> Manifest:
    """Export `model` into `folder` and return its manifest, if it scores as the original does.

    It does if its log-probabilities are close and if RAGOrigin blames the same passages with both.

    Args:
        model: A causal language model of transformers (Llama, Qwen2, Qwen3, GPT-2, GPT-NeoX and
            OPT are tested), which is left as it was, or what `ragguard.export.sources.read_model`
            reads: a folder, a `.gguf` file, `package:NAME` or a name of the hub.
        folder: Where to write model.onnx, tokenizer.json and manifest.json: new or empty.
        tokenizer: The model's fast tokenizer, or a `tokenizers.Tokenizer`; None loads it by the
            model's name.
        precision: "fp32", "fp16" (for GPUs; slow on a CPU) or "fp16-weights" (half the size of
            fp32 and as fast; computes in fp32).
        generator: Write a second graph, which generates (`ragguard.proxy.OnnxGenerator`). Needs a
            tokenizer of transformers with a chat template.
        max_length: Tokens a prompt of the scorer may have; lowered to what the model was built for.
        prompt: The words around the texts; pass those the model was trained with.
        scopes: Events on which its verdicts are compared with the original's; None: 16 of the
            demo's knowledge base.
        on_stage: Is told in words what is done next, and about how long it takes.

    Raises:
        MissingExtraError: torch, transformers, onnx, onnxscript or onnxruntime is not installed.
        InvalidInputError: The precision is unknown, or there is no scope or model.
        ProxyError: The folder is not empty or cannot be made, the model has no form that can be
            exported, or the export fails its gate; nothing is then left behind.
    """
    try:
        for name in (*_VERSIONS, "onnxruntime"):
            import_module(name)
    except ImportError as error:
        raise MissingExtraError("export_proxy", "export,onnx") from error
    from ragguard.export import torch_graphs

    if precision not in GATES:
        raise InvalidInputError(f"precision must be one of {', '.join(GATES)}, not {precision!r}")
    scopes = demo_scopes() if scopes is None else scopes
    if not scopes or any(len(set(scope.passages)) < 2 for scope in scopes):
        raise InvalidInputError(
            "scopes must hold at least one BlameScope, each of at least two different passages"
        )
    target = require_path("folder", folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ProxyError(f"{target} is not an empty folder; pass a new one")
    said = "a model in memory"
    if isinstance(model, (str, os.PathLike)):
        on_stage(f"reading {model}")
        read = read_model(model)
        model, tokenizer, said = read.model, tokenizer or read.tokenizer, read.said
    backend = _backend_tokenizer(tokenizer)
    positions = _positions_of(model.config)
    gate = GATES[precision]
    manifest = Manifest(
        architecture=type(model).__name__,
        source=said,
        precision=precision,
        opset=torch_graphs.OPSET,
        max_length=min(max_length, positions),
        vocabulary_size=int(model.get_output_embeddings().weight.shape[0]),
        prompt=prompt or PromptFormat(),
        files={},
        versions={name: version(name) for name in _VERSIONS}
        # Of whichever wheel, onnxruntime-gpu too.
        | {"onnxruntime": import_module("onnxruntime").__version__},
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.TemporaryDirectory(
            prefix=f".{target.name}-", dir=target.parent, ignore_cleanup_errors=True
        )
    except OSError as error:
        raise ProxyError(
            f"cannot write in {target.parent}: {error.strerror}; pass a folder in one that can be "
            f"written, or for `ragguard proxy get` name one in {CACHE}"
        ) from error
    with beside as name:
        out = Path(name, "proxy")
        out.mkdir()
        with torch_graphs.as_exported(model) as original:
            if generator:
                kept = torch_graphs.kept_shape(original)
                chat = chat_format(original, tokenizer, kept, positions)
                manifest = replace(manifest, chat=chat)
            millions = original.num_parameters() / 1e6
            on_stage(f"writing the graph: {millions:.0f} M parameters, about a second each 2 M")
            torch_graphs.write_scorer(original, out / "model.onnx", precision)
            if generator:
                on_stage("writing the graph that generates: about as long again")
                torch_graphs.write_generator(original, out / "generator.onnx", precision)
            if precision == "fp16-weights":
                for graph in sorted(out.glob("*.onnx")):
                    halve_weights(graph)
            backend.save(str(out / "tokenizer.json"))
            files = {file.name: sha256_of(file) for file in sorted(out.iterdir())}
            manifest = replace(manifest, files=files)
            manifest.write(out)
            on_stage("calibrating the gains of passages")
            export = OnnxProxy(out)
            export.gain_power = power_of_gains(export, scopes)
            parity = measure(export, original, scopes=scopes, gate=gate, on_stage=on_stage)
            if generator:
                on_stage("comparing the logits of the graph that generates")
                require_same_logits(OnnxGenerator(out), original, gate)
        if failures := gate.failures(parity):
            advice = "export with precision fp32"
            if precision == "fp32":
                advice = "use another model; this one computes what its graph does not"
            raise ProxyError(
                f"the {precision} export of {manifest.architecture} does not score as the original "
                f"({', '.join(failures)}); {advice}"
            )
        manifest = replace(manifest, gain_power=export.gain_power, parity=asdict(parity))
        manifest.write(out)
        if target.exists():
            target.rmdir()
        out.rename(target)
        return manifest


def _backend_tokenizer(tokenizer: Any) -> Any:
    from tokenizers import Tokenizer

    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        raise ProxyError(
            f"the proxy needs a fast tokenizer, not {type(tokenizer).__name__}; load it with "
            "AutoTokenizer.from_pretrained(name, use_fast=True) and pass it as tokenizer="
        )
    copied = Tokenizer.from_str(backend.to_str())
    copied.no_truncation()
    copied.no_padding()
    return copied


def _positions_of(config: Any) -> int:
    # Attention through a sliding window is full attention up to the window's length.
    names = ["max_position_embeddings", "n_positions"]
    if getattr(config, "use_sliding_window", True) is not False:
        names.append("sliding_window")
    known = [getattr(config, name, None) for name in names]
    return min([value for value in known if isinstance(value, int)], default=2**31)


def chat_format(model: Any, tokenizer: Any, kept: tuple[int, ...], positions: int) -> ChatFormat:
    """Return how the tokenizer's chat template asks the model, with one message of the user."""
    if not getattr(tokenizer, "chat_template", None):
        raise ProxyError(
            "the model has no chat template, by which a generator is asked; export it without a "
            "generator, or use an instruction-tuned model"
        )
    asked = tokenizer.apply_chat_template(
        [{"role": "user", "content": _MARK}], tokenize=False, add_generation_prompt=True
    )
    before, _, after = asked.partition(_MARK)
    known = (model.generation_config.eos_token_id, tokenizer.eos_token_id)
    stops = {stop for one in known for stop in (one if isinstance(one, list) else [one])} - {None}
    return ChatFormat(before, after, tuple(sorted(stops)), kept, min(positions, _MOST_TOKENS))


def power_of_gains(proxy: Proxy, scopes: Sequence[BlameScope]) -> float:
    """Return the `gain_power` of a proxy that has none yet, in (0, 1].

    In the scopes with something planted, the gain that best parts planted passages from the others
    (Youden's index; of equally good ones their middle) becomes the gain from which attribution
    takes a passage to state the response. A proxy that hardly parts them keeps 1.
    """
    gains, planted = [], []
    for scope in scopes:
        if any(scope.planted):
            gains.append(SupportMeter(proxy, scope.query, scope.response).gains(scope.passages))
            planted.append(scope.planted)
    if not gains:
        return 1.0
    found, ours = np.concatenate(gains), np.concatenate(planted)
    values = np.unique(found)
    between = (values[1:] + values[:-1]) / 2.0
    parted = np.array([(found[ours] > t).mean() - (found[~ours] > t).mean() for t in between])
    if not parted.size or parted.max() < _LEAST_PARTED:
        return 1.0
    parting = float(np.median(between[parted >= parted.max()]))
    return round(min(1.0, math.log(STATING_GAIN) / math.log(parting)), 3)
