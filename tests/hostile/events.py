"""Flagged responses at random, and what every attributor promises of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from random import Random
from typing import Any

from ragguard import Passage
from ragguard.attribution import Attribution, InfluenceScore, RAGForensics, RAGOrigin
from ragguard.errors import RagguardError
from ragguard.passage import as_passages
from ragguard.proxy.lexical import LexicalProxy
from tests.hostile.findings import cause_of
from tests.hostile.honest import one_case
from tests.hostile.sets import hostile_text

__all__ = ["check_event"]

_MOST = 3_000  # bytes: the background half has no limit of time, and its models cost more


def _attributor(name: str, answer: Callable[[str], str]) -> Any:
    proxy = LexicalProxy()
    makers: Mapping[str, Callable[[], Any]] = {
        "ragorigin": lambda: RAGOrigin(proxy=proxy, top_k=3, max_scope=20),
        "ragorigin, asking": lambda: RAGOrigin(
            proxy=proxy, generate=answer, judge=answer, top_k=3, max_scope=20
        ),
        "ragforensics": lambda: RAGForensics(judge=answer, top_k=3, max_scope=20, concurrency=1),
        "influence": lambda: InfluenceScore(generate=answer, samples=2, top_k=3, concurrency=1),
    }
    return makers[name]()


_NAMES = (
    *("ragorigin",) * 6,
    "ragorigin, asking",
    "ragforensics",
    "influence",
)


def check_event(draw: Random) -> Iterator[str]:
    """Attribute any response by one of the attributors, and yield what it breaks."""
    name = draw.choice(_NAMES)
    case = one_case(draw, draw.randint(0, 4))
    texts = [*case.honest, *[case.poison] * draw.randint(0, 2)]
    texts += [hostile_text(draw, case.question, _MOST) for _ in range(draw.randint(0, 3))]
    if draw.random() < 0.1:
        texts = [draw.choice(["", " ", "\x00", "\u200b", "?"]) for _ in range(draw.randint(1, 5))]
    draw.shuffle(texts)
    passages = [Passage(text, id=str(place)) for place, text in enumerate(texts)]
    query = case.question if draw.random() < 0.7 else hostile_text(draw, case.question, 500)
    response = draw.choice(
        [
            case.poison.split("? ")[-1],
            "yes",
            "I cannot answer that.",
            hostile_text(draw, case.question, _MOST),
        ]
    )
    said = hostile_text(draw, case.question, 200)
    attributor = _attributor(name, lambda prompt: said if len(prompt) % 3 else response)

    def retrieve(_: str, limit: int) -> Sequence[Passage]:
        return passages[:limit]

    try:
        found = attributor.attribute(query, response, retrieve)
    except RagguardError:
        return
    except Exception as error:
        yield f"{name}: {cause_of(error)}"
        return
    for broken in _broken(found, texts):
        yield f"{name}: {broken}"
    if draw.random() < 0.1:
        again = asyncio.run(attributor.aattribute(query, response, retrieve))
        if again.to_dict() != found.to_dict():
            yield f"{name}: aattribute answers otherwise"


def _broken(found: Attribution, texts: Sequence[str]) -> Iterator[str]:
    if len(found.scores) != found.scope_size:
        yield "scores are not one a passage"
    if not {passage.text for passage in as_passages(found.responsible)} <= set(texts):
        yield "a passage is responsible that was not retrieved"
    if bool(found.responsible) != (found.cause == "poisoning"):
        yield "responsible passages and the cause disagree"
    for score in found.scores:
        numbers = (
            score.embedding_similarity,
            score.semantic_correlation,
            score.generation_influence,
            score.responsibility,
        )
        if not all(map(isfinite, numbers)):
            yield "a score is not finite"
            break
