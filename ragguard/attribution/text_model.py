"""Any language model as one object: prompt in, text out, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import contextvars
import math
import random
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from ragguard.arguments import require_whole
from ragguard.async_bridge import BackgroundLoop
from ragguard.attribution.model_calls import (
    Usage,
    is_transient,
    model_calls,
    model_name,
    read_answer,
)
from ragguard.errors import GenerationError, InvalidInputError
from ragguard.proxy.manifest import MODELS

__all__ = ["Prices", "TextModel", "Usage", "as_text_model"]

_LOOP = BackgroundLoop("ragguard-model-loop")


@dataclass(frozen=True)
class Prices:
    """What a million of a model's prompt tokens and of its answer tokens cost, in any currency.

    Raises:
        InvalidInputError: One is negative or not finite.
    """

    input_per_million: float
    output_per_million: float

    def __post_init__(self) -> None:
        for name in ("input_per_million", "output_per_million"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InvalidInputError(
                    f"{name} must be a price of 0 or more, not {getattr(self, name)!r}"
                )

    def of(self, usage: Usage) -> float:
        """Return what the tokens of `usage` cost."""
        read = usage.input_tokens * self.input_per_million
        return (read + usage.output_tokens * self.output_per_million) / 1e6


@dataclass(repr=False, eq=False)
class TextModel:
    """A language model behind one call: `generate(prompt)`, `await agenerate(prompt)`.

    Made by `as_text_model`. Safe to share between threads and event loops as far as the model
    behind it is. Transient errors (`is_transient`) are tried again after `backoff_s`, twice that,
    four times that, ... seconds, each with up to a quarter of random extra time.
    """

    name: str
    _call: Callable[[str], Any] | None
    _acall: Callable[[str], Awaitable[Any]] | None
    _retries: int
    _backoff_s: float
    _prices: Prices | None
    _parent: TextModel | None = None  # counts as well
    _usage: Usage = field(default_factory=Usage, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __repr__(self) -> str:
        return f"TextModel({self.name})"

    @property
    def usage(self) -> Usage:
        """Calls, tokens and their cost so far, over all threads."""
        with self._lock:
            return self._usage

    def metered(self) -> TextModel:
        """Return the same model with counters at zero; this one goes on counting for both."""
        return replace(self, _parent=self)

    def __call__(self, prompt: str) -> str:
        """Return `generate(prompt)`."""
        return self.generate(prompt)

    def generate(self, prompt: str) -> str:
        """Return the model's answer to `prompt`, never blank.

        Raises:
            GenerationError: The model raised (after retries where the error is transient) or
                answered without text.
        """
        if self._call is None:
            answered: str = _LOOP.resolved(self.agenerate(prompt))
            return answered
        attempt = 0
        while True:
            attempt += 1
            self._count(Usage(calls=1))
            try:
                return self._text(_LOOP.resolved(self._call(prompt)))
            except Exception as error:
                time.sleep(self._pause(error, attempt))

    async def agenerate(self, prompt: str) -> str:
        """Return what `generate` returns or raises without blocking the event loop.

        A model without an asynchronous call runs in a worker thread.
        """
        if self._acall is None:
            return await asyncio.to_thread(self.generate, prompt)
        attempt = 0
        while True:
            attempt += 1
            self._count(Usage(calls=1))
            try:
                return self._text(await self._acall(prompt))
            except Exception as error:
                await asyncio.sleep(self._pause(error, attempt))

    def generate_many(
        self,
        prompts: Sequence[str],
        *,
        limit: int = 8,
        spared: list[GenerationError] | None = None,
    ) -> list[str]:
        """Return the answers in the order of `prompts`, at most `limit` requests at a time.

        `spared` takes the errors that no retry would cure, if given; the answer is then "".

        Raises:
            GenerationError: One prompt failed for good; prompts not begun are then not sent.
            InvalidInputError: `limit` is less than 1.
        """
        require_whole("limit", limit)
        if self._call is None:
            return list(_LOOP.resolved(self.agenerate_many(prompts, limit=limit, spared=spared)))

        def one(prompt: str) -> str:
            try:
                return self.generate(prompt)
            except GenerationError as error:
                return _spared(error, spared)

        if limit == 1 or len(prompts) < 2:
            return [one(prompt) for prompt in prompts]
        pool = ThreadPoolExecutor(min(limit, len(prompts)), thread_name_prefix="ragguard-model")
        try:
            futures = [
                pool.submit(contextvars.copy_context().run, one, prompt) for prompt in prompts
            ]
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    async def agenerate_many(
        self,
        prompts: Sequence[str],
        *,
        limit: int = 8,
        spared: list[GenerationError] | None = None,
    ) -> list[str]:
        """Return what `generate_many` returns or raises, concurrently on the running event loop.

        Where one prompt fails, the other requests are cancelled.
        """
        require_whole("limit", limit)
        if self._acall is None:  # the loop's own executor has few threads: cores + 4
            return await asyncio.to_thread(self.generate_many, prompts, limit=limit, spared=spared)
        gate = asyncio.Semaphore(limit)

        async def one(prompt: str) -> str:
            async with gate:
                try:
                    return await self.agenerate(prompt)
                except GenerationError as error:
                    return _spared(error, spared)

        tasks = [asyncio.ensure_future(one(prompt)) for prompt in prompts]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _pause(self, error: Exception, attempt: int) -> float:
        """Return the seconds until the next attempt, or raise why there is none."""
        if isinstance(error, GenerationError):
            raise error
        transient = is_transient(error)
        if transient and attempt <= self._retries:
            return self._backoff_s * 2.0 ** (attempt - 1) * random.uniform(1.0, 1.25)
        advice = (
            f"in {attempt} attempts; check the model's service and your rate limit"
            if transient
            else "which a retry would not cure; call the model yourself to see why"
        )
        raise GenerationError(
            f"{self.name} raised {type(error).__name__} ({error}), {advice}"
        ) from error

    def _text(self, answer: Any) -> str:
        text, usage = read_answer(answer)
        self._count(usage)
        if text is None or not text.strip():
            raise GenerationError(
                f"{self.name} returned no text (got {type(answer).__name__}); "
                "it must return a str, or a message whose content holds text"
            )
        return text

    def _count(self, more: Usage) -> None:
        if self._prices is not None:
            more += Usage(cost=self._prices.of(more))
        model: TextModel | None = self
        while model is not None:
            with model._lock:
                model._usage += more
            model = model._parent


def _spared(error: GenerationError, spared: list[GenerationError] | None) -> str:
    if spared is None or (error.__cause__ and is_transient(error.__cause__)):
        raise error
    spared.append(error)
    return ""


def as_text_model(
    model: Any, *, retries: int = 3, backoff_s: float = 0.5, prices: Prices | None = None
) -> TextModel:
    """Return `model` as a `TextModel`.

    Args:
        model: A callable str -> str (plain or async), a LangChain chat model, LLM or other
            runnable (`invoke`, `ainvoke`), a LlamaIndex LLM (`complete`, `acomplete`, or only
            `chat`, `achat`), the name of a model that `ragguard proxy get` exported ("smollm2"), or
            a `TextModel`, which is returned as it is.
        retries: How often a transient error is tried again.
        backoff_s: Seconds before the first retry; doubled before each further one.
        prices: What its tokens cost; `Usage.cost` and `Attribution.details["cost"]` count by them.

    Raises:
        InvalidInputError: `model` is none of these, or `retries` or `backoff_s` is negative.
        MissingExtraError: A model was named, and onnxruntime or tokenizers is not installed.
        ProxyError: The model that was named is not exported, or without a generator.

    >>> as_text_model(lambda prompt: prompt.upper()).generate("quiet")
    'QUIET'
    """
    if isinstance(model, TextModel):
        return model
    if retries < 0 or backoff_s < 0:
        raise InvalidInputError("retries and backoff_s must not be negative; pass 0 for none")
    name = model_name(model)
    if isinstance(model, str) and model in MODELS:
        from ragguard.proxy.generator import shared_generator

        name, model = model, shared_generator(model)
    call, acall = (None, None) if isinstance(model, type) else model_calls(model)
    if call is None and acall is None:
        raise InvalidInputError(
            f"cannot ask a {name} for text; pass a callable str -> str, an instance "
            f"of a LangChain chat model or LLM, a LlamaIndex LLM, or a name: {', '.join(MODELS)}"
        )
    return TextModel(name, call, acall, retries, backoff_s, prices)
