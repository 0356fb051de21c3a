"""SmolLM2-135M-Instruct, a real model that reads and writes; greedy, so that answers repeat.

Its export is used (`ragguard proxy get smollm2`), on one thread; nothing is downloaded. It
writes 16 tokens, or as many as a suite names: `reader = "smollm2 48"`.
"""

from functools import cached_property

from benchmarks.plugins import About, ReaderPlugin
from benchmarks.readers.base import Answer, Prompt, in_words
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.manifest import export_folder


class _SmolLM2:
    def __init__(self, tokens: str = "16") -> None:
        self._folder, self._most = export_folder("smollm2"), int(tokens)

    @cached_property
    def _generate(self) -> OnnxGenerator:
        return OnnxGenerator(self._folder, max_tokens=self._most, threads=1)

    @cached_property
    def name(self) -> str:
        manifest = self._generate.manifest
        return f"SmolLM2, {manifest.source}, {manifest.precision}, {self._most} tokens"

    def words(self, prompt: Prompt) -> str:
        return in_words(prompt)

    def answer(self, prompt: Prompt) -> Answer:
        asked = self.words(prompt)
        said = self._generate(asked)
        read, written, format_alone = map(len, map(self._generate.tokens, (asked, said, "")))
        return Answer(said, read, written - format_alone)


READER = ReaderPlugin(
    About("SmolLM2-135M", "SmolLM2, Allal et al.", "COLM 2025", "none", "language model"),
    _SmolLM2,
    measures=("ragguard.proxy.generator",),
)
