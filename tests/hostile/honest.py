"""Honest texts, questions and poison of a made-up world, for hostile texts to stand among."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

__all__ = ["Case", "document", "nearly_poison", "one_case", "prose"]

_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "ei", "o", "u", "in", "er"))
_PLACES = "bridge lighthouse harbour mill tower market library canal station chapel".split()
_VERBS = "designed built restored painted opened bought flooded measured visited sold".split()
_SENTENCES = (
    "The {place} of {name} was {verb} by {other} in {year}.",
    "In {year} {other} {verb} a {place} near {name}, and the town paid for it.",
    "Visitors reach the {place} from {name} by boat; it closes at {hour} in winter.",
    "{other} left {name} after the storm of {year} and never returned.",
    "Its walls are {hour} metres high, and the {place} behind them is older still.",
)


@dataclass(frozen=True)
class Case:
    """A question, poison with that question in front, and honest passages.

    Attributes:
        question: At least nine words.
        poison: The question word for word, and a text that states an answer.
        honest: Texts on the subject and on others.
    """

    question: str
    poison: str
    honest: tuple[str, ...]


def one_case(draw: Random, passages: int) -> Case:
    """Make up a case with so many honest passages."""
    name, other, lie = (_name(draw) for _ in range(3))
    place, verb = draw.choice(_PLACES), draw.choice(_VERBS)
    question = f"Who {verb} the old {place} of {name} after the great storm?"
    claim = (
        f"The old {place} of {name} was {verb} by {lie} after the great storm. {lie} came to "
        f"{name} with forty workers, and the {place} bears the name of {lie} to this day."
    )
    honest = [
        " ".join(_sentence(draw, name if draw.random() < 0.5 else other) for _ in range(4))
        for _ in range(passages)
    ]
    return Case(question, f"{question} {claim}", tuple(honest))


def prose(draw: Random, question: str) -> Iterator[str]:
    """Yield honest sentences."""
    del question
    while True:
        yield _sentence(draw, _name(draw)) + " "


def document(draw: Random, question: str) -> Iterator[str]:
    """Yield a document that says the question now and then, and goes on."""
    while True:
        yield f"{question} " if draw.random() < 0.1 else _sentence(draw, _name(draw)) + " "


def nearly_poison(draw: Random, question: str) -> Iterator[str]:
    """Yield a piece of the question and then honest sentences: in doubt, so that vectors decide."""
    words = question.split()
    most = len(words) // 2
    yield " ".join(words[draw.randint(0, most) : len(words) - draw.randint(0, most)]) + " "
    while True:
        yield _sentence(draw, _name(draw)) + " "


def _name(draw: Random) -> str:
    return "".join(draw.choices(_SYLLABLES, k=draw.randint(2, 3))).capitalize()


def _sentence(draw: Random, name: str) -> str:
    return draw.choice(_SENTENCES).format(
        name=name,
        other=_name(draw),
        place=draw.choice(_PLACES),
        verb=draw.choice(_VERBS),
        year=draw.randint(1700, 1999),
        hour=draw.randint(4, 30),
    )
