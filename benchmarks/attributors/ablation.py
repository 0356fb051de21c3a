"""Baselines that take passages away: what does the response's score lose without them?

Leave-one-out takes away one passage at a time. It is blind to passages that say the same: without
one of them the others still carry the response. The other takes away random subsets and fits a
sparse linear model of the score on what was left in, after ContextCite (Cohen-Wang et al., NeurIPS
2024, arXiv 2409.00729). Both tell influence, and leave open whether it is a fault.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution import Attribution
from ragguard.attribution.claim import claim
from ragguard.attribution.ragorigin.responsibility import one_cluster_p_value, two_means
from ragguard.attribution.result import Attributor, Cause
from ragguard.attribution.search import search_of
from ragguard.proxy import Proxy, default

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
"""Which passages are left in, True for these; shape (n, k)."""


@dataclass(frozen=True)
class Ablation(Attributor):
    """Attributes a response to the k passages retrieved, by its likelihood without some of them.

    `influence` gives each passage's from masks, all passages first, and scores: of shape (k,), in
    units of the scores.
    """

    method: str
    masks: Callable[[int], Mask]  # k -> the subsets to score, beside all passages and none
    influence: Callable[[Mask, Floats], Floats]
    top_k: int
    proxy: Proxy = field(default_factory=default)

    def attribute(self, query: str, response: str, retrieve: Any) -> Attribution:
        """Return the influence of the top k passages, and which of them stand apart.

        In the scores, `responsibility` is the influence. A passage is responsible if all passages
        together lead to the response more than none do, and its influence is positive and in the
        higher cluster of 2-means. If one cluster explains the influences (of 4 or more) better than
        two, all are responsible if all influences are positive, else none is. The papers rank and
        leave the decision open. ES, SC and GC are not scored: all are 0.0.
        """
        scope = search_of(query, response, retrieve)(query, self.top_k)
        count = len(scope)
        everything, nothing = np.ones((1, count), dtype=bool), np.zeros((1, count), dtype=bool)
        masks = np.concatenate([everything, self.masks(count), nothing])
        contexts = [
            "\n\n".join(p.text for p, kept in zip(scope, mask, strict=True) if kept)
            for mask in masks
        ]
        found = self.proxy.score(contexts, query, claim(query, response)).generation_influence
        log_p = np.minimum(found, -1e-9)
        # The logit of the geometric mean probability of the claim's tokens.
        scores = np.asarray(log_p - np.log(-np.expm1(log_p)), dtype=np.float64)
        influence = self.influence(masks[:-1], scores[:-1])
        guilty = _standing_apart(influence) & bool(scores[0] > scores[-1])
        columns = (*[[0.0] * count] * 3, influence.tolist())
        cause: Cause = "poisoning" if guilty.any() else "unclear"
        read = (query, response, self.method, scope, columns, guilty.tolist())
        return Attribution.of(*read, (cause, "by ablation"), {})


def ablation_masks(count: int, ablations: int, seed: int) -> Mask:
    """Return different subsets of `count` passages, drawn with equal probability.

    All of them, in a fixed order, if there are no more than `ablations`.

    Returns:
        bool array of shape (min(ablations, 2 ** count), count), True where a passage is left in.
    """
    if 2**count <= ablations:
        listed = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        return np.asarray(listed, dtype=bool)
    draw = np.random.default_rng(seed)
    found: dict[bytes, Mask] = {}
    while len(found) < ablations:
        mask = draw.random(count) < 0.5
        found.setdefault(mask.tobytes(), mask)
    return np.stack(list(found.values()))


def linear_influence(masks: Mask, scores: Floats, *, sparsity: float = 0.01) -> Floats:
    """Return each passage's weight in a sparse linear model of the score.

    Lasso on masks of -1 and 1 and on standardised scores, so that `sparsity` has no unit; the
    weights are scaled back, and say how much the score rises when a passage is left in.

    Args:
        masks: bool array of shape (n, k).
        scores: float64 array of shape (n,).
        sparsity: The penalty, above 0.

    Returns:
        float64 array of shape (k,), in units of the scores.
    """
    spread = float(scores.std())
    if spread <= 1e-12 * max(1.0, float(np.abs(scores).max(initial=0.0))):
        return np.zeros(masks.shape[1])
    # Here, not above: scikit-learn takes longer to import than the rest of ragguard.
    from sklearn.linear_model import Lasso

    model = Lasso(alpha=sparsity, max_iter=100_000)
    model.fit(np.where(masks, 1.0, -1.0), (scores - scores.mean()) / spread)
    return np.asarray(2.0 * spread * model.coef_, dtype=np.float64)


def _standing_apart(influence: Floats) -> Mask:
    """Return the higher cluster, or, where one cluster explains the influences, all or none."""
    carrying = influence > 0.0
    split = two_means(influence)
    one_cluster = one_cluster_p_value(split.explained, len(influence)) > 0.5
    if split.explained == 0.0 or (len(influence) >= 4 and one_cluster):
        return carrying & carrying.all()
    return carrying & split.high
