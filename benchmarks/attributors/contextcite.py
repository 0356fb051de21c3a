"""ContextCite: a sparse linear model of the response's likelihood over random ablations."""

from benchmarks.attributors.ablation import Ablation, ablation_masks, linear_influence
from benchmarks.plugins import About, AttributorPlugin, Setting

_ABLATIONS = 32  # the paper's


def _make(setting: Setting) -> Ablation:
    return Ablation(
        "ablation",
        lambda count: ablation_masks(count, _ABLATIONS, setting.seed),
        # The score of all passages is for the verdict, and not part of the sample.
        lambda masks, scores: linear_influence(masks[1:], scores[1:]),
        setting.k,
    )


_PAPER = ("ContextCite, Cohen-Wang et al., arXiv 2409.00729", "NeurIPS 2024")
ATTRIBUTOR = AttributorPlugin(
    About("ContextCite", *_PAPER, "one wrong answer", "language model"), _make
)
