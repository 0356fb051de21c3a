"""Exports a Hugging Face causal language model as an ONNX graph that scores and cannot generate.

The graph takes tokens and the positions to score, and returns the log-probability of the token at
each of these positions. The language-model head runs there only, and log-probabilities alone leave
the graph, so that logits of length x vocabulary never exist. There is no key-value cache.
"""

from __future__ import annotations

import copy
import io
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ragguard.errors import InvalidInputError, MissingExtraError, ProxyError
from ragguard.export.parity import GATES, PROBES, BlameScope, Gate, TokenProbe, demo_scopes
from ragguard.export.quantise import writers
from ragguard.export.verify import Reference, TorchProxy
from ragguard.proxy.manifest import Manifest, Precision, sha256_of
from ragguard.proxy.onnx import OnnxProxy
from ragguard.proxy.prompt import PromptEncoder, PromptFormat

__all__ = ["export_proxy"]

# One protobuf file holds 2 GiB; beyond half of that the weights go into a file of their own.
_ONE_FILE_BYTES = 2**30

_ADVICE: Mapping[str, str] = {
    "int8": "export with precision fp32, with fp16 for a GPU, or fp16-weights for a smaller file",
    "fp16-weights": "export with precision fp32",
    "fp16": "export with precision fp32",
    "fp32": "the model computes what its graph does not; use another model",
}

_VERSIONS = ("torch", "transformers", "onnx", "onnxscript", "tokenizers")
_OPSET = 18
_INPUTS = ("input_ids", "attention_mask", "positions")


