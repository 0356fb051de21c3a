"""The Influence Score with answers sampled from SmolLM2-135M, whose export is used."""

from benchmarks.plugins import About, AttributorPlugin, Setting
from ragguard.attribution import InfluenceScore
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.manifest import export_folder

_SAMPLES, _TOKENS, _TEMPERATURE = 5, 24, 0.7


def _make(setting: Setting) -> InfluenceScore:
    model = OnnxGenerator(
        export_folder("smollm2"),
        max_tokens=_TOKENS,
        temperature=_TEMPERATURE,
        seed=setting.seed,
        threads=1,
    )
    return InfluenceScore(generate=model, samples=_SAMPLES, top_k=setting.k, concurrency=1)


_PAPER = ("Quantifying Document Impact in RAG-LLMs", "submission")
_ABOUT = About("Influence Score, SmolLM2-135M", *_PAPER, "one wrong answer", "language model")
ATTRIBUTOR = AttributorPlugin(_ABOUT, _make)
