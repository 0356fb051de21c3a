"""Two ONNX graphs of a causal language model of transformers, which torch traces.

The scorer takes tokens and the positions to score, and returns the log-probability of the token at
each of these positions. The language-model head runs there only, and log-probabilities alone leave
the graph, so that logits of length x vocabulary never exist. There is no key-value cache.

The generator takes one row of tokens and what it kept of those before, and returns the logits of
the next token and what to keep of these: float32 of shape (tokens, layers, 2, heads, numbers).
"""

from __future__ import annotations

import copy
import inspect
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from ragguard.errors import ProxyError
from ragguard.proxy.manifest import Precision

with suppress(ImportError):  # `export_proxy`, which imports this module, says what is missing
    import torch

OPSET = 18

# One protobuf file holds 2 GiB; beyond half of that the weights go into a file of their own.
_ONE_FILE_BYTES = 2**30


@contextmanager
def as_exported(model: Any) -> Iterator[Any]:
    """Yield the model in float32, eager attention and evaluation mode; restore it afterwards."""
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


def write_scorer(model: Any, path: Path, precision: Precision) -> None:
    """Write (input_ids, attention_mask, positions) -> log_probabilities, each (batch, ...)."""
    shapes = {"input_ids": (2, 6), "attention_mask": (2, 6), "positions": (2, 3)}
    inputs = {
        name: torch.ones(shape, dtype=torch.int64, device=model.device)
        for name, shape in shapes.items()
    }
    dynamic = {name: dict.fromkeys((0, 1), torch.export.Dim.DYNAMIC) for name in inputs}
    _write(_score, model, path, precision, inputs, ["log_probabilities"], dynamic)


def write_generator(model: Any, path: Path, precision: Precision) -> None:
    """Write (input_ids, past) -> (logits, present)."""
    tokens = torch.ones((1, 6), dtype=torch.int64, device=model.device)
    past = torch.zeros((5, *kept_shape(model)), device=model.device)
    inputs = {"input_ids": tokens, "past": past}
    dynamic = {"input_ids": {1: torch.export.Dim.DYNAMIC}, "past": {0: torch.export.Dim.DYNAMIC}}
    _write(_generate, model, path, precision, inputs, ["logits", "present"], dynamic)


def _write(
    forward: Callable[..., Any],
    model: Any,
    path: Path,
    precision: Precision,
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    dynamic: Mapping[str, Any],
) -> None:
    if precision == "fp16":
        model = copy.deepcopy(model).half()
    size = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    with _quietly(), torch.no_grad():
        try:
            torch.onnx.export(
                _traced(model, forward),
                tuple(inputs.values()),
                str(path),
                dynamo=True,
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_shapes=dict(dynamic),
                opset_version=OPSET,
                external_data=size > _ONE_FILE_BYTES,
                verbose=False,
            )
        except Exception as error:  # the exporter raises many types of its own
            raise ProxyError(
                f"torch cannot export {type(model).__name__} ({error}); use a model of the Llama, "
                "Qwen2, Qwen3, GPT-2, GPT-NeoX or OPT family"
            ) from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Hold back what the exporter warns of, prints and logs: the caller's stages can be read."""
    exporter = logging.getLogger("torch.onnx")
    before = exporter.level
    exporter.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"), redirect_stdout(io.StringIO()):
            yield
    finally:
        exporter.setLevel(before)


def _traced(model: Any, forward: Callable[..., Any]) -> Any:
    """Return a module of the model's layers and its head, which `forward` runs."""
    module = type("Traced", (torch.nn.Module,), {"forward": forward})()
    module.backbone = model.base_model
    module.head = model.get_output_embeddings()
    module.cache_argument = _cache_argument(model)
    return module.eval()


def _score(self: Any, input_ids: Any, attention_mask: Any, positions: Any) -> Any:
    batch, length = input_ids.shape
    order = torch.arange(length, device=input_ids.device)
    # Mask and position ids are given ready-made: what the models do to make their own depends on
    # the data, which a traced graph cannot.
    visible = (order[None, :] <= order[:, None]) & (attention_mask[:, None, None, :] > 0)
    hidden = self.backbone(
        input_ids=input_ids,
        attention_mask=_additive(visible, self.head.weight.dtype),
        position_ids=order[None, :].expand(batch, -1),
        use_cache=False,
    ).last_hidden_state
    before = (positions - 1)[:, :, None].expand(-1, -1, hidden.shape[2])
    # ONNX Runtime has a vectorised LogSoftmax, six times as fast as its ReduceLogSumExp.
    of_next = self.head(hidden.gather(1, before)).float().log_softmax(dim=2)
    return of_next.gather(2, input_ids.gather(1, positions)[:, :, None])[:, :, 0]


def _generate(self: Any, input_ids: Any, past: Any) -> Any:
    done, length = past.shape[0], input_ids.shape[1]
    order = done + torch.arange(length, device=input_ids.device)
    seen = torch.arange(done + length, device=input_ids.device)
    visible = (seen[None, :] <= order[:, None])[None, None]
    kept = _Kept(past.to(self.head.weight.dtype))
    hidden = self.backbone(
        input_ids=input_ids,
        attention_mask=_additive(visible, self.head.weight.dtype),
        position_ids=order[None, :],
        use_cache=True,
        **{self.cache_argument: kept},
    ).last_hidden_state
    present = torch.stack([torch.stack(pair, dim=1) for pair in kept.new], dim=1)
    return self.head(hidden[0, -1]).float(), present.float()


class _Kept:
    """What `transformers.Cache` is to a model, over one tensor for all layers."""

    is_compileable = False

    def __init__(self, past: Any | None = None) -> None:
        self._past = past
        self.new: list[tuple[Any, Any]] = []

    def get_seq_length(self, *_: Any) -> Any:
        return 0 if self._past is None else self._past.shape[0]

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        self.new.append((keys[0].transpose(0, 1), values[0].transpose(0, 1)))
        if self._past is None:
            return keys, values
        before = self._past[:, layer_idx].permute(1, 2, 0, 3)[:, None]
        return torch.cat([before[0], keys], dim=2), torch.cat([before[1], values], dim=2)


def kept_shape(model: Any) -> tuple[int, ...]:
    """Return layers, 2, heads, and numbers of each: what a generator keeps of a token."""
    kept = _Kept()
    with torch.no_grad():
        token = torch.zeros((1, 1), dtype=torch.int64, device=model.device)
        model.base_model(
            input_ids=token,
            attention_mask=torch.zeros((1, 1, 1, 1), device=model.device),
            position_ids=token,
            use_cache=True,
            **{_cache_argument(model): kept},
        )
    return (len(kept.new), 2, *kept.new[0][0].shape[1:])


def _cache_argument(model: Any) -> str:
    """Return what the model calls the keys and values it is given; transformers renamed it."""
    named = inspect.signature(model.base_model.forward).parameters
    return "cache" if "cache" in named else "past_key_values"


def _additive(visible: Any, dtype: Any) -> Any:
    return torch.zeros(1, dtype=dtype, device=visible.device).masked_fill(
        ~visible, torch.finfo(dtype).min
    )
