"""Attribution by what a language model answers, asked in rounds, synchronously or on a loop.

A method is written once, so that both ways agree: as a generator that yields the prompts of a
round, is sent their answers in the same order, and returns its `Conclusion`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from ragguard.arguments import require_whole
from ragguard.attribution.ragorigin.responsibility import embedding_similarity
from ragguard.attribution.result import Attribution, Cause, Retrieve
from ragguard.attribution.search import search_of
from ragguard.attribution.text_model import TextModel, as_text_model
from ragguard.embedding import CachedEmbedder
from ragguard.errors import GenerationError
from ragguard.passage import Passage


class Conclusion(NamedTuple):
    """What a method has found about n passages: a score and a flag for each, cause and reason."""

    scope: Sequence[Passage]
    responsibility: Sequence[float]
    responsible: Sequence[bool]
    finding: tuple[Cause, str]
    details: Mapping[str, Any]


Rounds = Generator[list[str], list[str], Conclusion]


class LLMAttributor(ABC):
    """Attribution by what a language model answers, as the subclass asks it, `_rounds`."""

    _method: str
    _spares = False  # whether "" answers a prompt that the model refuses for good, if not all

    def __init__(self, model: Any, *, embedder: Any, concurrency: int) -> None:
        self._model = as_text_model(model)
        self._embedder = CachedEmbedder.of(embedder)
        self._concurrency = require_whole("concurrency", concurrency)

    def attribute(self, query: str, response: str, retrieve: Retrieve | Any) -> Attribution:
        """Return the passages in scope, and which of them are responsible for `response`.

        There is no semantic correlation and no generation influence: both are 0.0, and
        `details["not_scored"]` names them. `details` also tells what the model was asked for.

        Raises:
            InvalidInputError: The query or the response is blank, `retrieve` is not what
                `as_retrieve` takes, or a function that was given for the method raised.
            GenerationError: The model did not answer.
        """
        rounds = self._rounds(query, response, search_of(query, response, retrieve))
        model, spared = self._model.metered(), self._spared()
        step, heard = _advance(rounds, None), False
        while isinstance(step, list):
            answers = model.generate_many(step, limit=self._concurrency, spared=spared)
            heard = _heard(heard, answers, spared)
            step = _advance(rounds, answers)
        return self._report(query, response, model, step)

    async def aattribute(self, query: str, response: str, retrieve: Retrieve | Any) -> Attribution:
        """Return what `attribute` returns or raises; a worker thread retrieves and embeds."""
        rounds = self._rounds(query, response, search_of(query, response, retrieve))
        model, spared = self._model.metered(), self._spared()
        step, heard = await asyncio.to_thread(_advance, rounds, None), False
        while isinstance(step, list):
            answers = await model.agenerate_many(step, limit=self._concurrency, spared=spared)
            heard = _heard(heard, answers, spared)
            step = await asyncio.to_thread(_advance, rounds, answers)
        return await asyncio.to_thread(self._report, query, response, model, step)

    @abstractmethod
    def _rounds(self, query: str, response: str, retrieve: Retrieve) -> Rounds:
        """Yield the prompts of each round, and return the conclusion from their answers."""

    def _spared(self) -> list[GenerationError] | None:
        return [] if self._spares else None

    def _report(
        self, query: str, response: str, model: TextModel, found: Conclusion
    ) -> Attribution:
        nothing = [0.0] * len(found.scope)
        similarity = embedding_similarity(self._embedder, query, found.scope)
        return Attribution.of(
            query,
            response,
            self._method,
            found.scope,
            (similarity.tolist(), nothing, nothing, found.responsibility),
            found.responsible,
            found.finding,
            {
                **found.details,
                "not_scored": ["semantic_correlation", "generation_influence"],
                **asdict(model.usage),
            },
        )


def _heard(before: bool, answers: Sequence[str], spared: Sequence[GenerationError] | None) -> bool:
    """Return True if the model has answered anything so far, or else raise why it has not."""
    heard = before or any(answers)
    if spared and not heard:
        raise spared[0]
    return heard


def _advance(rounds: Rounds, answers: list[str] | None) -> list[str] | Conclusion:
    # A StopIteration cannot cross from a worker thread into a coroutine.
    try:
        return next(rounds) if answers is None else rounds.send(answers)
    except StopIteration as stop:
        conclusion: Conclusion = stop.value
        return conclusion
