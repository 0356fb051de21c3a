"""The answer in what a chain or an agent returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

__all__ = ["answer_in", "kind_of"]

_KEYS = ("answer", "output", "result", "response", "generation", "text", "messages")


def answer_in(returned: Any) -> str | None:
    """Return the text that a user read, or None if it cannot be told.

    Known are a text, a message, an object with one of the usual keys ("answer", "output",
    "result", "response", "generation", "text"), and messages, of which the last one by the model
    with any text counts: what agents return under "messages".
    """
    if isinstance(returned, str):
        return returned or None
    if isinstance(returned, BaseMessage):
        return _text_of(returned) or None
    if isinstance(returned, Mapping):
        found = (answer_in(returned[key]) for key in _KEYS if key in returned)
        return next((text for text in found if text is not None), None)
    if isinstance(returned, (list, tuple)):
        texts = (_text_of(item) for item in reversed(returned) if isinstance(item, AIMessage))
        return next((text for text in texts if text), None)
    return None


def kind_of(returned: Any) -> str:
    """Return in words what a chain returned, for an error."""
    if isinstance(returned, Mapping):
        return f"a dict with {', '.join(map(repr, returned)) or 'no keys'}"
    return f"an object of type {type(returned).__name__}"


def _text_of(message: BaseMessage) -> str:
    """Return a message's text; of content in blocks, that of its text blocks."""
    if isinstance(message.content, str):
        return message.content
    blocks = [{"text": block} if isinstance(block, str) else block for block in message.content]
    return "".join(
        block["text"]
        for block in blocks
        if block.get("type", "text") == "text" and isinstance(block.get("text"), str)
    )
