"""Whom to blame, and when nobody: suspects, and a counterfactual. Ours.

The paper blames the higher cluster of 2-means (Section 5.4), which finds two clusters in any
scores. But a report that an answer is wrong is no proof of an attack. So passages are held
responsible only if their scores stand apart from the rest of the scope and a counterfactual agrees:
with only them the response is given, without them it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.ragorigin.responsibility import (
    one_cluster_p_value,
    responsibility,
    two_means,
    z_scores,
)
from ragguard.attribution.ragorigin.scope import Probe, Scope
from ragguard.attribution.ragorigin.support import MIN_SUPPORT, STANDING_UNTESTABLE, VERBATIM_GAIN
from ragguard.attribution.ragorigin.trigger import select_by_trigger
from ragguard.attribution.result import Cause
from ragguard.attribution.statement import states_by_design, written_as_planted
from ragguard.passage import Passage

_ONE_CLUSTER = 0.5  # p-value above which one cluster explains the scores better: as likely as not
_TESTABLE = 4  # scores; fewer cannot be tested for clusters (`one_cluster_p_value`)
_AS_CLEARLY = 0.6  # of the median support of the suspects that the generator saw


@dataclass(frozen=True)
class Evidence:
    """What speaks against each of n passages, in rank order: float64 arrays of shape (n,)."""

    query: str
    claim: str  # what of the response was traced
    scores: tuple[NDArray[np.float64], ...]  # ES, SC and GC, or what stands in for it
    support: NDArray[np.float64]  # of the response, in [0, 1]
    carried: NDArray[np.float64]  # how far each holds the question, in [0, 1]

    def of(self, among: NDArray[np.int64]) -> Evidence:
        """Return the same of these passages."""
        scores = tuple(column[among] for column in self.scores)
        return replace(
            self, scores=scores, support=self.support[among], carried=self.carried[among]
        )

    def suspicion(self) -> Suspicion:
        """Return which of the passages stand apart from the others."""
        return suspects(responsibility(self.scores), self.support)


@dataclass(frozen=True)
class Suspicion:
    """Which of n passages stand apart as responsible."""

    responsibility: NDArray[np.float64]  # RS, of shape (n,)
    suspected: NDArray[np.bool_]  # of shape (n,)
    p_value: float  # of "none stands apart"
    standing: float  # their `standing_of`


@dataclass(frozen=True)
class Finding:
    """What is held responsible, and why."""

    responsible: NDArray[np.bool_]  # of shape (n,); all False unless `cause` is "poisoning"
    cause: Cause  # "poisoning", "model" or "unclear"
    reason: str
    first: Suspicion  # who stands apart in the whole scope


def standing_of(scores: NDArray[np.float64], chosen: NDArray[np.bool_]) -> float:
    """Return how far the chosen stand apart by n scores in standard deviations, in [0, 1].

    Their mean score as a share of the greatest possible, sqrt((n - m) / m) standard deviations of
    m among n. Responsibility is a mean of z-scores, so it comes near only if these agree.
    """
    count, among = len(scores), int(chosen.sum())
    if not 0 < among < count:
        return STANDING_UNTESTABLE
    share = float(scores[chosen].mean()) / float(np.sqrt((count - among) / among))
    return min(1.0, max(0.0, share))


def suspects(combined: NDArray[np.float64], support: NDArray[np.float64]) -> Suspicion:
    """Return which passages stand apart as responsible.

    The higher cluster of 2-means; of it only those that support the response, if any does. If one
    cluster explains the scores better than two, those that support the response are suspects if
    they stand apart in their support (the one passage that states the response among several alike
    that state other wrong answers) or are all there is; and so they are of fewer than 4 scores.

    `combined` is RS and `support` that of the response, float64 arrays of shape (n,).
    """
    supports = support >= MIN_SUPPORT
    if len(combined) < _TESTABLE:
        return Suspicion(combined, supports, 1.0, STANDING_UNTESTABLE)
    split = two_means(combined)
    p_value = one_cluster_p_value(split.explained, len(combined))
    if p_value > _ONE_CLUSTER:
        stands_out = one_cluster_p_value(two_means(support).explained, len(support)) <= _ONE_CLUSTER
        found = supports & (supports.all() or stands_out)
        return Suspicion(combined, found, p_value, standing_of(z_scores(support), found))
    stating = split.high & supports
    found = stating if stating.any() else split.high
    return Suspicion(combined, found, p_value, standing_of(combined, found))


def find_cause(
    scope: Scope, evidence: Evidence, probe: Probe, *, top_k: int, unaided: bool = False
) -> Finding:
    """Look for suspects, check them by counterfactual and return what is held responsible.

    The generator saw the `top_k` best passages. The suspects among them must lead to the response
    on their own (`Probe.leads`), and show how clearly the attack states it: those further down with
    less than 0.6 times their median support are let go, and so are those who `only_mention` what
    they state. If they hold the question, `select_by_trigger` tells who came with them. The `top_k`
    best of the rest must not lead to the response. If they still do, the rest is searched in the
    same way for passages that support it; if nobody stands apart there, those of the `top_k` that
    support it are blamed too.

    A generator may give the response whatever it reads. So if no suspect that it saw supports it,
    some of the scope must be left without blame, from which it is not given.

    `evidence` is of the n passages of `scope`; `unaided` says that the model gives the response
    without any passage.
    """
    passages = scope.passages
    first = evidence.suspicion()
    guilty = np.zeros(len(passages), dtype=bool)

    def nobody(reason: str, cause: Cause = "unclear") -> Finding:
        return Finding(np.zeros_like(guilty), cause, reason, first)

    if unaided:
        return nobody("the model gives the same answer without any passage", "model")
    if not passages:
        return nobody("the knowledge base returned no passage for the query")
    if not scope.reproduced[0] and not probe.leads(passages[:top_k], 1.0):
        return nobody(f"the top {min(top_k, len(passages))} passages do not reproduce the response")
    if not first.suspected.any():
        return nobody("no passages stand apart from the rest of the scope")
    accused = _accused(passages, evidence, first, probe, top_k)
    if not accused.size:
        return nobody("the passages that stand apart do not lead to the response on their own")
    guilty[accused] = True
    given_anyway = "the response is given without the passages that stand apart, too"
    supports = evidence.support >= MIN_SUPPORT
    stated = bool((supports & first.suspected)[:top_k].any())
    while (rest := np.flatnonzero(~guilty)).size:
        read, others, part = rest[:top_k], [passages[i] for i in rest], evidence.of(rest)
        if not probe.reproduces(others[:top_k]):
            break
        # A generator that says so whatever it reads would have everybody blamed in turn.
        found = rest[_accused(others, part, part.suspicion(), probe, top_k)]
        stating = found[supports[found]]
        more = stating if stating.size else read[supports[read]]
        if not more.size:
            return nobody(given_anyway)
        guilty[more] = True
    if guilty.all() and not stated:
        return nobody(given_anyway)
    count = int(guilty.sum())
    reason = (
        f"{count} of {len(passages)} passages lead to the response; without "
        f"{'it' if count == 1 else 'them'} it is not given"
    )
    return Finding(guilty, "poisoning", reason, first)


def _accused(
    passages: Sequence[Passage],
    evidence: Evidence,
    suspicion: Suspicion,
    probe: Probe,
    top_k: int,
) -> NDArray[np.int64]:
    """Return the places of who stands apart and came with those read that lead to the response."""
    seen = suspicion.suspected & (np.arange(len(passages)) < top_k)
    read = list(compress(passages, seen))
    if not read or not probe.leads(read, suspicion.standing):
        return np.zeros(0, dtype=np.int64)
    texts = [passage.text for passage in passages]
    clearly = evidence.support >= _AS_CLEARLY * float(np.median(evidence.support[seen]))
    clear = seen | (suspicion.suspected & clearly)
    clear &= ~only_mention(evidence, texts, clear, seen)
    return np.flatnonzero(select_by_trigger(evidence.query, texts, evidence.carried, clear, seen))


def only_mention(
    evidence: Evidence,
    texts: Sequence[str],
    suspected: NDArray[np.bool_],
    seen: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which suspects only mention what a planted text states, if the generator saw one.

    A genuine page may hold the answer's words. So where one of those seen is written as planted
    texts are, those are let go that were not written to state it, do not hold the question, and
    support the response less than such texts do (the median of those seen). If one of them leads to
    the response by itself, the counterfactual finds it later.

    `texts` are the n passages of `evidence`; arrays, and what is returned, have shape (n,).
    """
    planted = seen.copy()
    planted[seen] = written_as_planted(list(compress(texts, seen)))
    if not planted.any():
        return planted
    found = suspected & (evidence.carried < VERBATIM_GAIN)
    found &= evidence.support < float(np.median(evidence.support[planted]))
    found[found] = ~states_by_design(evidence.query, evidence.claim, list(compress(texts, found)))
    return found
