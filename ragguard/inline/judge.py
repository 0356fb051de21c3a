"""The inline judge: words -> signals -> suspicion -> gate -> grouping -> isolation -> selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.embedding.vectors import similarity_matrix, vectors
from ragguard.errors import JudgingError
from ragguard.inline.budget import Budget
from ragguard.inline.class_bigram import class_bigram
from ragguard.inline.conformal import Calibration, default_calibration
from ragguard.inline.explanation import explained
from ragguard.inline.features import signals_in_time
from ragguard.inline.judgement import Judgement, Opened, Scored, Strategy
from ragguard.inline.ragdefender.grouping import (
    GroupingStrategy,
    choose_strategy,
    clustering_count,
    concentration_count,
    load_clustering,
)
from ragguard.inline.ragdefender.isolation import isolate
from ragguard.inline.ragdefender.tfidf import tfidf_terms
from ragguard.inline.scoring import nonconformity, suspicions
from ragguard.inline.selection import may_join, select, singled_out
from ragguard.inline.tokens import ENDS, tokenize_ends, tokenize_passage, tokenize_query
from ragguard.passage import Passage

__all__ = ["ConformalJudge", "group_and_isolate"]

Floats = NDArray[np.float64]

_LATE = "there was time for its ends only"


def group_and_isolate(
    query: str,
    passages: Sequence[Passage],
    embedder: Embedder,
    strategy: Strategy,
) -> tuple[int, NDArray[np.bool_], Floats]:
    """Run RAGDefender's grouping and isolation on a set of at least two passages.

    Returns:
        N_adv, the bool array (n,) of isolated passages, and the (n, n) similarity matrix.
    """
    rows = vectors(passages, embedder)
    similarity = similarity_matrix(rows)
    chosen: GroupingStrategy = (
        choose_strategy(tokenize_query(query).sequence) if strategy == "auto" else strategy
    )
    if chosen == "clustering":
        count = clustering_count(rows, [tfidf_terms(passage.text) for passage in passages])
    else:
        count = concentration_count(similarity)
    return count, isolate(similarity, count), similarity


class ConformalJudge:
    """Leaves clean traffic alone, up to a share of `alpha`, and takes out what stands out.

    Args:
        embedder: Used only for sets that the gate found attacked, and only where grouping and
            isolation can change what goes.
        strategy: RAGDefender's grouping; "auto" chooses by the question.
        alpha: Share of clean queries that may be touched.
        calibration: Scores of clean traffic; None means the shipped ones.

    Raises:
        CalibrationError: The calibration has too few queries for `alpha`.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        strategy: Strategy = "auto",
        alpha: float = 0.01,
        calibration: Calibration | None = None,
    ) -> None:
        sample = calibration or default_calibration(1, with_reference=False)
        sample.require(alpha)
        # Read now, not at the first query.
        class_bigram()
        if strategy != "concentration":
            load_clustering()
        self._embedder = embedder
        self._strategy = strategy
        self._alpha = alpha
        self._calibration = calibration

    def score(
        self, query: str, passages: Sequence[Passage], k: int, budget: Budget | None = None
    ) -> Scored:
        """Compute the evidence of the first `k` passages; the others are the reference.

        Equal texts count once, or a benign page stored twice would keep itself company. Of long
        passages for which the budget does not suffice both ends are read, the shortest first.
        """
        budget = budget or Budget()
        texts = [passage.text for passage in passages]
        distinct = dict.fromkeys(texts)
        hurried: set[str] = set()
        if max(map(len, distinct)) <= ENDS:  # there is time for all
            read = {text: tokenize_passage(text) for text in distinct}
        else:
            read = {}
            for text in sorted(distinct, key=len):
                if len(text) > ENDS and budget.spent():
                    hurried.add(text)
                    read[text] = tokenize_ends(text)
                else:
                    read[text] = tokenize_passage(text)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts[:k]))}
        reference = [text for text in dict.fromkeys(texts[k:]) if text not in row_of]
        signals, late = signals_in_time(
            tokenize_query(query),
            [read[text] for text in (*row_of, *reference)],
            len(row_of),
            budget,
        )
        if len(row_of) < k:
            signals = signals[[row_of[text] for text in texts[:k]]]
        suspicion = suspicions(signals)
        undone: dict[int, str] = {}
        if hurried or late or sum([one.unread for one in read.values()]):
            for row, text in enumerate(texts[:k]):
                if text in hurried or row_of[text] in late:
                    undone[row] = _LATE
                elif read[text].unread:
                    undone[row] = f"{read[text].unread} characters in its middle were not read"
        return Scored(
            signals,
            suspicion,
            nonconformity(suspicion),
            len(passages) > k,
            undone,
            late=[row for row, why in undone.items() if why is _LATE],
        )

    def judge(self, query: str, passages: Sequence[Passage], k: int) -> Judgement:
        """Judge a set.

        Whatever an embedder raises is in `failure`, and what words alone flag is flagged.
        """
        return self.open(query, passages, k).finish(self._embedder)

    def open(
        self, query: str, passages: Sequence[Passage], k: int, budget: Budget | None = None
    ) -> Opened:
        """Score a set and ask the gate; only an attacked one may need vectors to be judged."""
        if not passages:
            nothing = Judgement(attacked=False, p_value=1.0, flagged=[], explain=list)
            return Opened((), lambda _: nothing)
        k = min(k, len(passages))
        calibration = self._calibration
        over_fetched = len(passages) > k
        if calibration is None:
            calibration = default_calibration(k, with_reference=over_fetched)
        shown = passages if calibration.with_reference else passages[:k]
        budget = budget or Budget()
        scored = self.score(query, shown, k, budget)
        gated, score = scored.suspicion, scored.score
        if k > (reach := calibration.reach(self._alpha)):
            gated = gated[:reach]
            score = nonconformity(gated)
        p_value = calibration.p_value(score, len(gated))
        if p_value > self._alpha:
            clean = self._judgement(False, p_value, passages, scored, [False] * len(passages))
            return Opened((), lambda _: clean)
        judged = scored
        if over_fetched:
            # What would move up must be judged as well.
            below = self.score(query, passages, len(passages), budget)
            judged = replace(
                scored,
                signals=np.concatenate([scored.signals, below.signals[k:]]),
                suspicion=np.concatenate([scored.suspicion, below.suspicion[k:]]),
                undone=dict(scored.undone)
                | {row: why for row, why in below.undone.items() if row >= k},
                late=[*scored.late, *[row for row in below.late if row >= k]],
            )

        p_values = calibration.passage_p_values(judged.suspicion)
        # Of many passages few can be discoveries; one that would fire the gate by itself goes.
        evident = judged.suspicion >= calibration.threshold(self._alpha, len(gated))

        def judgement(
            selected: NDArray[np.bool_], open_to: Iterable[int] = (), why: Exception | None = None
        ) -> Judgement:
            left = dict.fromkeys(open_to, f"not judged: {why}")
            flags = (selected | evident).tolist()
            rest = replace(judged, undone=left | dict(judged.undone)) if left else judged
            found = self._judgement(True, p_value, passages, rest, flags)
            return replace(found, scored=scored, failure=why or found.failure)

        found = singled_out(p_values)
        joining = may_join(p_values, judged.suspicion, found) & ~evident
        if not joining.any():
            # Whatever isolation marked, the same would go.
            decided = judgement(found)
            return Opened((), lambda _: decided)

        def finish(embedder: Embedder) -> Judgement:
            try:
                _, isolated, _ = group_and_isolate(query, passages, embedder, self._strategy)
            except Exception as failure:  # what words alone flag goes all the same
                return judgement(found, np.flatnonzero(joining).tolist(), failure)
            return judgement(select(p_values, judged.suspicion, isolated))

        return Opened(passages, finish)

    def _judgement(
        self,
        attacked: bool,
        p_value: float,
        passages: Sequence[Passage],
        scored: Scored,
        flags: list[bool],
    ) -> Judgement:
        failure = None
        if scored.late:
            failure = JudgingError(
                f"of {len(scored.late)} of {len(passages)} passages there was time to read the "
                "ends only; raise max_ms, or give shorter or fewer passages"
            )
        return Judgement(
            attacked,
            p_value,
            flags,
            partial(explained, tuple(passages), scored, flags),
            scored,
            undecided=[place for place in scored.undone if not flags[place]],
            failure=failure,
        )
