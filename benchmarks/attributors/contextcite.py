"""ContextCite: a sparse linear model of the response's likelihood over random ablations."""

from benchmarks.attributors.ablation import random_ablations
from benchmarks.plugins import About, AttributorPlugin

ATTRIBUTOR = AttributorPlugin(
    About(
        "ContextCite",
        "ContextCite, Cohen-Wang et al., arXiv 2409.00729",
        "NeurIPS 2024",
        "one wrong answer",
        "language model",
    ),
    lambda setting: random_ablations(top_k=setting.k, seed=setting.seed),
)
