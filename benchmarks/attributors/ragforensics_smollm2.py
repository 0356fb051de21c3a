"""RAGForensics with SmolLM2-135M for its judge, greedy; its export is used."""

from benchmarks.plugins import About, AttributorPlugin, Setting
from ragguard.attribution import RAGForensics
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.manifest import export_folder

_TOKENS = 96


def _make(setting: Setting) -> RAGForensics:
    judge = OnnxGenerator(export_folder("smollm2"), max_tokens=_TOKENS, threads=1)
    return RAGForensics(judge=judge, top_k=setting.k, concurrency=1)


_PAPER = ("RAGForensics", "WWW 2025")
_ABOUT = About("RAGForensics, SmolLM2-135M", *_PAPER, "one wrong answer", "language model")
ATTRIBUTOR = AttributorPlugin(_ABOUT, _make)
