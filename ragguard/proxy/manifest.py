"""What an exported proxy says about itself: `manifest.json` beside the model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ragguard.errors import ProxyError
from ragguard.proxy.prompt import PromptFormat

__all__ = ["FORMAT", "Manifest", "Precision", "sha256_of"]

FORMAT = "ragguard-proxy/1"

Precision = Literal["fp32", "fp16", "fp16-weights", "int8"]
"""Of weights and arithmetic; with "fp16-weights" only the weights are in fp16."""


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
        parity: How far the graph is from the original model (`ragguard.proxy.parity.Parity`).
    """

    architecture: str
    precision: Precision
    quantization: Literal["none", "dynamic", "blocks"]
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
            ProxyError: The manifest is missing or damaged, or a file is missing or differs.
        """
        path = folder / "manifest.json"
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if data.pop("format") != FORMAT:
                raise ValueError(f"not of format {FORMAT}")
            manifest = cls(**{**data, "prompt": PromptFormat(**data["prompt"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ProxyError(
                f"{path} cannot be read ({error}); export the model with "
                "ragguard.proxy.export.export_proxy(model, folder)"
            ) from error
        for name, expected in manifest.files.items():
            file = folder / name
            if not file.is_file() or sha256_of(file) != expected:
                raise ProxyError(
                    f"{file} is missing or is not the file that was exported; export the model "
                    "again, or copy the whole folder"
                )
        return manifest


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
