"""Any language model as one object: prompt in, text out, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from ragguard.errors import GenerationError, InvalidInputError

__all__ = ["TextModel", "Usage", "as_text_model", "is_transient"]

_T = TypeVar("_T")

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
# Exact class names anywhere in the exception's ancestry, so that no client library is imported:
# httpx, requests, the OpenAI and Anthropic clients, and Google's API core, in this order.
_TRANSIENT_NAMES = frozenset(
    {
        "TransportError",
        "Timeout",
        "ConnectionError",
        "IncompleteRead",
        "APIConnectionError",
        "RateLimitError",
        "InternalServerError",
        "ServiceUnavailable",
        "ResourceExhausted",
        "DeadlineExceeded",
    }
)


@dataclass(frozen=True)
class Usage:
    """What a model has been asked for so far.

    Attributes:
        calls: Requests made, retries included.
        input_tokens: Prompt tokens, as far as the framework reports them.
        output_tokens: Answer tokens, as far as the framework reports them.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def is_transient(error: BaseException) -> bool:
    """Return True if the same request may succeed later: timeouts, lost connections, 429, 5xx."""
    status = _http_status(error)
    if status is not None:
        return status in _TRANSIENT_STATUS or 500 <= status < 600
    if isinstance(error, (TimeoutError, ConnectionError)):
        return True
    if isinstance(getattr(error, "reason", None), OSError):  # urllib.error.URLError
        return True
    return not _TRANSIENT_NAMES.isdisjoint(kind.__name__ for kind in type(error).__mro__)


def _http_status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return int(value)
    return None


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
        self._parent = parent
        self._usage = Usage()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"TextModel({self.name})"

    @property
    def usage(self) -> Usage:
        """Calls and tokens so far, over all threads."""
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
            return _run_in_background(self.agenerate(prompt))
        for attempt in range(self._retries + 1):
            try:
                self._count(Usage(calls=1))
                answer = self._call(prompt)
                if inspect.isawaitable(answer):
                    answer = _run_in_background(_awaited(answer))
            except Exception as error:
                time.sleep(self._pause_after(error, attempt))
            else:
                return self._text(answer)
        raise AssertionError("unreachable")

    async def agenerate(self, prompt: str) -> str:
        """Return what `generate` returns without blocking the event loop.

        A model without an asynchronous call runs in a worker thread.

        Raises:
            GenerationError: As `generate`.
        """
        if self._acall is None:
            return await asyncio.to_thread(self.generate, prompt)
        for attempt in range(self._retries + 1):
            try:
                self._count(Usage(calls=1))
                answer = await self._acall(prompt)
            except Exception as error:
                await asyncio.sleep(self._pause_after(error, attempt))
            else:
                return self._text(answer)
        raise AssertionError("unreachable")

    def generate_many(self, prompts: Sequence[str], *, limit: int = 8) -> list[str]:
        """Return the answers in the order of `prompts`, at most `limit` requests at a time.

        Raises:
            GenerationError: One prompt failed for good; prompts not begun are then not sent.
            InvalidInputError: `limit` is less than 1.
        """
        _check_limit(limit)
        if self._call is None:
            return _run_in_background(self.agenerate_many(prompts, limit=limit))
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

    def _pause_after(self, error: Exception, attempt: int) -> float:
        """Return the seconds to wait before the next attempt, or raise if there is none."""
        if isinstance(error, GenerationError):
            raise error
        transient = is_transient(error)
        if transient and attempt < self._retries:
            return self._backoff_s * 2.0**attempt * random.uniform(1.0, 1.25)
        advice = (
            f"in {attempt + 1} attempts; check the model's service and your rate limit"
            if transient
            else "which a retry would not cure; call the model yourself to see why"
        )
        raise GenerationError(
            f"{self.name} raised {type(error).__name__} ({error}), {advice}"
        ) from error

    def _text(self, answer: Any) -> str:
        text, usage = _read_answer(answer)
        self._count(usage)
        if text is None or not text.strip():
            raise GenerationError(
                f"{self.name} returned no text (got {type(answer).__name__}); "
                "it must return a str, or a message whose content holds text"
            )
        return text

    def _count(self, more: Usage) -> None:
        with self._lock:
            self._usage = Usage(
                self._usage.calls + more.calls,
                self._usage.input_tokens + more.input_tokens,
                self._usage.output_tokens + more.output_tokens,
            )
        if self._parent is not None:
            self._parent._count(more)


def as_text_model(model: Any, *, retries: int = 3, backoff_s: float = 0.5) -> TextModel:
    """Return `model` as a `TextModel`.

    Args:
        model: A callable str -> str (plain or async), a LangChain chat model, LLM or other
            runnable (`invoke`, `ainvoke`), a LlamaIndex LLM (`complete`, `acomplete`, or only
            `chat`, `achat`), or a `TextModel`, which is returned as it is.
        retries: How often a transient error is tried again.
        backoff_s: Seconds before the first retry; doubled before each further one.

    Raises:
        InvalidInputError: `model` is none of these.

    >>> as_text_model(lambda prompt: prompt.upper()).generate("quiet")
    'QUIET'
    """
    if isinstance(model, TextModel):
        return model
    calls = None if isinstance(model, type) else _calls(model)
    if calls is None:
        raise InvalidInputError(
            f"cannot ask a {_name(model)} for text; pass a callable str -> str, an instance of a "
            "LangChain chat model or LLM, or a LlamaIndex LLM"
        )
    call, acall = calls
    return TextModel(call, acall, name=_name(model), retries=retries, backoff_s=backoff_s)


