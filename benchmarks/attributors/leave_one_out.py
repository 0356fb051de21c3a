"""Leave-one-out: what the response loses without each passage; k + 2 scores."""

import numpy as np

from benchmarks.attributors.ablation import Ablation, Floats, Mask
from benchmarks.plugins import About, AttributorPlugin


def _lost(_: Mask, scores: Floats) -> Floats:
    return np.asarray(scores[0] - scores[1:], dtype=np.float64)


ATTRIBUTOR = AttributorPlugin(
    About("leave-one-out", "folklore", "", "one wrong answer", "language model"),
    lambda setting: Ablation(
        "leave-one-out", lambda count: ~np.eye(count, dtype=bool), _lost, setting.k
    ),
)
