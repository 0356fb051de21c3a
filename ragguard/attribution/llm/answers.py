"""What language models answer: the text, and the tokens it took, in each framework's own form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ragguard.errors import InvalidInputError

__all__ = ["Prices", "Usage", "read_answer"]


@dataclass(frozen=True)
class Usage:
    """What a model has been asked for so far.

    Attributes:
        calls: Requests made, retries included.
        input_tokens: Prompt tokens, as far as the framework reports them.
        output_tokens: Answer tokens, as far as the framework reports them.
        cost: What these tokens cost by the model's `Prices`; 0 without prices.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return both together."""
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True)
class Prices:
    """What a model's tokens cost, in any currency.

    Attributes:
        input_per_million: A million prompt tokens.
        output_per_million: A million answer tokens.
    """

    input_per_million: float
    output_per_million: float

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            InvalidInputError: One is negative or not finite.
        """
        for name in ("input_per_million", "output_per_million"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InvalidInputError(
                    f"{name} must be a price of 0 or more, not {getattr(self, name)!r}"
                )

    def of(self, usage: Usage) -> float:
        """Return what the tokens of `usage` cost."""
        return (
            usage.input_tokens * self.input_per_million
            + usage.output_tokens * self.output_per_million
        ) / 1e6


def read_answer(answer: Any) -> tuple[str | None, Usage]:
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