_Calls = tuple[Callable[[str], Any] | None, Callable[[str], Awaitable[Any]] | None]


def _calls(model: Any) -> _Calls | None:
    """Return the model's synchronous and asynchronous calls, or None if it has neither."""
    invoke, ainvoke = _method(model, "invoke"), _method(model, "ainvoke")
    if invoke or ainvoke:
        return invoke, ainvoke
    complete, acomplete = _method(model, "complete"), _method(model, "acomplete")
    chat, achat = _method(model, "chat"), _method(model, "achat")
    if complete or acomplete or chat or achat:
        return _completion_calls(complete, acomplete, chat, achat)
    if not callable(model):
        return None
    if inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(
        getattr(model, "__call__", None)  # noqa: B004 - an instance with an async __call__
    ):
        return None, model
    return model, None


def _completion_calls(
    complete: Callable[..., Any] | None,
    acomplete: Callable[..., Any] | None,
    chat: Callable[..., Any] | None,
    achat: Callable[..., Any] | None,
) -> _Calls:
    """Prefer completion; fall back to chat where a model is chat-only."""

    def call(prompt: str) -> Any:
        if complete is not None:
            try:
                return complete(prompt)
            except NotImplementedError:
                if chat is None:
                    raise
        assert chat is not None
        return chat([_user_message(prompt)])

    async def acall(prompt: str) -> Any:
        if acomplete is not None:
            try:
                return await acomplete(prompt)
            except NotImplementedError:
                if achat is None:
                    raise
        assert achat is not None
        return await achat([_user_message(prompt)])

    return (call if complete or chat else None), (acall if acomplete or achat else None)


def _method(model: Any, name: str) -> Callable[..., Any] | None:
    found = getattr(model, name, None)
    return found if callable(found) else None


def _name(model: Any) -> str:
    name = getattr(model, "__name__", None)
    return name if isinstance(name, str) else type(model).__name__


@dataclass(frozen=True)
class _UserMessage:
    content: str
    role: str = "user"


def _user_message(prompt: str) -> Any:
    # Whoever holds a LlamaIndex model has loaded its message type; nothing is imported here.
    types = sys.modules.get("llama_index.core.base.llms.types")
    message = _UserMessage if types is None else types.ChatMessage
    return message(role="user", content=prompt)


def _read_answer(answer: Any) -> tuple[str | None, Usage]:
    """Read text and token counts from a str, a message, or a completion or chat response."""
    if isinstance(answer, str):
        return answer, Usage()
    content = getattr(answer, "content", None)  # LangChain's messages
    if content is None:
        content = getattr(getattr(answer, "message", None), "content", None)  # ChatResponse
    if content is None:
        content = getattr(answer, "text", None)  # CompletionResponse
    return _text_of(content), _usage_of(answer)


def _text_of(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable) or isinstance(content, (bytes, Mapping)):
        return None
    parts = []
    for block in content:
        part = block if isinstance(block, str) else _field(block, "text")
        if isinstance(part, str):
            parts.append(part)
    return "".join(parts)


def _usage_of(answer: Any) -> Usage:
    raw = getattr(answer, "raw", None)
    metadata = getattr(answer, "response_metadata", None)
    for source in (
        getattr(answer, "usage_metadata", None),
        _field(metadata, "token_usage"),
        _field(raw, "usage"),
        getattr(answer, "additional_kwargs", None),
    ):
        read = _int_field(source, "input_tokens", "prompt_tokens")
        written = _int_field(source, "output_tokens", "completion_tokens")
        if read or written:
            return Usage(0, read, written)
    return Usage()


def _field(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _int_field(holder: Any, *names: str) -> int:
    for name in names:
        value = _field(holder, name)
        if isinstance(value, int):
            return value
    return 0


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")


async def _awaited(answer: Awaitable[_T]) -> _T:
    return await answer


_background: tuple[int, asyncio.AbstractEventLoop] | None = None
_background_lock = threading.Lock()


def _run_in_background(work: Coroutine[Any, Any, _T]) -> _T:
    """Run `work` to its end on one long-lived loop and return its result.

    An asynchronous client keeps connections that belong to the loop they were opened on, so a new
    loop for every call would break its second call. The loop's thread does not survive a fork,
    hence one loop per process.
    """
    global _background
    with _background_lock:
        if _background is None or _background[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(
                target=loop.run_forever, name="ragguard-model-loop", daemon=True
            ).start()
            _background = (os.getpid(), loop)
        loop = _background[1]
    return asyncio.run_coroutine_threadsafe(work, loop).result()
