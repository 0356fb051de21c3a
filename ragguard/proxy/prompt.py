"""The text a proxy language model reads: passage, question, answer, and which tokens are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_not_blank, require_texts
from ragguard.errors import InvalidInputError, ProxyError
from ragguard.text import encodable


@dataclass(frozen=True)
class PromptFormat:
    r"""What stands before the passage, the question and the answer.

    >>> PromptFormat().tail("Who?", "Ada.")
    ('\n\nQuestion: Who?\nAnswer: Ada.', (12, 16), (25, 29))
    """

    passage: str = "Passage: "
    question: str = "\n\nQuestion: "
    answer: str = "\nAnswer: "

    def tail(self, query: str, response: str) -> tuple[str, tuple[int, int], tuple[int, int]]:
        """Return all after the passage, and where in it query and response begin and end."""
        before = self.question + query + self.answer
        start, end = len(self.question), len(before)
        return before + response, (start, start + len(query)), (end, end + len(response))


@dataclass(frozen=True)
class Prompts:
    """One token sequence a context; all end in the same tokens of question and answer."""

    rows: list[NDArray[np.int64]]  # n arrays of shape (length,), each at most the model's maximum
    query: NDArray[np.int64]  # where the query's tokens are, counted from a row's end (negative)
    response: NDArray[np.int64]  # where the response's tokens are, likewise


class PromptEncoder:
    """Turns contexts, query and response into tokens. Safe to share between threads.

    Uses a private copy of the tokenizer, a `tokenizers.Tokenizer`. A row has `max_length` tokens at
    most, which could be raised to `longest`, what the model reads; None: to no more.
    """

    def __init__(
        self, tokenizer: Any, prompt: PromptFormat, max_length: int, *, longest: int | None = None
    ) -> None:
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # A passage that spells out a control token must not become one.
        self._tokenizer.encode_special_tokens = True
        self._prompt = prompt
        self._max_length = max_length
        self._longest = max_length if longest is None else longest
        # What the tokenizer puts before every text: a begin-of-sequence token, or none.
        whole = self._tokenizer.encode(prompt.passage)
        begin = [*whole.special_tokens_mask, 0].index(0)
        self._head = [*whole.ids[:begin], *self._ids(prompt.passage)]

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def encode(self, contexts: Sequence[str], query: str, response: str) -> Prompts:
        """Return the prompts. A context that is too long keeps its beginning and its end.

        Raises:
            InvalidInputError: A text is not a str, or query or response is blank.
            ProxyError: Query and response leave no room for a context.
        """
        contexts = require_texts("contexts", contexts)
        require_not_blank(query=query, response=response)
        text, query_span, response_span = self._prompt.tail(encodable(query), encodable(response))
        tail = self._tokenizer.encode(text, add_special_tokens=False)
        room = self._max_length - len(self._head) - len(tail.ids)
        if room < 1:
            advice = (
                "for such a response use a proxy exported with a longer window, or LexicalProxy"
            )
            if self._max_length - room < self._longest:
                advice = f"raise max_length, this model reads {self._longest}"
            raise ProxyError(
                f"query and response take {len(tail.ids)} tokens and leave no room for a context "
                f"in the proxy's {self._max_length}; {advice}"
            )
        return Prompts(
            rows=[
                np.array([*self._head, *self._context(text, room), *tail.ids], dtype=np.int64)
                for text in contexts
            ],
            query=_inside(tail.offsets, query_span),
            response=_inside(tail.offsets, response_span),
        )

    def _context(self, text: str, room: int) -> list[int]:
        # What is between is dropped anyhow: no tokenizer has tokens of 32 characters on average.
        reach = 32 * room
        if len(text) > 2 * reach:
            text = f"{text[:reach]} {text[-reach:]}"
        ids = self._ids(encodable(text))
        if len(ids) <= room:
            return ids
        last = room // 2
        return ids[: room - last] + ids[len(ids) - last :]


def _inside(offsets: Sequence[tuple[int, int]], span: tuple[int, int]) -> NDArray[np.int64]:
    """Return where the tokens that overlap `span` are, counted from the end."""
    chosen = [
        index - len(offsets)
        for index, (start, end) in enumerate(offsets)
        if start < end and start < span[1] and end > span[0]
    ]
    if not chosen:
        raise InvalidInputError(
            "the query or the response has no token in the proxy's vocabulary; pass a text with "
            "letters or digits"
        )
    return np.array(chosen, dtype=np.int64)
