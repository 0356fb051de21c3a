"""What an exported proxy says about itself: `manifest.json` beside the model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ragguard.errors import ProxyError
from ragguard.proxy.prompt import PromptFormat

__all__ = ["FORMAT", "Manifest", "Precision", "Quantization", "sha256_of"]

FORMAT = "ragguard-proxy/1"

_REQUIRED = frozenset({"model.onnx", "tokenizer.json"})
_OPTIONAL = frozenset({"model.onnx.data"})  # the weights of a graph that is large

Precision = Literal["fp32", "fp16", "fp16-weights", "int8"]
"""Of weights and arithmetic; with "fp16-weights" only the weights are in fp16."""

Quantization = Literal["none", "dynamic", "blocks"]
"""What was rounded to integers: nothing, weights and activations, or blocks of weights."""


@dataclass(frozen=True)
class Manifest:
    """How a scoring graph was made and how it is to be used.

    Attributes:
        architecture: Class of the exported model, such as "LlamaForCausalLM".
        precision: "fp32", "fp16", "fp16-weights" or "int8".
        quantization: "none", "dynamic" (activations a tensor) or "blocks" (MatMulNBits, 8 bits).
        opset: ONNX opset of the graph.
        max_length: Tokens that the model reads at most.
        vocabulary_size: Number of tokens that the model tells apart.
        prompt: The words around passage, question and answer.
        files: SHA-256 in hex of every file, by its name in the folder.
        versions: Version of each library that took part in the export.
        parity: How far the graph is from the original model (`Parity` of the export).
    """

    architecture: str
    precision: Precision
    quantization: Quantization
    opset: int
    max_length: int
    vocabulary_size: int
    prompt: PromptFormat
    files: Mapping[str, str]
    versions: Mapping[str, str]
    parity: Mapping[str, float | None] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write `manifest.json` into the folder."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=2, sort_keys=True)
        (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read `manifest.json` and check that every file is there and unchanged.

        Raises:
            ProxyError: The manifest is missing or damaged, names other files than an export has,
                or a file is missing or differs.
        """
        path = folder / "manifest.json"
        try:
            manifest = cls._from_json(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ProxyError(
                f"{path} cannot be read ({_why(error)}); export the model again with "
                "`ragguard proxy export`, or copy the whole folder"
            ) from error
        present = {name for name in _OPTIONAL if (folder / name).exists()}
        if set(manifest.files) != _REQUIRED | present:
            raise ProxyError(
                f"{path} does not vouch for {' and '.join(sorted(_REQUIRED | present))} and "
                "nothing else; export the model again, or copy the whole folder"
            )
        for name, expected in manifest.files.items():
            file = folder / name
            if not file.is_file() or sha256_of(file) != expected:
                raise ProxyError(
                    f"{file} is missing or is not the file that was exported; export the model "
                    "again, or copy the whole folder"
                )
        return manifest

    @classmethod
    def _from_json(cls, data: Any) -> Manifest:
        _require(isinstance(data, dict) and data.get("format") == FORMAT, f"not of format {FORMAT}")
        fields = {name: value for name, value in data.items() if name != "format"}
        for name, kind in _KINDS.items():
            _require(type(fields.get(name)) is kind, f"{name} is missing or of another type")
        _require(fields["precision"] in get_args(Precision), "precision is unknown")
        _require(fields["quantization"] in get_args(Quantization), "quantization is unknown")
        for name in ("prompt", "files", "versions"):
            texts = fields[name].values()
            _require(all(isinstance(text, str) for text in texts), f"{name} holds other than texts")
        numbers = fields["parity"].values()
        known = all(value is None or type(value) in (int, float) for value in numbers)
        _require(known, "parity holds other than numbers")
        return cls(**{**fields, "prompt": PromptFormat(**fields["prompt"])})


_KINDS = {
    **dict.fromkeys(("architecture", "precision", "quantization"), str),
    **dict.fromkeys(("opset", "max_length", "vocabulary_size"), int),
    **dict.fromkeys(("prompt", "files", "versions", "parity"), dict),
}


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    if isinstance(error, RecursionError):
        return "its brackets are nested too deep"
    return str(error)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
