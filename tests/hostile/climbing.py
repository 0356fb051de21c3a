"""A search for the slowest text: mixtures of hostile kinds that change a little at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.hostile.corpus import mixed

__all__ = ["Mixture", "climb"]

_MOST_KINDS = 4
_BLOCKS = (16, 1_000_000)  # bytes


@dataclass(frozen=True)
class Mixture:
    """A text, as what it is made from.

    Attributes:
        names: The kinds that take turns, of `corpus.GENERATORS`.
        block: Bytes of each turn.
        seed: Of what is random in them.
        question: Which of the questions is asked.
    """

    names: tuple[str, ...]
    block: int
    seed: int
    question: int = 0

    def text(self, question: str, size: int) -> str:
        """Return the text, of so many bytes at most."""
        return mixed(self.names, Random(self.seed), question, size, self.block)


def climb(
    cost: Callable[[Mixture], float],
    names: Sequence[str],
    evaluations: int,
    draw: Random,
    *,
    questions: int,
    population: int = 10,
) -> list[tuple[float, Mixture]]:
    """Return the costliest mixtures that were found, the worst first.

    Every kind alone is tried once; the worst of them are then changed at random, and what costs
    more takes their place (an evolution strategy of mu plus one).

    Args:
        cost: What a mixture costs.
        names: The kinds that there are.
        evaluations: How many mixtures are tried in all.
        draw: Where the randomness comes from.
        questions: How many questions there are.
        population: How many of the worst are kept and changed.
    """
    alone = [Mixture((name,), _BLOCKS[1], number) for number, name in enumerate(names)]
    worst = sorted(((cost(one), one) for one in alone[:evaluations]), key=_cost, reverse=True)
    worst = worst[:population]
    tried = {one for _, one in worst}
    for _ in range(evaluations - len(alone)):
        child = _changed(draw.choice(worst)[1], worst, names, draw, questions)
        if child in tried:
            continue
        tried.add(child)
        worst = sorted([*worst, (cost(child), child)], key=_cost, reverse=True)[:population]
    return worst


def _cost(measured: tuple[float, Mixture]) -> float:
    return measured[0]


def _changed(
    one: Mixture,
    worst: Sequence[tuple[float, Mixture]],
    known: Sequence[str],
    draw: Random,
    questions: int,
) -> Mixture:
    names = list(one.names)
    match draw.randrange(6):
        case 0:
            names.insert(draw.randint(0, len(names)), draw.choice(known))
        case 1:
            names[draw.randrange(len(names))] = draw.choice(known)
        case 2:
            names += draw.choice(worst)[1].names
        case 3:
            least, most = _BLOCKS
            factor = draw.choice((0.125, 0.5, 2.0, 8.0))
            return replace(one, block=int(min(max(one.block * factor, least), most)))
        case 4:
            return replace(one, question=draw.randrange(questions))
        case _:
            return replace(one, seed=draw.randrange(1 << 30))
    kept = draw.sample(names, min(len(names), _MOST_KINDS))
    # Turns that never come would change nothing.
    return replace(one, names=tuple(kept), block=min(one.block, 4096))
