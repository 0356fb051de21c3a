"""RAGDefender as its paper states it, without a gate: the baseline that everything is held against.

Kim, Lee and Koo, "Rescuing the Unpoisoned: Efficient Defense against Knowledge Corruption Attacks
on RAG Systems" (2025), Sections 4.1 and 4.2. It supposes that every set holds poison, so it drops
passages from clean sets as well: use it to compare, not to protect.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragguard.embedding.adapt import Embedder
from ragguard.inline.budget import Budget
from ragguard.inline.judge import group_and_isolate
from ragguard.inline.judgement import Judgement, Opened, Strategy
from ragguard.inline.ragdefender.grouping import load_clustering
from ragguard.inline.ragdefender.isolation import frequency_scores
from ragguard.inline.reasons import CLEAN, describe
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = ["RAGDefenderJudge"]


class RAGDefenderJudge:
    """Groups, isolates and drops on every query.

    Its p-value is 1 for a set that it leaves alone and 0 otherwise: it has no notion of clean.

    Args:
        embedder: Embeds passages that carry no vector.
        strategy: "clustering" for single-hop questions, "concentration" for multi-hop ones; "auto"
            chooses by the question (`ragguard.inline.grouping.choose_strategy`).
    """

    def __init__(self, embedder: Embedder, *, strategy: Strategy = "auto") -> None:
        if strategy != "concentration":
            load_clustering()
        self._embedder = embedder
        self._strategy = strategy

    def judge(self, query: str, passages: Sequence[Passage], k: int) -> Judgement:
        """Judge the first `k` passages; what lies below them is kept.

        Raises:
            EmbeddingError: The passages cannot be embedded.
        """
        return self.open(query, passages, k).finish(self._embedder)

    def open(
        self, query: str, passages: Sequence[Passage], k: int, _: Budget | None = None
    ) -> Opened:
        """Name the passages to embed: without a gate, every set needs its vectors.

        It reads no text, so that no budget is spent.
        """
        return Opened(
            passages[:k] if min(k, len(passages)) > 1 else (),
            lambda embedder: self._judge(query, passages, k, embedder),
        )

    def _judge(
        self, query: str, passages: Sequence[Passage], k: int, embedder: Embedder
    ) -> Judgement:
        shown = passages[:k]
        flagged = np.zeros(len(passages), dtype=bool)
        scores = np.zeros(len(passages))
        if len(shown) > 1:
            count, isolated, similarity = group_and_isolate(query, shown, embedder, self._strategy)
            flagged[: len(shown)] = isolated
            scores[: len(shown)] = frequency_scores(similarity, count)
        attacked = bool(flagged.any())
        evidence = [
            Evidence(
                passage_id=passage.id,
                signal="pair_frequency" if flag else "none",
                strength=float(score) if flag else 0.0,
                reason=describe("pair_frequency", float(score)) if flag else CLEAN,
                signals={"pair_frequency": float(score)},
                suspicion=float(score),
                flagged=bool(flag),
            )
            for passage, flag, score in zip(passages, flagged, scores, strict=True)
        ]
        return Judgement(attacked, 0.0 if attacked else 1.0, flagged.tolist(), lambda: evidence)
