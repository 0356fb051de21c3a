"""The inline judge: words -> signals -> suspicion -> gate -> grouping -> isolation -> selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.protocol import Embedder
from ragguard.inline.calibration import Calibration, default_calibration
from ragguard.inline.grouping import (
    GroupingStrategy,
    choose_strategy,
    clustering_count,
    concentration_count,
    load_clustering,
)
from ragguard.inline.isolation import isolate
from ragguard.inline.naturalness import language_model
from ragguard.inline.reasons import CLEAN, describe, named
from ragguard.inline.selection import may_join, select, singled_out
from ragguard.inline.signals import SIGNALS, signal_matrix
from ragguard.inline.suspicion import contributions, nonconformity, suspicions
from ragguard.inline.terms import tfidf_terms
from ragguard.inline.vectors import similarity_matrix, vectors
from ragguard.inline.words import passage_words, query_words
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = [
    "ConformalJudge",
    "Judge",
    "Judgement",
    "Opened",
    "Scored",
    "Strategy",
    "group_and_isolate",
]

Strategy = Literal["auto", "clustering", "concentration"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """The evidence of one set as arrays: signals (k, s), suspicion (k,), and the set's score."""

    signals: Floats
    suspicion: Floats
    score: float
    with_reference: bool = False


@dataclass(frozen=True)
class Judgement:
    """What a judge says of one retrieved set.

    Attributes:
        attacked: True if the gate fired.
        p_value: Of "this is clean traffic".
        flagged: For every passage, in order, whether it is to be dropped.
        explain: Puts the evidence into words, one entry a passage; what costs more than it takes
            to judge a set is left until somebody reads it.
        scored: What the gate decided on, or None where nothing was scored.
    """

    attacked: bool
    p_value: float
    flagged: list[bool]
    explain: Callable[[], list[Evidence]]
    scored: Scored | None = None

    @property
    def evidence(self) -> list[Evidence]:
        """The evidence of every passage, in order."""
        return self.explain()


@dataclass(frozen=True)
class Opened:
    """A set past the gate, not yet judged.

    Attributes:
        needs: The passages whose vectors `finish` will ask for; none for a clean set, and none for
            an attacked one in which vectors decide nothing.
        finish: Judges the set with the vectors of an embedder.
    """

    needs: Sequence[Passage]
    finish: Callable[[Embedder], Judgement]


class Judge(Protocol):
    """Says which passages of a retrieved set are to be dropped."""

    def open(self, query: str, passages: Sequence[Passage], k: int) -> Opened:
        """Do what needs no vectors, so that a batch can be embedded in one call.

        `passages` are in rank order; the first `k` would reach the generator.
        """
        ...


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
        choose_strategy(query_words(query).sequence) if strategy == "auto" else strategy
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
        language_model()
        if strategy != "concentration":
            load_clustering()
        self._embedder = embedder
        self._strategy = strategy
        self._alpha = alpha
        self._calibration = calibration

    def score(self, query: str, passages: Sequence[Passage], k: int) -> Scored:
        """Compute the evidence of the first `k` passages; the others are the reference.

        Equal texts count once, or a benign page stored twice would keep itself company.
        """
        texts = [passage.text for passage in passages]
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts[:k]))}
        reference = [text for text in dict.fromkeys(texts[k:]) if text not in row_of]
        signals = signal_matrix(
            query_words(query),
            [passage_words(text) for text in (*row_of, *reference)],
            len(row_of),
        )
        if len(row_of) < k:
            signals = signals[[row_of[text] for text in texts[:k]]]
        suspicion = suspicions(signals)
        return Scored(signals, suspicion, nonconformity(suspicion), len(passages) > k)

    def judge(self, query: str, passages: Sequence[Passage], k: int) -> Judgement:
        """Judge a set.

        Raises:
            EmbeddingError: The gate fired, vectors decide, and the passages cannot be embedded.
        """
        return self.open(query, passages, k).finish(self._embedder)

    def open(self, query: str, passages: Sequence[Passage], k: int) -> Opened:
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
        scored = self.score(query, shown, k)
        gated, score = scored.suspicion, scored.score
        if k > (reach := calibration.reach(self._alpha)):
            gated = gated[:reach]
            score = nonconformity(gated)
        p_value = calibration.p_value(score, len(gated))
        if p_value > self._alpha:
            kept = [False] * len(passages)
            clean = Judgement(
                False, p_value, kept, partial(_evidence, tuple(passages), scored, kept), scored
            )
            return Opened((), lambda _: clean)
        judged = scored
        if over_fetched:
            # What would move up must be judged as well.
            below = self.score(query, passages, len(passages))
            judged = Scored(
                np.concatenate([scored.signals, below.signals[k:]]),
                np.concatenate([scored.suspicion, below.suspicion[k:]]),
                scored.score,
            )

        p_values = calibration.passage_p_values(judged.suspicion)
        # Of many passages few can be discoveries; one that would fire the gate by itself goes.
        evident = judged.suspicion >= calibration.threshold(self._alpha, len(gated))

        def judgement(selected: NDArray[np.bool_]) -> Judgement:
            flags = (selected | evident).tolist()
            explain = partial(_evidence, tuple(passages), judged, flags)
            return Judgement(True, p_value, flags, explain, scored)

        found = singled_out(p_values)
        if not (may_join(p_values, judged.suspicion, found) & ~evident).any():
            # Whatever isolation marked, the same would go.
            decided = judgement(found)
            return Opened((), lambda _: decided)

        def finish(embedder: Embedder) -> Judgement:
            _, isolated, _ = group_and_isolate(query, passages, embedder, self._strategy)
            return judgement(select(p_values, judged.suspicion, isolated))

        return Opened(passages, finish)


def _evidence(
    passages: Sequence[Passage], scored: Scored, flagged: Sequence[bool]
) -> list[Evidence]:
    """Put the arrays into words; passages below the judged ones have no signals of their own."""
    added = contributions(scored.signals).tolist()
    rows, suspicion = scored.signals.tolist(), scored.suspicion.tolist()
    evidence = []
    for position, passage in enumerate(passages):
        if position >= len(rows):
            evidence.append(Evidence(passage.id, "none", 0.0, CLEAN, {}, 0.0, flagged=False))
            continue
        signals = dict(zip(SIGNALS, rows[position], strict=True))
        telling = named(signals, dict(zip(SIGNALS, added[position], strict=True)))
        evidence.append(
            Evidence(
                passage_id=passage.id,
                signal=telling[0] if telling else "none",
                strength=signals[telling[0]] if telling else 0.0,
                reason="; ".join([describe(name, signals[name]) for name in telling]) or CLEAN,
                signals=signals,
                suspicion=suspicion[position],
                flagged=flagged[position],
            )
        )
    return evidence
