"""ContextCite: a sparse linear model of the response's likelihood over random ablations."""

from benchmarks.attributors.ablation import random_ablations
from benchmarks.plugins import About, AttributorPlugin

_PAPER = ("ContextCite, Cohen-Wang et al., arXiv 2409.00729", "NeurIPS 2024")
_ABOUT = About("ContextCite", *_PAPER, "one wrong answer", "language model")
ATTRIBUTOR = AttributorPlugin(
    _ABOUT, lambda setting: random_ablations(top_k=setting.k, seed=setting.seed)
)
