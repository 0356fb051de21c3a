"""A retrieved passage: the one type that every part of ragguard takes and returns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import EmbeddingError, InvalidInputError

__all__ = ["Passage", "as_passages", "text_digest"]


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
        embedding: NDArray[np.floating[Any]] | Sequence[float] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a passage.

        As `embedding` an array of floats is kept as it is; other numbers in a row become one.
        Lengths that differ, and numbers that are not finite, are told where vectors are compared.

        Raises:
            InvalidInputError: `text` is not a string, `id` is neither a string nor None, `score`
                is neither a number nor None, or `metadata` is neither a mapping nor None.
            EmbeddingError: `embedding` is no vector of numbers.
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
        if metadata is not None and not isinstance(metadata, (dict, Mapping)):
            raise InvalidInputError(
                f"a passage's metadata must be a mapping or None, not {type(metadata).__name__}; "
                "pass a dict"
            )
        text = str.__str__(text)  # a subclass may compare and read as it likes
        id = text_digest(text).hex() if id is None else str.__str__(id)
        if embedding is not None and not (
            isinstance(embedding, np.ndarray) and embedding.dtype.kind == "f"
        ):
            embedding = _as_vector(embedding, id)
        set_field = object.__setattr__
        set_field(self, "text", text)
        set_field(self, "id", id)
        set_field(self, "score", None if score is None else _as_number(score))
        set_field(self, "embedding", embedding)
        set_field(self, "metadata", {} if metadata is None else metadata)


def text_digest(text: str) -> bytes:
    """Return 16 bytes that name a text to the letter (BLAKE2b); lone surrogates are letters too."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _as_number(score: Any) -> float:
    problem: Exception | None = None
    try:
        if not isinstance(score, (str, bytes, bytearray)):  # float() would read these
            return float(score)
    except Exception as error:  # whatever its __float__ raises
        problem = error
    raise InvalidInputError(
        f"a passage's score must be a number or None, not {type(score).__name__}; leave it out"
    ) from problem


def _as_vector(embedding: Any, id: str) -> NDArray[np.floating[Any]]:
    advice = "give it a float vector of shape (d,), or none"
    try:
        array = np.asarray(embedding)
        if array.ndim == 1 and array.size:
            if array.dtype.kind == "f":
                return array
            if array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(map(_is_real, array))):
                return array.astype(np.float64)
    except Exception as error:  # each framework's arrays fail in their own way
        raise EmbeddingError(
            f"passage {id!r} carries an embedding that is no array ({error}); {advice}"
        ) from error
    raise EmbeddingError(
        f"passage {id!r} carries an embedding of shape {array.shape} and dtype {array.dtype}; "
        f"{advice}"
    )


def _is_real(number: object) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool)


NO_SEQUENCES = (str, bytes, Mapping, Set)
"""What can be iterated over and is no list of passages: one text, or what has no order."""


def as_passages(passages: Iterable[str | Passage]) -> list[Passage]:
    """Return `passages` as a list in which every plain string has become a `Passage`.

    Raises:
        InvalidInputError: `passages` is a single string, a mapping or a set, not iterable, or holds
            another type.
    """
    if isinstance(passages, NO_SEQUENCES) or not isinstance(passages, Iterable):
        unordered = isinstance(passages, (Mapping, Set))
        raise InvalidInputError(
            f"passages must be a sequence of str or Passage, not {type(passages).__name__}; "
            + ("pass a list, best first" if unordered else "wrap a single passage in a list")
        )
    try:
        items = list(passages)
    except Exception as error:  # whatever a lazy sequence raises
        raise InvalidInputError(
            f"the passages cannot be read ({type(error).__name__}: {error}); pass a list"
        ) from error
    out: list[Passage] = []
    for position, item in enumerate(items):
        if isinstance(item, Passage):
            out.append(item)
        elif isinstance(item, str):
            out.append(Passage(item))
        else:
            raise InvalidInputError(
                f"passages[{position}] is of type {type(item).__name__}; pass str or Passage(text, "
                "id=...): the text of a LangChain Document is its page_content, of a LlamaIndex "
                "node what get_content() returns"
            )
    return out
