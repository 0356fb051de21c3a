"""A retrieved passage: the one type that every part of ragguard takes and returns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import InvalidInputError

__all__ = ["Passage", "as_passages"]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, init=False)
class Passage:
    """One retrieved text, with what the retriever said about it.

    Attributes:
        text: The passage as the generator will read it.
        id: The caller's id; without one, 32 hex digits of the text's hash.
        score: The retriever's score in its own unit, or None.
        embedding: float array of shape (d,), or None. Used instead of embedding the text again.
        metadata: The caller's own data, carried through untouched.
    """

    text: str
    id: str
    score: float | None
    embedding: NDArray[np.floating[Any]] | None = field(compare=False, repr=False)
    metadata: Mapping[str, Any] = field(hash=False)

    def __init__(
        self,
        text: str,
        *,
        id: str | None = None,
        score: float | None = None,
        embedding: NDArray[np.floating[Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a passage.

        Raises:
            InvalidInputError: `text` is not a string, `id` is neither a string nor None, or
                `score` is neither a number nor None.
        """
        if not isinstance(text, str):
            raise InvalidInputError(
                f"a passage's text must be a str, not {type(text).__name__}; "
                "pass Passage(text=...) or a plain str"
            )
        if id is not None and not isinstance(id, str):
            raise InvalidInputError(
                f"a passage's id must be a str or None, not {type(id).__name__}; pass str(id)"
            )
        try:
            number = None if score is None else float(score)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInputError(
                f"a passage's score must be a number or None, not {score!r}; leave it out"
            ) from error
        set_field = object.__setattr__
        set_field(self, "text", text)
        set_field(self, "id", _digest(text) if id is None else id)
        set_field(self, "score", number)
        set_field(self, "embedding", embedding)
        set_field(self, "metadata", {} if metadata is None else metadata)


def as_passages(passages: Iterable[str | Passage]) -> list[Passage]:
    """Return `passages` as a list in which every plain string has become a `Passage`.

    Raises:
        InvalidInputError: `passages` is a single string, not iterable, or holds another type.
    """
    if isinstance(passages, (str, bytes)) or not isinstance(passages, Iterable):
        raise InvalidInputError(
            f"passages must be a sequence of str or Passage, not {type(passages).__name__}; "
            "wrap a single passage in a list"
        )
    out: list[Passage] = []
    for position, item in enumerate(passages):
        if isinstance(item, Passage):
            out.append(item)
        elif isinstance(item, str):
            out.append(Passage(item))
        else:
            raise InvalidInputError(
                f"passages[{position}] is a {type(item).__name__}; pass str or Passage "
                "(the LangChain and LlamaIndex integrations convert their own types)"
            )
    return out
