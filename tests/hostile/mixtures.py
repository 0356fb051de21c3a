"""The mixtures that cost a guard most processor time, searched for and then measured with care."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.hostile.climbing import Mixture, climb
from tests.hostile.costs import QUESTIONS, milliseconds

__all__ = ["Candidate", "search", "worst_of"]


@dataclass(frozen=True)
class Candidate:
    """A mixture as a passage of one size.

    Attributes:
        size: Bytes.
        quarantine: Whether something is in quarantine.
        mixture: What the text is made from.
        evaluations: How many mixtures were tried to find it.
    """

    size: int
    quarantine: bool
    mixture: Mixture
    evaluations: int

    def cost(self) -> float:
        """Return the milliseconds of one first reading."""
        question = QUESTIONS[self.mixture.question]
        text = self.mixture.text(question, self.size)
        return milliseconds(question, [text], quarantine=self.quarantine, repeats=1)[0]


def search(
    names: Sequence[str],
    size: int,
    quarantine: bool,
    evaluations: int,
    draw: Random,
    tick: Callable[[], None],
) -> list[Candidate]:
    """Return candidates for the worst passage of a size.

    Args:
        names: The kinds that there are.
        size: Bytes.
        quarantine: Whether something is in quarantine.
        evaluations: How many mixtures are tried.
        draw: Where the randomness comes from.
        tick: Called for every mixture.
    """

    def cost(one: Mixture) -> float:
        tick()
        return Candidate(size, quarantine, one, evaluations).cost()

    found = climb(cost, names, evaluations, draw, questions=len(QUESTIONS))
    return [Candidate(size, quarantine, one, evaluations) for _, one in found]


def worst_of(
    found: Sequence[Candidate], rounds: int, tick: Callable[[], None]
) -> list[dict[str, Any]]:
    """Measure all candidates again and return the worst of each size, with and without quarantine.

    Round by round, and the fastest time of each counts: a machine that is slow for a while, and one
    time that is long by accident, make no text the worst.

    Args:
        found: The candidates.
        rounds: How often each is measured.
        tick: Called after every round.
    """
    fastest = dict.fromkeys(found, float("inf"))
    for _ in range(rounds):
        for one, known in fastest.items():
            fastest[one] = min(known, one.cost())
        tick()
    worst: dict[tuple[int, bool], Candidate] = {}
    for one, cpu_ms in fastest.items():
        key = one.size, one.quarantine
        if key not in worst or cpu_ms > fastest[worst[key]]:
            worst[key] = one
    return [
        {
            "size": one.size,
            "quarantine": one.quarantine,
            "cpu_ms": round(fastest[one], 2),
            "kinds": " + ".join(one.mixture.names),
            "block": one.mixture.block,
            "seed": one.mixture.seed,
            "question": one.mixture.question,
            "evaluations": one.evaluations,
        }
        for one in worst.values()
    ]
