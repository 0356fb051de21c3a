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
        start = len(self.question)
        return (
            before + response,
            (start, start + len(query)),
            (len(before), len(before) + len(response)),
        )


@dataclass(frozen=True)
class Prompts:
    """One token sequence a context; all end in the same tokens of question and answer.

    Attributes:
        rows: n int64 arrays of shape (length,), each at most the model's maximum.
        query: int64 array: where the query's tokens are, counted from a row's end (negative).
        response: int64 array: where the response's tokens are, likewise.
    """

    rows: list[NDArray[np.int64]]
    query: NDArray[np.int64]
    response: NDArray[np.int64]


class PromptEncoder:
    """Turns contexts, query and response into tokens. Safe to share between threads.

    Args:
        tokenizer: A `tokenizers.Tokenizer`; a private copy of it is used.
        prompt: The words around the texts.
        max_length: Tokens a row has at most.
        longest: Tokens that the model reads at most, which is what `max_length` could be raised to;
            None: no more than that.
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
        self._head = [*self._prefix(), *self._ids(prompt.passage)]

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _prefix(self) -> list[int]:
        """Return what the tokenizer puts before every text: a begin-of-sequence token, or none."""
        encoding = self._tokenizer.encode(self._prompt.passage)
        special = encoding.special_tokens_mask
        begin = next((at for at, flag in enumerate(special) if not flag), len(special))
        return list(encoding.ids[:begin])

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
            raisable = self._max_length - room < self._longest
            raise ProxyError(
                f"query and response take {len(tail.ids)} tokens and leave no room for a context "
                f"in the proxy's {self._max_length}; "
                + (
                    f"raise max_length, this model reads {self._longest}"
                    if raisable
                    else "for such a response use a proxy exported with a longer window, or "
                    "LexicalProxy"
                )
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
        # Beyond this the tokens of the middle are dropped anyhow; a token of more than 32
        # characters on average is not known of any tokenizer.
        reach = 32 * room
        if len(text) > 2 * reach:
            text = f"{text[:reach]} {text[-reach:]}"
        ids = self._ids(encodable(text))
        if len(ids) <= room:
            return ids
        last = room // 2
        return ids[: room - last] + (ids[-last:] if last else [])


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
