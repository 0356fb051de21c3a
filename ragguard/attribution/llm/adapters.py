"""How a language model is called: a function, LangChain's way, or LlamaIndex's."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Calls", "model_calls", "model_name"]

Calls = tuple[Callable[[str], Any] | None, Callable[[str], Awaitable[Any]] | None]


def model_calls(model: Any) -> Calls | None:
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
) -> Calls:
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


def model_name(model: Any) -> str:
    """Return what error messages call the model."""
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
