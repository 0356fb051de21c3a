"""Why the system gave a response: poisoned passages, the model alone, or nothing that shows.

A report that an answer is wrong is no proof of an attack. Passages are held responsible only if
their scores stand apart from the rest of the scope and a counterfactual agrees: with only them the
response is given, without them it is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.ragorigin.responsibility import Weighting, responsibility, z_scores
from ragguard.attribution.ragorigin.scope import Probe, Scope
from ragguard.attribution.ragorigin.support import MIN_SUPPORT, UNTESTED
from ragguard.attribution.ragorigin.threshold import one_cluster_p_value, two_means
from ragguard.attribution.ragorigin.trigger import marked
from ragguard.attribution.result import Cause

__all__ = ["Evidence", "Finding", "Suspicion", "find_cause", "standing", "suspects"]

_ONE_CLUSTER = 0.5
_TESTABLE = 4
_AS_CLEARLY = 0.6


@dataclass(frozen=True)
class Evidence:
    """What speaks against each of n passages, in rank order.

    Attributes:
        query: The user's question.
        scores: ES, SC and GC, or what stands in for it; float64 arrays of shape (n,).
        support: float64 array of shape (n,), each passage's support of the response, in [0, 1].
        carried: float64 array of shape (n,), how far each holds the question, in [0, 1].
        weighting: How the scores are combined.
    """

    query: str
    scores: tuple[NDArray[np.float64], ...]
    support: NDArray[np.float64]
    carried: NDArray[np.float64]
    weighting: Weighting = "separation"


@dataclass(frozen=True)
class Suspicion:
    """Which passages stand apart as responsible.

    Attributes:
        suspected: bool array of shape (n,).
        p_value: Of "none stands apart".
        standing: How far they stand apart, in [0, 1].
    """

    suspected: NDArray[np.bool_]
    p_value: float
    standing: float


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


@dataclass(frozen=True)
class _Accused:
    """Who stands apart and leads to the response.

    Attributes:
        accused: int64 array of shape (m,), their indices, with who came with them.
        stating: True if those of them that the generator saw support the response.
    """

    accused: NDArray[np.int64]
    stating: bool


def standing(scores: NDArray[np.float64], chosen: NDArray[np.bool_]) -> float:
    """Return how far the chosen stand apart, in [0, 1].

    Their mean score as a share of the greatest possible, sqrt((n - m) / m) standard deviations of
    m among n. Responsibility is a mean of z-scores, so it comes near only if these agree.

    Args:
        scores: float64 array of shape (n,), in standard deviations.
        chosen: bool array of shape (n,).
    """
    count, among = len(scores), int(chosen.sum())
    if not 0 < among < count:
        return UNTESTED
    share = float(scores[chosen].mean()) / float(np.sqrt((count - among) / among))
    return min(1.0, max(0.0, share))


def suspects(combined: NDArray[np.float64], support: NDArray[np.float64]) -> Suspicion:
    """Return which passages stand apart as responsible.

    The higher cluster of 2-means, without passages that do not state the response as far as the
    proxy can tell (where it can tell of any). If one cluster explains the scores better than two,
    nothing stands apart in them: then those that support the response are suspects if they stand
    apart in their support, or are all there is; else none is. So is the one passage found that
    states the response among several alike that state other wrong answers. Fewer than 4 scores
    cannot be tested; then those that support the response are suspects.

    Args:
        combined: float64 array of shape (n,), RS.
        support: float64 array of shape (n,), each passage's support of the response, in [0, 1].
    """
    supports = support >= MIN_SUPPORT
    if len(combined) < _TESTABLE:
        return Suspicion(supports, 1.0, UNTESTED)
    split = two_means(combined)
    p_value = one_cluster_p_value(split.explained, len(combined))
    if p_value > _ONE_CLUSTER:
        stands_out = one_cluster_p_value(two_means(support).explained, len(support)) <= _ONE_CLUSTER
        found = supports & (supports.all() or stands_out)
        return Suspicion(found, p_value, standing(z_scores(support), found))
    stating = split.high & supports
    found = stating if stating.any() else split.high
    return Suspicion(found, p_value, standing(combined, found))


def find_cause(scope: Scope, evidence: Evidence, probe: Probe, *, top_k: int) -> Finding:
    """Look for suspects, check them by counterfactual and return what is held responsible.

    The generator saw the `top_k` best passages. The suspects among them must lead to the response
    on their own (`Probe.leads`). They show how clearly the attack states it: suspects further down
    that support it less than 0.6 times as much as the median of these are let go. If they carry the
    question, `marked` tells who came with them. The `top_k` best of the rest must not lead to the
    response. If they still do, the rest is searched in the same way for passages that support it;
    if nobody stands apart there, those of the `top_k` that support it are blamed too.

    Suspects that do not support the response are blamed because a generator gives it when it reads
    them. It may give it whatever it reads, so some of the scope must be left without blame, from
    which it does not.

    Args:
        scope: n passages in rank order.
        evidence: Of the same passages.
        probe: Tells whether passages lead to the response.
        top_k: K, the passages that the generator sees.
    """
    passages = scope.passages
    nobody = np.zeros(len(passages), dtype=bool)
    if not passages:
        return Finding(nobody, "unclear", "the knowledge base returned no passage for the query")
    if not scope.reproduced[0] and not probe.leads(passages[:top_k], 1.0):
        return Finding(
            nobody,
            "unclear",
            f"the {min(top_k, len(passages))} best passages do not lead to the response",
        )
    first = _stand_apart(scope, evidence, probe, np.arange(len(passages)), top_k)
    if isinstance(first, str):
        return Finding(nobody, "unclear", first)
    given_anyway = Finding(
        nobody, "unclear", "the response is given without the passages that stand apart, too"
    )
    supports = evidence.support >= MIN_SUPPORT
    guilty = nobody.copy()
    guilty[first.accused] = True
    while (rest := np.flatnonzero(~guilty)).size:
        read = rest[:top_k]
        if not probe.reproduces([passages[i] for i in read]):
            break
        # A generator that says so whatever it reads would have everybody blamed in turn.
        found = _stand_apart(scope, evidence, probe, rest, top_k)
        stating = read[:0] if isinstance(found, str) else found.accused[supports[found.accused]]
        more = stating if stating.size else read[supports[read]]
        if not more.size:
            return given_anyway
        guilty[more] = True
    if guilty.all() and not first.stating:
        return given_anyway
    count = int(guilty.sum())
    return Finding(
        guilty,
        "poisoning",
        f"{count} of {len(passages)} passages lead to the response; without "
        f"{'it' if count == 1 else 'them'} it is not given",
    )


def _stand_apart(
    scope: Scope, evidence: Evidence, probe: Probe, rest: NDArray[np.int64], top_k: int
) -> _Accused | str:
    """Return which of the `rest` stand apart and lead to the response, or why none does."""
    support = evidence.support[rest]
    combined = responsibility(
        [column[rest] for column in evidence.scores], weighting=evidence.weighting
    )
    suspicion = suspects(combined, support)
    if not suspicion.suspected.any():
        return "no passages stand apart from the rest of the scope"
    seen = suspicion.suspected & (np.arange(len(rest)) < top_k)
    if not seen.any() or not probe.leads(
        [scope.passages[i] for i in rest[seen]], suspicion.standing
    ):
        return "the passages that stand apart do not lead to the response on their own"
    least = _AS_CLEARLY * float(np.median(support[seen]))
    clear = seen | (suspicion.suspected & (support >= least))
    texts = [scope.passages[i].text for i in rest]
    found = rest[marked(evidence.query, texts, evidence.carried[rest], clear, seen)]
    return _Accused(found, bool((support[seen] >= MIN_SUPPORT).any()))
