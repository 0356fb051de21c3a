"""How language models are called and what they answer: functions, LangChain's way, LlamaIndex's."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from types import SimpleNamespace
from typing import Any

_Call = Callable[[str], Any] | None
_AsyncCall = Callable[[str], Awaitable[Any]] | None

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
# Exact class names anywhere in the exception's ancestry, so that no client library is imported:
# httpx, requests, the OpenAI and Anthropic clients, Google's API core, aiohttp and socket, in this
# order.
_TRANSIENT_NAMES = frozenset(
    """TransportError Timeout ConnectionError IncompleteRead APIConnectionError RateLimitError
    InternalServerError ServiceUnavailable ResourceExhausted DeadlineExceeded ClientConnectionError
    ClientPayloadError gaierror""".split()
)


@dataclass(frozen=True)
class Usage:
    """What a model has been asked for so far; tokens as far as the framework reports them."""

    calls: int = 0  # retries included
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0  # of these tokens by the model's `Prices`; 0 without prices

    def __add__(self, other: Usage) -> Usage:
        """Return both together."""
        return Usage(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def model_name(model: Any) -> str:
    """Return what error messages call the model."""
    name = getattr(model, "__name__", None)
    return name if isinstance(name, str) else type(model).__name__


def model_calls(model: Any) -> tuple[_Call, _AsyncCall]:
    """Return the model's synchronous and asynchronous calls, each None if it has no such."""
    invoke, ainvoke = _method(model, "invoke"), _method(model, "ainvoke")
    if invoke or ainvoke:
        return invoke, ainvoke
    complete, acomplete = _method(model, "complete"), _method(model, "acomplete")
    chat, achat = _method(model, "chat"), _method(model, "achat")
    if complete or acomplete or chat or achat:
        return _completing(complete, chat), _acompleting(acomplete, achat)
    if not callable(model):
        return None, None
    if any(map(inspect.iscoroutinefunction, (model, type(model).__call__))):
        return None, model
    return model, None


def _method(model: Any, name: str) -> Callable[..., Any] | None:
    found = getattr(model, name, None)
    return found if callable(found) else None


def _completing(complete: _Call, chat: Callable[..., Any] | None) -> _Call:
    """Return a call of `complete`, or of `chat` where a model is chat-only."""
    if chat is None:
        return complete

    def call(prompt: str) -> Any:
        with suppress(NotImplementedError):
            if complete is not None:
                return complete(prompt)
        return chat([_user_message(prompt)])

    return call


def _acompleting(acomplete: _AsyncCall, achat: Callable[..., Any] | None) -> _AsyncCall:
    if achat is None:
        return acomplete

    async def acall(prompt: str) -> Any:
        with suppress(NotImplementedError):
            if acomplete is not None:
                return await acomplete(prompt)
        return await achat([_user_message(prompt)])

    return acall


def _user_message(prompt: str) -> Any:
    # Whoever holds a LlamaIndex model has loaded its message type; nothing is imported here.
    types = sys.modules.get("llama_index.core.base.llms.types")
    message = SimpleNamespace if types is None else types.ChatMessage
    return message(role="user", content=prompt)


def read_answer(answer: Any) -> tuple[str | None, Usage]:
    """Read text and token counts from a str, a message, or a completion or chat response."""
    if isinstance(answer, str):
        return answer, Usage()
    content = getattr(answer, "content", None)  # LangChain's messages
    if content is None:
        content = getattr(getattr(answer, "message", None), "content", None)  # ChatResponse
    if content is None:
        content = getattr(answer, "text", None)  # CompletionResponse
    usage = _usage_of(answer)
    if isinstance(content, str):
        return content, usage
    if not isinstance(content, Iterable) or isinstance(content, (bytes, Mapping)):
        return None, usage
    parts = (block if isinstance(block, str) else _field(block, "text") for block in content)
    return "".join(part for part in parts if isinstance(part, str)), usage


def _usage_of(answer: Any) -> Usage:
    for source in (
        getattr(answer, "usage_metadata", None),
        _field(getattr(answer, "response_metadata", None), "token_usage"),
        _field(getattr(answer, "raw", None), "usage"),
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
    return next((v for v in (_field(holder, name) for name in names) if isinstance(v, int)), 0)


def is_transient(error: BaseException) -> bool:
    """Return True if the same request may succeed later: timeouts, lost connections, 429, 5xx."""
    response = getattr(error, "response", None)
    for holder in (error, response, _field(response, "ResponseMetadata")):  # the last is botocore's
        for name in ("status_code", "code", "status", "HTTPStatusCode"):
            status = _field(holder, name)
            if isinstance(status, int) and 100 <= status < 600:
                return status in _TRANSIENT_STATUS or status >= 500
    if isinstance(error, (TimeoutError, ConnectionError)):
        return True
    if isinstance(getattr(error, "reason", None), OSError):  # urllib.error.URLError
        return True
    return not _TRANSIENT_NAMES.isdisjoint(kind.__name__ for kind in type(error).__mro__)
