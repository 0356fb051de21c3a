"""Why the system gave a response: poisoned passages, the model alone, or nothing that shows.

A report that an answer is wrong is no proof of an attack. Passages are held responsible only if
their scores stand apart from the rest of the scope and a counterfactual agrees: with only them the
response is given, without them it is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.attribution import Cause
from ragguard.attribution.scope import Probe, Scope
from ragguard.attribution.support import MIN_SUPPORT
from ragguard.attribution.threshold import one_cluster_p_value, two_means

__all__ = ["Finding", "find_cause", "suspects"]

_ONE_CLUSTER = 0.5
_TESTABLE = 4
_AS_CLEARLY = 0.6


@dataclass(frozen=True)
class Finding:
    """What is held responsible, and why.

    Attributes:
        responsible: bool array of shape (n,), one value for each passage in scope; all False
            unless `cause` is "poisoning".
        cause: "poisoning", "model" or "unclear".
        reason: The same in words.
    """

    responsible: NDArray[np.bool_]
    cause: Cause
    reason: str


def suspects(
    responsibility: NDArray[np.float64], support: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], float]:
    """Return which passages stand apart as responsible, and the p-value of "none does".

    The higher cluster of 2-means, without passages that do not state the response as far as the
    proxy can tell (where it can tell of any). If one cluster explains the scores better than two,
    nothing stands apart in them: then those that support the response are suspects if they stand
    apart in their support, or are all there is; else none is. So is the one passage found that
    states the response among several alike that state other wrong answers. Fewer than 4 scores
    cannot be tested; then those that support the response are suspects.

    Args:
        responsibility: float64 array of shape (n,), RS.
        support: float64 array of shape (n,), each passage's support of the response, in [0, 1].
    """
    supports = support >= MIN_SUPPORT
    if len(responsibility) < _TESTABLE:
        return supports, 1.0
    split = two_means(responsibility)
    p_value = one_cluster_p_value(split.explained, len(responsibility))
    if p_value > _ONE_CLUSTER:
        stands_out = one_cluster_p_value(two_means(support).explained, len(support)) <= _ONE_CLUSTER
        return supports & (supports.all() or stands_out), p_value
    stating = split.high & supports
    return (stating if stating.any() else split.high), p_value


def find_cause(
    scope: Scope,
    suspected: NDArray[np.bool_],
    support: NDArray[np.float64],
    probe: Probe,
    *,
    top_k: int,
) -> Finding:
    """Check the suspects by counterfactual and return what is held responsible.

    The generator saw the `top_k` best passages. The suspects among them must lead to the response
    on their own. They show how clearly the attack states it: suspects further down that support it
    less than 0.6 times as much as the median of these are let go. The `top_k` best of the rest must
    not lead to the response. As long as they still do, those of them that support it are blamed
    too.

    Args:
        scope: n passages in rank order.
        suspected: bool array of shape (n,).
        support: float64 array of shape (n,).
        probe: Tells whether passages lead to the response.
        top_k: K, the passages that the generator sees.
    """
    passages = scope.passages
    nobody = np.zeros(len(passages), dtype=bool)
    if not passages:
        return Finding(nobody, "unclear", "the knowledge base returned no passage for the query")
    if not scope.reproduced[0]:
        return Finding(
            nobody,
            "unclear",
            f"the {min(top_k, len(passages))} best passages do not lead to the response",
        )
    if not suspected.any():
        return Finding(nobody, "unclear", "no passages stand apart from the rest of the scope")
    seen = np.flatnonzero(suspected[:top_k])
    if not seen.size or not probe.reproduces([passages[i] for i in seen]):
        return Finding(
            nobody,
            "unclear",
            "the passages that stand apart do not lead to the response on their own",
        )
    guilty = suspected & (support >= _AS_CLEARLY * float(np.median(support[seen])))
    guilty[seen] = True
    while True:
        rest = np.flatnonzero(~guilty)[:top_k]
        if not rest.size or not probe.reproduces([passages[i] for i in rest]):
            break
        more = rest[support[rest] >= MIN_SUPPORT]
        if not more.size:
            return Finding(
                nobody,
                "unclear",
                "the response is given without the passages that stand apart, too",
            )
        guilty[more] = True
    count = int(guilty.sum())
    return Finding(
        guilty,
        "poisoning",
        f"{count} of {len(passages)} passages lead to the response; without "
        f"{'it' if count == 1 else 'them'} it is not given",
    )
