"""RAGDefender as its paper states it, without a gate: the baseline that everything is held against.

It drops passages from clean sets as well: use it to compare, not to protect.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ragguard.embedding.adapt import Embedder
from ragguard.inline.budget import Budget
from ragguard.inline.decision import Decision, Gated, Strategy
from ragguard.inline.explanations import explained_by_pairs
from ragguard.inline.ragdefender import group_and_isolate
from ragguard.inline.ragdefender.grouping import load_clustering
from ragguard.inline.ragdefender.isolation import frequency_scores
from ragguard.passage import Passage


class RAGDefenderFilter:
    """Groups, isolates and drops on every query.

    Its p-value is 1 for a set that it leaves alone and 0 otherwise: it has no notion of clean.

    Args:
        embedder: Embeds passages that carry no vector.
        strategy: "clustering" for single-hop questions, "concentration" for multi-hop ones; "auto"
            chooses by the question (`ragguard.inline.ragdefender.grouping.choose_strategy`).
    """

    def __init__(self, embedder: Embedder, *, strategy: Strategy = "auto") -> None:
        if strategy != "concentration":
            load_clustering()
        self._embedder = embedder
        self._strategy = strategy

    def decide(self, query: str, passages: Sequence[Passage], k: int) -> Decision:
        """Decide on the first `k` passages; what lies below them is kept.

        Raises:
            EmbeddingError: The passages cannot be embedded.
        """
        return self.select(self.gate(query, passages, k), self._embedder)

    def gate(
        self, query: str, passages: Sequence[Passage], k: int, _: Budget | None = None
    ) -> Gated:
        """Name the passages to embed: without a gate, every set needs its vectors.

        It reads no text, so that no budget is spent.
        """
        shown = passages[:k]
        return Gated(
            query, passages, k, attacked=False, p_value=1.0, needs=shown if shown[1:] else ()
        )

    def select(self, gated: Gated, embedder: Embedder) -> Decision:
        """Drop what isolation marks."""
        flagged = np.zeros(len(gated.passages), dtype=bool)
        scores = np.zeros(len(gated.passages))
        if shown := gated.needs:
            count, isolated, similarity = group_and_isolate(
                gated.query, shown, embedder, self._strategy
            )
            flagged[: len(shown)] = isolated
            scores[: len(shown)] = frequency_scores(similarity, count)
        attacked = bool(flagged.any())
        flags: list[bool] = flagged.tolist()
        explain = partial(explained_by_pairs, tuple(gated.passages), scores.tolist(), flags)
        return Decision(attacked, 0.0 if attacked else 1.0, flags, explain)
