"""Any language model as one object: prompt in, text out, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tenacity import (
    AsyncRetrying,
    BaseRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
)

from ragguard.attribution.llm.adapters import model_calls, model_name
from ragguard.attribution.llm.answers import Prices, Usage, read_answer
from ragguard.attribution.llm.transient import is_transient
from ragguard.background_loop import BackgroundLoop
from ragguard.errors import GenerationError, InvalidInputError

__all__ = ["Prices", "TextModel", "Usage", "as_text_model", "is_transient"]

_LOOP = BackgroundLoop("ragguard-model-loop")


class TextModel:
    """A language model behind one call: `generate(prompt)`, `await agenerate(prompt)`.

    Made by `as_text_model`. Safe to share between threads and event loops as far as the model
    behind it is. Transient errors (`is_transient`) are tried again after `backoff_s`, twice that,
    four times that, ... seconds, each with up to a quarter of random extra time.
    """

    def __init__(
        self,
        call: Callable[[str], Any] | None,
        acall: Callable[[str], Awaitable[Any]] | None,
        *,
        name: str,
        retries: int = 3,
        backoff_s: float = 0.5,
        prices: Prices | None = None,
        parent: TextModel | None = None,
    ) -> None:
        """Wrap a synchronous call, an asynchronous one, or both.

        Raises:
            InvalidInputError: Neither call is given, or `retries` or `backoff_s` is negative.
        """
        if call is None and acall is None:
            raise InvalidInputError("a text model needs a synchronous or an asynchronous call")
        if retries < 0 or backoff_s < 0:
            raise InvalidInputError("retries and backoff_s must not be negative; pass 0 for none")
        self.name = name
        self._call = call
        self._acall = acall
        self._retries = retries
        self._backoff_s = backoff_s
        self._prices = prices
        self._parent = parent
        self._usage = Usage()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"TextModel({self.name})"

    @property
    def usage(self) -> Usage:
        """Calls, tokens and their cost so far, over all threads."""
        with self._lock:
            return self._usage

    def metered(self) -> TextModel:
        """Return the same model with counters at zero; this one goes on counting for both."""
        return TextModel(
            self._call,
            self._acall,
            name=self.name,
            retries=self._retries,
            backoff_s=self._backoff_s,
            prices=self._prices,
            parent=self,
        )

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
        call = self._call

        def ask() -> Any:
            self._count(Usage(calls=1))
            return _LOOP.resolved(call(prompt))

        retrying = Retrying(**self._policy(), sleep=time.sleep)
        try:
            answer = retrying(ask)
        except GenerationError:
            raise
        except Exception as error:
            raise self._failure(error, retrying) from error
        return self._text(answer)

    async def agenerate(self, prompt: str) -> str:
        """Return what `generate` returns without blocking the event loop.

        A model without an asynchronous call runs in a worker thread.

        Raises:
            GenerationError: As `generate`.
        """
        if self._acall is None:
            return await asyncio.to_thread(self.generate, prompt)
        acall = self._acall

        async def ask() -> Any:
            self._count(Usage(calls=1))
            return await acall(prompt)

        retrying = AsyncRetrying(**self._policy(), sleep=asyncio.sleep)
        try:
            answer: Any = await retrying(ask)
        except GenerationError:
            raise
        except Exception as error:
            raise self._failure(error, retrying) from error
        return self._text(answer)

    def generate_many(self, prompts: Sequence[str], *, limit: int = 8) -> list[str]:
        """Return the answers in the order of `prompts`, at most `limit` requests at a time.

        Raises:
            GenerationError: One prompt failed for good; prompts not begun are then not sent.
            InvalidInputError: `limit` is less than 1.
        """
        _check_limit(limit)
        if self._call is None:
            answers: list[str] = _LOOP.resolved(self.agenerate_many(prompts, limit=limit))
            return answers
        if limit == 1 or len(prompts) < 2:
            return [self.generate(prompt) for prompt in prompts]
        pool = ThreadPoolExecutor(min(limit, len(prompts)), thread_name_prefix="ragguard-model")
        try:
            futures = [
                pool.submit(contextvars.copy_context().run, self.generate, prompt)
                for prompt in prompts
            ]
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    async def agenerate_many(self, prompts: Sequence[str], *, limit: int = 8) -> list[str]:
        """Return what `generate_many` returns, concurrently on the running event loop.

        Raises:
            GenerationError: As `generate_many`; the other requests are then cancelled.
            InvalidInputError: `limit` is less than 1.
        """
        _check_limit(limit)
        if self._acall is None:
            # The loop's own executor has as few threads as cores + 4, below most limits.
            return await asyncio.to_thread(self.generate_many, prompts, limit=limit)
        gate = asyncio.Semaphore(limit)

        async def one(prompt: str) -> str:
            async with gate:
                return await self.agenerate(prompt)

        tasks = [asyncio.ensure_future(one(prompt)) for prompt in prompts]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _policy(self) -> dict[str, Any]:
        """Return how often tenacity tries, after which errors, and how long it waits between."""

        def pause(state: RetryCallState) -> float:
            longer = 2.0 ** (state.attempt_number - 1)
            return self._backoff_s * longer * random.uniform(1.0, 1.25)

        return {
            "stop": stop_after_attempt(self._retries + 1),
            "wait": pause,
            "retry": retry_if_exception(is_transient),
            "reraise": True,
        }

    def _failure(self, error: Exception, retrying: BaseRetrying) -> GenerationError:
        """Return what to raise in place of the model's last error."""
        advice = (
            f"in {retrying.statistics['attempt_number']} attempts; check the model's service and "
            "your rate limit"
            if is_transient(error)
            else "which a retry would not cure; call the model yourself to see why"
        )
        return GenerationError(f"{self.name} raised {type(error).__name__} ({error}), {advice}")

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
        self._add(more)

    def _add(self, more: Usage) -> None:
        with self._lock:
            self._usage += more
        if self._parent is not None:
            self._parent._add(more)


def as_text_model(
    model: Any, *, retries: int = 3, backoff_s: float = 0.5, prices: Prices | None = None
) -> TextModel:
    """Return `model` as a `TextModel`.

    Args:
        model: A callable str -> str (plain or async), a LangChain chat model, LLM or other
            runnable (`invoke`, `ainvoke`), a LlamaIndex LLM (`complete`, `acomplete`, or only
            `chat`, `achat`), or a `TextModel`, which is returned as it is.
        retries: How often a transient error is tried again.
        backoff_s: Seconds before the first retry; doubled before each further one.
        prices: What its tokens cost; `Usage.cost` and `Attribution.details["cost"]` count by them.

    Raises:
        InvalidInputError: `model` is none of these.

    >>> as_text_model(lambda prompt: prompt.upper()).generate("quiet")
    'QUIET'
    """
    if isinstance(model, TextModel):
        return model
    calls = None if isinstance(model, type) else model_calls(model)
    if calls is None:
        raise InvalidInputError(
            f"cannot ask a {model_name(model)} for text; pass a callable str -> str, an instance "
            "of a LangChain chat model or LLM, or a LlamaIndex LLM"
        )
    call, acall = calls
    return TextModel(
        call,
        acall,
        name=model_name(model),
        retries=retries,
        backoff_s=backoff_s,
        prices=prices,
    )


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")
