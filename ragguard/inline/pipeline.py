"""The inline filter: tokens -> features -> score -> gate -> selection -> grouping -> isolation.

Words select; grouping and isolation decide on what they leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.errors import JudgingError
from ragguard.inline.budget import Budget
from ragguard.inline.calibration_file import measure_for, require_each_class
from ragguard.inline.class_bigram import class_bigram
from ragguard.inline.conformal import Calibration
from ragguard.inline.decision import Decision, Gated, Scored, Strategy
from ragguard.inline.evidence import LATE, gather
from ragguard.inline.explanations import explained, unsuspected
from ragguard.inline.features.concentration import content_words
from ragguard.inline.features.manner import shipped
from ragguard.inline.ragdefender import group_and_isolate
from ragguard.inline.ragdefender.grouping import load_clustering
from ragguard.inline.selection import select
from ragguard.inline.tokens import tokenize_ends, tokenize_query
from ragguard.passage import Passage
from ragguard.trust import Trust


class ConformalFilter:
    """Leaves clean traffic alone, up to a share of `alpha`, and takes out what stands out.

    Args:
        embedder: Used only for sets that the gate found attacked, and only where grouping and
            isolation can change what goes.
        strategy: RAGDefender's grouping; "auto" chooses by the question.
        alpha: Share of clean queries that may be touched.
        mark_alpha: Share of clean queries that may be touched or have a passage marked, at least
            `alpha`; None means 5 `alpha`, or 0.99 where that is less.
        calibration: Scores of clean traffic; None means the shipped ones.
        trust: Whose passages may spend which share of alpha; None means all alike.

    Raises:
        CalibrationError: The calibration has too few queries for what open passages may spend of
            `alpha`, or for one kind of them both it and the shipped one.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        strategy: Strategy = "auto",
        alpha: float = 0.01,
        mark_alpha: float | None = None,
        calibration: Calibration | None = None,
        trust: Trust | None = None,
    ) -> None:
        # What open passages may spend, who may be anybody's: a calibration must suffice for that.
        self._open_alpha = alpha * (1.0 if trust is None else trust.open_share)
        require_each_class(calibration, self._open_alpha)
        # Read now, not at the first query.
        class_bigram()
        shipped()
        if strategy != "concentration":
            load_clustering()
        self._embedder = embedder
        self._strategy = strategy
        self._alpha = alpha
        self._mark_alpha = max(alpha, min(5 * alpha, 0.99)) if mark_alpha is None else mark_alpha
        self._calibration = calibration
        self._trust = trust

    def decide(self, query: str, passages: Sequence[Passage], k: int) -> Decision:
        """Decide on a set.

        Whatever an embedder raises is in `failure`, and what words alone flag is flagged.
        """
        return self.select(self.gate(query, passages, k), self._embedder)

    def gate(
        self, query: str, passages: Sequence[Passage], k: int, budget: Budget | None = None
    ) -> Gated:
        """Score a set and ask the gate; only an attacked one may need vectors."""
        k = min(k, len(passages))
        passed = partial(Gated, query, passages, k)
        if not k:
            return passed(attacked=False, p_value=1.0)
        over_fetched = len(passages) > k
        naming = tokenize_query(query).names
        calibration = self.calibration_for(k, with_reference=over_fetched, naming=naming)
        budget = budget or Budget()
        shown = passages if calibration.with_reference else passages[:k]
        scored = gather(query, shown, k, budget)
        suspicion, counted = scored.suspicion, min(k, calibration.reach(self._alpha))
        unspent = calibration.p_value(scored.score, counted)
        shares = np.ones(len(passages)) if self._trust is None else self._trust.shares(passages)
        p_value = calibration.shared_p_value(suspicion, shares[:k], counted)
        if unspent > self._mark_alpha:
            return passed(attacked=False, p_value=p_value, decided_on=scored)
        line = calibration.threshold(self._mark_alpha, counted)
        if p_value > self._alpha:
            unusual = _at_least(line, suspicion)
            return passed(attacked=False, p_value=p_value, decided_on=scored, unusual=unusual)
        # What would move up must be judged as well.
        judged = scored
        if over_fetched:
            judged = _extended(scored, gather(query, passages, len(passages), budget), k)
        with np.errstate(divide="ignore"):  # what may spend nothing cannot go
            p_values = calibration.passage_p_values(judged.suspicion) / shares
        spent = (self._alpha * shares).tolist()
        asked = tokenize_query(query).distinct
        selection = select(
            p_values,
            judged.suspicion,
            np.array([calibration.threshold(alpha, counted) for alpha in spent]),
            np.array([calibration.passage_threshold(alpha) for alpha in spent]),
            lambda row: tokenize_ends(passages[row].text).once(content_words) - asked,
        )
        return passed(
            attacked=True,
            p_value=p_value,
            decided_on=scored,
            unusual=_at_least(line, judged.suspicion),
            judged=judged,
            selection=selection,
            needs=passages if selection.joining.any() else (),
        )

    def calibration_for(self, k: int, *, with_reference: bool, naming: bool) -> Calibration:
        """Return what a set of `k` passages is compared with, above others or not."""
        return measure_for(
            self._calibration,
            k,
            with_reference=with_reference,
            naming=naming,
            alpha=self._open_alpha,
        )

    def select(self, gated: Gated, embedder: Embedder) -> Decision:
        """Choose what goes from an attacked set, with RAGDefender where words leave it open."""
        judged, selection = gated.judged, gated.selection
        if judged is None or selection is None:
            return self._decision(gated, gated.decided_on, [False] * len(gated.passages))
        going, failure = selection.going, None
        left: list[int] = []
        if gated.needs:
            try:
                _, isolated, _ = group_and_isolate(
                    gated.query, gated.passages, embedder, self._strategy
                )
                going = selection.with_isolated(isolated)
            except Exception as error:  # what words alone flag goes all the same
                failure = error
                left = np.flatnonzero(selection.joining).tolist()
        undone = dict.fromkeys(left, f"not judged: {failure}") | dict(judged.undone)
        return self._decision(gated, replace(judged, undone=undone), going.tolist(), failure)

    def _decision(
        self,
        gated: Gated,
        judged: Scored | None,
        flags: list[bool],
        failure: Exception | None = None,
    ) -> Decision:
        if judged is None:
            quiet = [unsuspected(passage) for passage in gated.passages]
            return Decision(gated.attacked, gated.p_value, flags, lambda: quiet)
        late = [*judged.undone.values()].count(LATE)
        if failure is None and late:
            failure = JudgingError(
                f"of {late} of {len(gated.passages)} passages there was time to read "
                "the ends only; raise max_ms, or give shorter or fewer passages"
            )
        return Decision(
            gated.attacked,
            gated.p_value,
            flags,
            partial(explained, tuple(gated.passages), judged, flags),
            gated.decided_on,
            unusual=gated.unusual | {place for place, flag in enumerate(flags) if flag},
            undecided=[place for place in judged.undone if not flags[place]],
            failure=failure,
        )


def _at_least(line: float, suspicion: NDArray[np.float64]) -> frozenset[int]:
    return frozenset(np.flatnonzero(suspicion >= line).tolist())


def _extended(scored: Scored, below: Scored, k: int) -> Scored:
    """Return what is known of the first `k` passages, and with `below` of the others."""
    rest = {row: why for row, why in below.undone.items() if row >= k}
    return replace(
        scored,
        signals=np.concatenate([scored.signals, below.signals[k:]]),
        suspicion=np.concatenate([scored.suspicion, below.suspicion[k:]]),
        expected=np.concatenate([scored.expected, below.expected[k:]]),
        undone=dict(scored.undone) | rest,
    )
