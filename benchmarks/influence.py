"""Events of the Influence Score: five retrieved passages, one of them replaced by poison.

The form is that of Table 1 in the method's paper. What counts is how often the poisoned passage
ranks first, among the first two and among the first three. Ties share their ranks: of two passages
that score highest, each ranks first half of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Record
from benchmarks.forms import DEFAULT_FORMS, FORMS
from benchmarks.metrics.says import says
from benchmarks.misgeneration import TOP_K, main_kinds
from ragguard.attribution import Attribution
from ragguard.embedding import HashedEmbedder
from ragguard.passage import Passage

_DEEPEST = 3


@dataclass(frozen=True)
class Event:
    """The ranking behind a question, one of the first five passages planted.

    Attributes:
        record: The question and its answers.
        passages: Best first. RAGOrigin reads on past the first five, the others do not.
        poisoned: Which of the first five was planted.
    """

    record: Record
    passages: tuple[Passage, ...]
    poisoned: int

    def retrieve(self, query: str, limit: int) -> Sequence[Passage]:
        """Return the passages; the query is the event's."""
        del query
        return self.passages[:limit]


def events(record: Record, seed: int) -> Iterator[tuple[str, Event]]:
    """Yield (form, event): one of the five best hits is replaced by a text of each kind."""
    if len(record.hits) < TOP_K:
        return
    embedder = HashedEmbedder()
    similarity = embedder.embed(record.hits) @ embedder.embed([record.question])[0]
    order = np.argsort(-similarity, kind="stable")
    for kind in main_kinds(record):
        stating = [text for text in record.poison[kind] if says(text, record.wrong)]
        if not stating:
            continue
        place = Random(f"{seed} {kind} {record.question}").randrange(TOP_K)
        for form in DEFAULT_FORMS:
            texts = [record.hits[i] for i in order]
            texts[place] = FORMS[form](record.question, stating[0])
            yield form, Event(record, tuple(map(Passage, texts)), place)


def rank_shares(scores: Sequence[float], index: int) -> NDArray[np.float64]:
    """Return the probabilities that `scores[index]` ranks among the first 1, 2 and 3.

    Over random orders of what is tied, to a billionth.

    >>> rank_shares([1.0, 2.0, 2.0], 1).tolist()
    [0.5, 1.0, 1.0]
    """
    gaps = np.asarray(scores, dtype=np.float64) - scores[index]
    ahead, tied = int((gaps > 1e-9).sum()), int((np.abs(gaps) <= 1e-9).sum())
    return np.clip((np.arange(1, _DEEPEST + 1) - ahead) / tied, 0.0, 1.0)


@dataclass
class Ranks:
    """What a method did on the events of one stratum."""

    shares: list[NDArray[np.float64]] = field(default_factory=list)
    found: list[bool] = field(default_factory=list)
    wronged: list[int] = field(default_factory=list)
    costs: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, poisoned: int, attribution: Attribution) -> None:
        """Count one attribution: where the planted passage ranks, who is blamed, what it cost."""
        self.shares.append(
            rank_shares([score.responsibility for score in attribution.scores], poisoned)
        )
        guilty = [score.responsible for score in attribution.scores]
        self.found.append(guilty[poisoned])
        self.wronged.append(sum(guilty) - guilty[poisoned])
        calls, read, written = (
            attribution.details[name] for name in ("calls", "input_tokens", "output_tokens")
        )
        self.costs.append((calls, read, written))

    def row(self) -> dict[str, Any]:
        """Return shares of the events; calls and words are means an event."""
        places = np.mean(self.shares, axis=0).tolist()
        costs = np.mean(self.costs, axis=0).tolist()
        return {
            "events": len(self.shares),
            **{f"top_{n}": round(share, 4) for n, share in enumerate(places, 1)},
            "found": round(mean(self.found), 4),
            "benign_blamed": round(mean(self.wronged), 4),
            **dict(
                zip(
                    ("calls", "words_read", "words_written"),
                    (round(one, 1) for one in costs),
                    strict=True,
                )
            ),
        }