def export_proxy(
    model: Any,
    folder: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    precision: Precision = "fp32",
    max_length: int = 1024,
    prompt: PromptFormat | None = None,
    probes: Sequence[TokenProbe] = PROBES,
    scopes: Sequence[BlameScope] | None = None,
    gates: Mapping[str, Gate] = GATES,
) -> Manifest:
    """Export `model` into `folder` and return its manifest, if it scores as the original does.

    It does if its log-probabilities are close and if RAGOrigin blames the same passages with both.
    "int8" is tried with dynamic quantisation (weights a channel, activations a tensor) and, when
    that fails the gate, in blocks of 32 weights and activations each. No other precision than the
    one that was asked for is written: `ProxyError` says which to ask for.

    Args:
        model: A causal language model of transformers (Llama, Qwen2, Qwen3, GPT-2, GPT-NeoX and
            OPT are tested), or the name or path of one. The model is left as it was.
        folder: Where to write model.onnx, tokenizer.json and manifest.json: new or empty.
        tokenizer: The model's fast tokenizer, or a `tokenizers.Tokenizer`; None loads it by the
            model's name.
        precision: "fp32", "fp16" (for GPUs; slow on a CPU), "fp16-weights" (half the size of fp32
            and as fast; computes in fp32) or "int8".
        max_length: Tokens a prompt may have; lowered to what the model was built for.
        prompt: The words around the texts; pass those the model was trained with.
        probes: Texts on which the export's log-probabilities are compared with the original's.
        scopes: Events on which their verdicts are; None: 16 of the demo's knowledge base.
        gates: What the export must meet, by precision.

    Raises:
        MissingExtraError: torch, transformers, onnx, onnxscript or onnxruntime is not installed.
        InvalidInputError: The precision is unknown, or there is no probe or scope.
        ProxyError: The folder is not empty, the model has no form that can be exported, or the
            export fails its gate; nothing is then left behind.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
        import tokenizers  # noqa: F401
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise MissingExtraError("export_proxy", "export,onnx") from error
    if precision not in GATES:
        raise InvalidInputError(f"precision must be one of {', '.join(GATES)}, not {precision!r}")
    if not probes or any(len(set(probe.contexts)) < 2 for probe in probes):
        raise InvalidInputError(
            "probes must hold at least one TokenProbe, each of at least two different contexts"
        )
    scopes = demo_scopes() if scopes is None else scopes
    if not scopes or any(len(set(scope.passages)) < 2 for scope in scopes):
        raise InvalidInputError(
            "scopes must hold at least one BlameScope, each of at least two different passages"
        )
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ProxyError(f"{target} is not an empty folder; pass a new one")
    if isinstance(model, (str, os.PathLike)):
        tokenizer = tokenizer or transformers.AutoTokenizer.from_pretrained(model)
        model = transformers.AutoModelForCausalLM.from_pretrained(model, dtype="float32")
    backend = _backend_tokenizer(tokenizer)
    limit = min(max_length, _positions_of(model.config))
    prompt = prompt or PromptFormat()
    manifest = Manifest(
        architecture=type(model).__name__,
        precision=precision,
        quantization="none",
        opset=_OPSET,
        max_length=limit,
        vocabulary_size=int(model.get_output_embeddings().weight.shape[0]),
        prompt=prompt,
        files={},
        versions={name: version(name) for name in _VERSIONS}
        | {"onnxruntime": onnxruntime.__version__},  # of whichever wheel, onnxruntime-gpu too
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        with _as_scorer(model) as original:
            torch_proxy = TorchProxy(original, PromptEncoder(backend, prompt, limit))
            reference = Reference(torch_proxy, probes, scopes)
            _write_graph(original, work / "float.onnx", precision)
        reached = []
        for quantization, write in writers(precision):
            out = work / quantization
            out.mkdir()
            write(work / "float.onnx", out / "model.onnx")
            backend.save(str(out / "tokenizer.json"))
            candidate = replace(
                manifest,
                quantization=quantization,
                files={file.name: sha256_of(file) for file in sorted(out.iterdir())},
            )
            candidate.write(out)
            try:
                parity = reference.parity(OnnxProxy(out))
            except ProxyError as error:
                reached.append(f"{quantization}: {error}")
                continue
            candidate = replace(candidate, parity=asdict(parity))
            candidate.write(out)
            failures = gates[precision].failures(parity)
            if not failures:
                if target.exists():
                    target.rmdir()
                out.rename(target)
                return candidate
            reached.append(f"{quantization}: {', '.join(failures)}")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    raise ProxyError(
        f"the {precision} export of {manifest.architecture} does not score as the original "
        f"({'; '.join(reached)}); {_ADVICE[precision]}"
    )


@contextmanager
def _as_scorer(model: Any) -> Iterator[Any]:
    """Yield the model in float32, eager attention and evaluation mode; restore it afterwards."""
    import torch

    if any(parameter.dtype != torch.float32 for parameter in model.parameters()):
        model = copy.deepcopy(model).float()
    training, attention = model.training, model.config._attn_implementation
    model.eval()
    # The fused attention kernels have no counterpart in ONNX.
    model.set_attn_implementation("eager")
    try:
        yield model
    finally:
        model.train(training)
        model.set_attn_implementation(attention)


def _write_graph(model: Any, path: Path, precision: Precision) -> None:
    import torch

    if precision == "fp16":
        model = copy.deepcopy(model).half()
    dynamic = torch.export.Dim.DYNAMIC
    tokens = torch.ones((2, 6), dtype=torch.int64, device=model.device)
    positions = torch.ones((2, 3), dtype=torch.int64, device=model.device)
    size = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), torch.no_grad():
        # The exporter warns about its own deprecated calls and prints its progress.
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                _scoring_graph(model),
                (tokens, tokens.clone(), positions),
                str(path),
                dynamo=True,
                input_names=list(_INPUTS),
                output_names=["log_probabilities"],
                dynamic_shapes={name: {0: dynamic, 1: dynamic} for name in _INPUTS},
                opset_version=_OPSET,
                external_data=size > _ONE_FILE_BYTES,
                verbose=False,
            )
        except Exception as error:  # the exporter raises many types of its own
            raise ProxyError(
                f"torch cannot export {type(model).__name__} ({error}); use a model of the Llama, "
                "Qwen2, Qwen3, GPT-2, GPT-NeoX or OPT family"
            ) from error


def _scoring_graph(model: Any) -> Any:
    """Return a torch module (tokens, mask, positions) -> log-probabilities, each (batch, ...)."""
    import torch

    class ScoringGraph(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.backbone = model.base_model
            self.head = model.get_output_embeddings()

        def forward(self, input_ids: Any, attention_mask: Any, positions: Any) -> Any:
            batch, length = input_ids.shape
            order = torch.arange(length, device=input_ids.device)
            # Mask and position ids are given ready-made: what the models do to make their own
            # depends on the data, which a traced graph cannot.
            visible = (order[None, :] <= order[:, None]) & (attention_mask[:, None, None, :] > 0)
            dtype = self.head.weight.dtype
            mask = torch.zeros(1, dtype=dtype, device=input_ids.device).masked_fill(
                ~visible, torch.finfo(dtype).min
            )
            hidden = self.backbone(
                input_ids=input_ids,
                attention_mask=mask,
                position_ids=order[None, :].expand(batch, -1),
                use_cache=False,
            ).last_hidden_state
            before = (positions - 1)[:, :, None].expand(-1, -1, hidden.shape[2])
            # ONNX Runtime has a vectorised LogSoftmax, six times as fast as its ReduceLogSumExp.
            of_next = self.head(hidden.gather(1, before)).float().log_softmax(dim=2)
            return of_next.gather(2, input_ids.gather(1, positions)[:, :, None])[:, :, 0]

    return ScoringGraph().eval()


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
    """Return how many tokens the model can read.

    Attention through a sliding window is full attention up to the window's length.
    """
    known = [
        getattr(config, name, None)
        for name in ("max_position_embeddings", "n_positions", "sliding_window")
    ]
    if getattr(config, "use_sliding_window", True) is False:
        known.pop()
    return min([value for value in known if isinstance(value, int)], default=2**31)
