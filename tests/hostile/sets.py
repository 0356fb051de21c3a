"""Retrieved sets at random: honest and hostile texts, questions and poison, by number."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from ragguard import Passage
from ragguard.errors import EmbeddingError
from tests.hostile.corpus import GENERATORS, made, mixed
from tests.hostile.honest import one_case

__all__ = ["Company", "RetrievedTexts", "company", "hostile_text", "retrieved"]

_NAMES = tuple(GENERATORS)
_MANY = 24


@dataclass(frozen=True)
class RetrievedTexts:
    """What `Guard.filter` is given.

    Attributes:
        query: The question.
        passages: The passages.
        k: How many of them the generator gets.
        texts_alone: True if no passage carries anything but its text.
    """

    query: str
    passages: list[str | Passage]
    k: int | None
    texts_alone: bool


@dataclass(frozen=True)
class Company:
    """Poison among honest passages, and the same set with hostile ones in it.

    Attributes:
        query: The question that stands in front of the poison.
        poison: The poison.
        before: The poison among honest passages.
        after: The same passages in the same order, and hostile ones between and below them.
        k: How many passages the generator gets, of either set.
    """

    query: str
    poison: str
    before: list[str]
    after: list[str]
    k: int | None


def hostile_text(draw: Random, question: str, most: int = 60_000) -> str:
    """Return a hostile text of one kind or several: most are short, few have over 20 kB."""
    sizes = (300, 3_000, 20_000, 60_000)
    size = min(most, draw.randint(0, draw.choices(sizes, (70, 25, 4, 1))[0]))
    if draw.random() < 0.1:
        return made("nearly_poison", draw, question, size)
    if draw.random() < 0.7:
        return made(draw.choice(_NAMES), draw, question, size)
    names = draw.choices(_NAMES, k=draw.randint(2, 4))
    return mixed(names, draw, question, size, draw.choice((5, 50, 500)))


def retrieved(draw: Random) -> RetrievedTexts:
    """Return any set."""
    case = one_case(draw, draw.randint(0, 5))
    passages: list[Any] = [*case.honest]
    if draw.random() < 0.3:
        passages.append(case.poison)
    passages += [hostile_text(draw, case.question) for _ in range(draw.randint(0, 4))]
    if passages and draw.random() < 0.1:
        passages.append(draw.choice(passages))
    draw.shuffle(passages)
    texts_alone = draw.random() < 0.8
    if not texts_alone:
        passages = [_dressed_up(draw, text) for text in passages]
    k = draw.randint(1, len(passages) + 2) if draw.random() < 0.4 else None
    return RetrievedTexts(_query(draw, case.question), passages, k, texts_alone)


def company(draw: Random) -> Company:
    """Return poison that is found among honest passages, and what an attacker puts beside it."""
    case = one_case(draw, draw.randint(1, 5))
    before = [*case.honest]
    before.insert(draw.randint(0, len(before)), case.poison)
    # Over-fetched or not; what the attacker adds may stand above or below the first k.
    k = len(before) if draw.random() < 0.4 else None
    after = [*before]
    count = _MANY if draw.random() < 0.02 else draw.randint(1, 5)
    for _ in range(count):
        text = hostile_text(draw, case.question)
        after.insert(draw.randint(0, len(after)), text)
    return Company(case.question, case.poison, before, after, k)


def _query(draw: Random, question: str) -> str:
    match draw.randrange(10):
        case 0 | 1:
            return hostile_text(draw, question, 20_000)
        case 2:
            at = draw.randint(0, len(question))
            return question[:at] + hostile_text(draw, question, 100) + question[at:]
        case 3:
            return draw.choice(["", " ", "?", "\x00", "\ud800", "a", question.split()[0]])
        case _:
            return question


def _dressed_up(draw: Random, text: str) -> str | Passage:
    """Return the text as a passage with whatever a retriever may say of it."""
    if draw.random() < 0.3:
        return text
    odd: dict[str, Any] = {
        "id": draw.choice([None, "", "same", text[:20]]),
        "score": draw.choice([None, 0.5, -1, float("nan"), float("inf"), 10**400 % 97]),
        "metadata": draw.choice([None, {}, {text[:5]: text}, {"n": 10**30}]),
    }
    try:
        return Passage(text, embedding=_vector(draw), **odd)
    except EmbeddingError:
        return Passage(text, **odd)


def _vector(draw: Random) -> Any:
    kind = draw.randrange(7)
    if kind < 3:
        return np.array([draw.gauss(0, 1) for _ in range(4)])
    return [
        None,
        np.zeros(4),
        [draw.choice([0.0, float("nan"), float("inf"), 1e300, -1e-300]) for _ in range(4)],
        [1.0] * draw.randint(0, 3),
    ][kind - 3]
