"""The guard as the attacker asks it: texts in; rank, suspicion and verdict out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.clean import SIZES
from benchmarks.datasets import Record
from benchmarks.retrieval import OVER_FETCH
from ragguard import Guard, Passage
from ragguard.embedding import Embedder

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """How the attacked system is set up: `k` passages for the generator, of k * over_fetch."""

    k: int
    over_fetch: int


SETTINGS = tuple(Setting(k, over_fetch) for k in SIZES for over_fetch in (1, OVER_FETCH))
COUNTS = (1, 5)
"""How many texts the attacker plants (M)."""


class Ranking:
    """A record's hits, embedded and ranked once; texts are planted among them.

    Ranks as `benchmarks.retrieval.retrieve` does: equal similarities keep hits before poison.

    Args:
        record: The question and its hits.
        embedder: Ranks them.
    """

    def __init__(self, record: Record, embedder: Embedder) -> None:
        self.record = record
        self.embedder = embedder
        rows = embedder.embed([record.question, *record.hits])
        self.question_row: NDArray[np.float32] = rows[0]
        similarity = rows[1:] @ rows[0]
        order = np.argsort(-similarity, kind="stable")
        self._similarity = similarity[order]
        self._hits = [
            Passage(record.hits[i], id=f"hit {i}", embedding=rows[1 + i]) for i in order.tolist()
        ]

    def similarity(self, texts: Sequence[str]) -> Floats:
        """Return each text's similarity to the question."""
        rows = self.embedder.embed(texts)
        return np.asarray(rows @ self.question_row, dtype=np.float64)

    def ranked(self, texts: Sequence[str], limit: int | None = None) -> list[Passage]:
        """Return hits and planted texts, best first; the id of a planted text is "planted N"."""
        rows = self.embedder.embed(texts) if texts else np.empty((0, len(self.question_row)))
        planted = [
            Passage(text, id=f"planted {i}", embedding=row)
            for i, (text, row) in enumerate(zip(texts, rows, strict=True))
        ]
        similarity = np.concatenate([self._similarity, rows @ self.question_row])
        order = np.argsort(-similarity, kind="stable")[:limit]
        every = [*self._hits, *planted]
        return [every[i] for i in order]


@dataclass(frozen=True)
class Answer:
    """What became of planted texts.

    Attributes:
        texts: What was planted.
        similarity: float64 array of shape (n,): each text's, to the question.
        places: For each text its place among the first k, or None.
        suspicion: Of the most suspicious planted text among the first k; -inf if there is none.
        detected: The gate fired.
        p_value: Of "this is clean traffic".
        removed: Planted texts among the first k that were dropped.
        reaching: Planted texts that reach the generator.
        benign: Other passages among the first k.
        benign_removed: Those of them that were dropped.
        golden: A passage that answers the question is among the first k.
        golden_removed: Such a passage was dropped.
        golden_reaching: Such a passage reaches the generator, moved up from below perhaps.
    """

    texts: tuple[str, ...]
    similarity: Floats
    places: tuple[int | None, ...]
    suspicion: float
    detected: bool
    p_value: float
    removed: int
    reaching: tuple[str, ...]
    benign: int
    benign_removed: int
    golden: bool
    golden_removed: bool
    golden_reaching: bool

    @property
    def retrieved(self) -> int:
        """How many of the planted texts are among the first k."""
        return sum(place is not None for place in self.places)


class Oracle:
    """Answers what the guard makes of planted texts, and counts how often it was asked.

    Args:
        ranking: The question's hits, ranked.
        guard: The attacker's copy of the guard, or the attacked one.
        setting: How the attacked system is set up.

    Attributes:
        asked: How often it was asked.
        past: For each number of planted texts, how often it had been asked when first as many
            came past the guard with one of them retrieved.
    """

    def __init__(self, ranking: Ranking, guard: Guard, setting: Setting) -> None:
        self.ranking = ranking
        self.setting = setting
        self.asked = 0
        self.past: dict[int, int] = {}
        self._guard = guard

    def ask(self, texts: Sequence[str]) -> Answer:
        """Plant the texts, retrieve, filter."""
        self.asked += 1
        k = self.setting.k
        record = self.ranking.record
        given = self.ranking.ranked(texts, k * self.setting.over_fetch)
        verdict = self._guard.filter(record.question, given, k=k)
        shown = list(zip(given, verdict.evidence, strict=True))[:k]
        places = {passage.id: place for place, (passage, _) in enumerate(shown)}
        mine = [evidence for passage, evidence in shown if passage.id.startswith("planted")]
        rest = [(p, evidence) for p, evidence in shown if p.id.startswith("hit")]
        if mine and not verdict.attacked:
            self.past.setdefault(len(texts), self.asked)
        return Answer(
            texts=tuple(texts),
            similarity=self.ranking.similarity(texts) if texts else np.empty(0),
            places=tuple(places.get(f"planted {i}") for i in range(len(texts))),
            suspicion=max((evidence.suspicion for evidence in mine), default=-np.inf),
            detected=verdict.attacked,
            p_value=verdict.p_value,
            removed=sum(evidence.flagged for evidence in mine),
            reaching=tuple(p.text for p in verdict.kept[:k] if p.id.startswith("planted")),
            benign=len(rest),
            benign_removed=sum(evidence.flagged for _, evidence in rest),
            golden=any(passage.text in record.golden for passage, _ in rest),
            golden_removed=any(e.flagged and p.text in record.golden for p, e in rest),
            golden_reaching=any(
                p.text in record.golden for p in verdict.kept[:k] if p.id.startswith("hit")
            ),
        )
