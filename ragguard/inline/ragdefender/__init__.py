"""RAGDefender: grouping (Eq. 1 to 3), then isolation (Eq. 4 to 7).

Kim, Lee and Koo, "Rescuing the Unpoisoned: Efficient Defense against Knowledge Corruption Attacks
on RAG Systems" (2025), Sections 4.1 and 4.2. The filter runs both where words leave open which
passages go (`ragguard.inline.pipeline`), the baseline on every query (`baseline`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.embedding.vectors import similarity_matrix, vectors
from ragguard.inline.decision import Strategy
from ragguard.inline.ragdefender.grouping import (
    choose_strategy,
    clustering_count,
    concentration_count,
    tfidf_terms,
)
from ragguard.inline.ragdefender.isolation import isolate
from ragguard.inline.tokens import tokenize_query
from ragguard.passage import Passage


def group_and_isolate(
    query: str, passages: Sequence[Passage], embedder: Embedder, strategy: Strategy
) -> tuple[int, NDArray[np.bool_], NDArray[np.float64]]:
    """Run RAGDefender's grouping and isolation on a set of at least two passages.

    Returns:
        N_adv, the bool array (n,) of isolated passages, and the (n, n) similarity matrix.
    """
    rows = vectors(passages, embedder)
    similarity = similarity_matrix(rows)
    chosen = choose_strategy(tokenize_query(query).sequence) if strategy == "auto" else strategy
    if chosen == "clustering":
        count = clustering_count(rows, [tfidf_terms(passage.text) for passage in passages])
    else:
        count = concentration_count(similarity)
    return count, isolate(similarity, count), similarity
