"""Embedder on an ONNX model of sentence-transformers form, without torch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragguard.arguments import require_path
from ragguard.embedding.adapt import unit_rows
from ragguard.errors import EmbeddingError, MissingExtraError, ProxyError
from ragguard.text import encodable

_ON_CPU = ["CPUExecutionProvider"]
_SLOW_ON_CPU = ["SkipLayerNormFusion"]
# The fused kernel takes several times as long as the addition and normalisation that it replaces:
# 14 ms of 97 in a MiniLM pass over 275 tokens on one Xeon thread, with ONNX Runtime 1.31.
_PADDING = 1.15  # tokens of a batch, padding included, for each token of its texts, at most

Providers = Sequence[str | tuple[str, Mapping[str, Any]]]
"""ONNX Runtime's execution providers, best first, as names or with their options."""


class OnnxEmbedder:
    """Embeds with an ONNX encoder: mean over the tokens, or the model's own pooled output.

    Args:
        path: A folder with `tokenizer.json` and `model.onnx` (also looked for in `onnx/`).
        providers: Where the model runs; None means CPU.
        max_length: Tokens a text, the rest is cut; None reads the model's own limit, else 256.
        batch_size: Texts a forward pass, at most; a batch holds texts of like length only.
        threads: Threads inside one operator; None lets ONNX Runtime choose.

    Raises:
        MissingExtraError: onnxruntime or tokenizers is not installed.
        EmbeddingError: The folder lacks a file or holds a damaged one, or a provider is not
            available.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        providers: Providers | None = None,
        max_length: int | None = None,
        batch_size: int = 32,
        threads: int | None = None,
    ) -> None:
        tokenizer = require_tokenizer("OnnxEmbedder")
        folder = require_path("path", path)
        places = (folder / "model.onnx", folder / "onnx/model.onnx")
        model = next((file for file in places if file.is_file()), None)
        if model is None or not (folder / "tokenizer.json").is_file():
            raise EmbeddingError(
                f"{folder} must hold tokenizer.json and model.onnx; export the model with "
                "sentence-transformers' backend='onnx' and save it there"
            )
        on_cpu = list(providers or _ON_CPU) == _ON_CPU
        self._session = open_session(
            model, providers, threads, EmbeddingError, left_out=_SLOW_ON_CPU if on_cpu else ()
        )
        try:
            self._tokenizer = tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.enable_truncation(max_length or _max_length(folder))
        except Exception as error:  # the tokenizers library raises plain Exception
            raise EmbeddingError(
                f"cannot load the tokenizer in {folder}: {error}; export the model anew"
            ) from error
        self._inputs = {node.name for node in self._session.get_inputs()}
        outputs = [node.name for node in self._session.get_outputs()]
        # Not a BERT's "pooler_output": it was never trained to be a sentence's vector.
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
        self._tokenizer.no_padding()
        self._batch_size = batch_size
        self.name = f"onnx:{folder.name}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, 1), dtype=np.float32)
        encoded = self._tokenizer.encode_batch([encodable(text) for text in texts])
        ids = [encoding.ids for encoding in encoded]
        rows: dict[int, NDArray[np.float32]] = {}
        lengths = [len(row) for row in ids]
        for chosen in length_buckets(lengths, self._batch_size, lambda tokens: _PADDING * tokens):
            rows |= zip(chosen, self._forward([ids[i] for i in chosen]), strict=True)
        return unit_rows(np.stack([rows[index] for index in range(len(ids))]))

    def _forward(self, ids: list[list[int]]) -> NDArray[np.float32]:
        tokens, mask = padded(ids)
        known = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": tokens * 0}
        feed = {name: array for name, array in known.items() if name in self._inputs}
        (output,) = self._session.run([self._output], feed)
        if output.ndim == 2:
            return np.asarray(output, dtype=np.float32)
        weights = mask[:, :, None].astype(np.float32)
        mean = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
        return np.asarray(mean, dtype=np.float32)


def length_buckets(
    lengths: Sequence[int], rows: int, limit: Callable[[int], float]
) -> Iterator[list[int]]:
    """Yield batches of row indices, shortest first: as one, they would be mostly padding.

    `lengths` are the tokens of each row. A batch has `rows` at most, and with padding as many
    tokens as `limit` answers to its own; one row alone may have more.

    >>> list(length_buckets([9, 2, 3, 8], 4, lambda tokens: 16))
    [[1, 2], [3], [0]]
    """
    batch: list[int] = []
    tokens = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        length = lengths[index]
        if batch and (len(batch) == rows or length * (len(batch) + 1) > limit(tokens + length)):
            yield batch
            batch, tokens = [], 0
        batch.append(index)
        tokens += length
    if batch:
        yield batch


def _max_length(folder: Path) -> int:
    config = folder / "sentence_bert_config.json"
    told = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    return int(told.get("max_seq_length") or 256)


def load_runtime() -> Any:
    """Import ONNX Runtime, which tells its makers of its use only if the environment says so."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def require_tokenizer(what: str) -> Any:
    """Return the class that reads `tokenizer.json`; `what` needs it, and ONNX Runtime."""
    try:
        load_runtime()
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError(what, "onnx") from error
    return Tokenizer


def open_session(
    model: Path,
    providers: Providers | None,
    threads: int | None,
    failure: type[EmbeddingError | ProxyError],
    *,
    left_out: Sequence[str] = (),
    spinning: bool = True,
) -> Any:
    """Return ONNX Runtime's session on a model, without the optimisations that are left out.

    Threads that spin while they wait for one another save microseconds on an idle machine; on a
    busy one they take the time that others need, half of it in a generator with two threads.
    Raises `failure` if the graph cannot be loaded, or a provider is not available.
    """
    onnxruntime = load_runtime()
    wanted = _ON_CPU if providers is None else list(providers)
    names = [one if isinstance(one, str) else one[0] for one in wanted]

    def require(have: Sequence[str], who: str) -> None:
        missing = [name for name in names if name not in have]
        if missing or not wanted:
            raise failure(
                f"provider {', '.join(missing) or '(none given)'} is not available: {who} "
                f"{', '.join(have)}. For CUDA install the extra onnx-gpu without onnx "
                "beside it, both packages share one folder; or pass providers=None for the CPU"
            )

    require(onnxruntime.get_available_providers(), "this installation of ONNX Runtime offers")
    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    if not spinning:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(
            str(model), options, providers=wanted, disabled_optimizers=list(left_out) or None
        )
    except Exception as error:  # ONNX Runtime's exceptions have no common base but this
        raise failure(
            f"cannot load {model}: {error}; export it again with the installed onnxruntime "
            f"{onnxruntime.__version__}"
        ) from error
    # A provider whose libraries are missing is dropped without an exception.
    require(session.get_providers(), "ONNX Runtime could only start")
    return session


def padded(rows: Sequence[ArrayLike]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return token rows as an int64 array padded with zeros, and the mask of what is no padding."""
    lengths = np.array([np.size(row) for row in rows])
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    tokens = np.zeros(mask.shape, dtype=np.int64)
    tokens[mask] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])
    return tokens, mask.astype(np.int64)
