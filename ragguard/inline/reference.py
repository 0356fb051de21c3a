"""The reference attacks: what a gate must go on finding, whatever it is calibrated on.

Written by this project on its own fictional knowledge base (`benchmarks.make_reference`): questions
of several forms, each carried into one and into three planted passages in four ways. Everybody can
read them, so they say nothing of an attack that was made to pass; they say how far a threshold has
risen, in attacks that are no longer found.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.judge import ConformalJudge
from ragguard.passage import Passage

__all__ = ["K", "ReferenceAttack", "reference_attacks", "reference_scores"]

K = 5
"""How many passages of each attack would reach the generator; five more are its reference."""


@dataclass(frozen=True)
class ReferenceAttack:
    """A question and what is retrieved for it.

    Attributes:
        query: The question.
        form: How the planted passages carry it, in words.
        passages: Ten, best first.
        planted: Ranks of the planted ones.
    """

    query: str
    form: str
    passages: tuple[Passage, ...]
    planted: tuple[int, ...]


@cache
def reference_attacks() -> tuple[ReferenceAttack, ...]:
    """Return the shipped attacks."""
    file = resources.files("ragguard.inline") / "reference_attacks.jsonl"
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        for attack in asked["attacks"]:
            texts = list(asked["hits"])
            for rank, text in zip(attack["ranks"], attack["texts"], strict=True):
                texts.insert(rank, text)
            passages = tuple(map(Passage, texts[: len(asked["hits"])]))
            ranks = tuple(attack["ranks"])
            found.append(ReferenceAttack(asked["query"], attack["form"], passages, ranks))
    return tuple(found)


def reference_scores(
    judge: ConformalJudge, size: int, *, with_reference: bool
) -> NDArray[np.float64]:
    """Return what the attacks score: float64 array of shape (n,).

    Args:
        judge: Scores them; its calibration has no part in it.
        size: How many passages of a query are judged, at most; of an attack `K` are.
        with_reference: Whether the passages below those are shown as reference.
    """
    k = min(size, K)
    shown = None if with_reference else k
    return np.array(
        [judge.score(one.query, one.passages[:shown], k).score for one in reference_attacks()]
    )
