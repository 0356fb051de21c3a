"""Runs a method that asks a language model in rounds, synchronously or on an event loop.

A method is written once, as a generator that yields the prompts of a round, is sent their answers
in the same order, and returns its `Attribution`. So the two ways to run it cannot differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from ragguard.attribution.llm.client import TextModel, Usage
from ragguard.attribution.result import Attribution, Retrieve
from ragguard.attribution.search import as_retrieve
from ragguard.errors import InvalidInputError

__all__ = ["Dialogue", "aconclude", "check_event", "conclude", "spent"]

Dialogue = Generator[list[str], list[str], Attribution]


def conclude(model: TextModel, dialogue: Dialogue, *, limit: int) -> Attribution:
    """Answer the dialogue's prompts in threads, `limit` at a time, and return what it concludes.

    Raises:
        GenerationError: The model did not answer one of the prompts.
    """
    step = _advance(dialogue, None)
    while isinstance(step, list):
        step = _advance(dialogue, model.generate_many(step, limit=limit))
    return step


async def aconclude(model: TextModel, dialogue: Dialogue, *, limit: int) -> Attribution:
    """Return what `conclude` returns; the prompts of a round are awaited together.

    What the dialogue does between its rounds (retrieval, embedding) runs in a worker thread.

    Raises:
        GenerationError: The model did not answer one of the prompts.
    """
    step = await asyncio.to_thread(_advance, dialogue, None)
    while isinstance(step, list):
        answers = await model.agenerate_many(step, limit=limit)
        step = await asyncio.to_thread(_advance, dialogue, answers)
    return step


def _advance(dialogue: Dialogue, answers: list[str] | None) -> list[str] | Attribution:
    # A StopIteration cannot cross from a worker thread into a coroutine.
    try:
        return next(dialogue) if answers is None else dialogue.send(answers)
    except StopIteration as stop:
        conclusion: Attribution = stop.value
        return conclusion


def spent(usage: Usage) -> dict[str, float]:
    """Return the entries of `Attribution.details` that say what the model was asked for."""
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": usage.cost,
    }


def check_event(query: str, response: str, retrieve: Any) -> Retrieve:
    """Return `retrieve`, which is what `as_retrieve` takes, as a search.

    Raises:
        InvalidInputError: The query or the response is blank, or `retrieve` cannot be searched.
    """
    for name, text in (("query", query), ("response", response)):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInputError(f"{name} must be a str that is not blank, not {text!r}")
    return as_retrieve(retrieve)
