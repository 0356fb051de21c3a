"""The words of a passage, read once and shared by every signal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from sys import intern

from ragguard.inline.address import address, may_address
from ragguard.text import STOP_WORDS, fold, split_words, tokens

__all__ = ["PassageWords", "QueryWords", "forget_passages", "passage_words", "query_words"]

_CACHED_PASSAGES = 4096
_LONGEST_CACHED = 4096  # characters
_CACHED_QUERIES = 1024


@dataclass(frozen=True, slots=True)
class PassageWords:
    """A passage as the signals read it.

    Attributes:
        sequence: Its words in order.
        distinct: Its words as a set.
        joined: Its words between single spaces, with a space at both ends: a run of words is in
            the passage if and only if it is in this string.
        address: How clearly it speaks to a language model (`ragguard.inline.address`).
    """

    sequence: tuple[str, ...]
    distinct: frozenset[str]
    joined: str
    address: float


@dataclass(frozen=True, slots=True)
class QueryWords:
    """A question as the signals read it.

    Attributes:
        sequence: Its words in order.
        distinct: Its words as a set.
        content: Its distinct words without English function words, in order; all of its words if
            it has no others.
    """

    sequence: tuple[str, ...]
    distinct: frozenset[str]
    content: tuple[str, ...]


def passage_words(text: str) -> PassageWords:
    """Read a passage; recent ones are remembered unless they are very long."""
    return _remembered(text) if len(text) <= _LONGEST_CACHED else _read(text)


def _read(text: str) -> PassageWords:
    folded = fold(text)
    # Interned, a word that many passages share is kept once and compared by identity.
    sequence = tuple(map(intern, split_words(folded)))
    distinct = frozenset(sequence)
    return PassageWords(
        sequence=sequence,
        distinct=distinct,
        joined=f" {' '.join(sequence)} ",
        address=address(folded) if may_address(distinct) else 0.0,
    )


_remembered = lru_cache(maxsize=_CACHED_PASSAGES)(_read)


def forget_passages() -> None:
    """Forget the passages read so far; a benchmark of first readings needs it."""
    _remembered.cache_clear()


@lru_cache(maxsize=_CACHED_QUERIES)
def query_words(text: str) -> QueryWords:
    """Read a question; recent ones are remembered."""
    sequence = tuple(map(intern, tokens(text)))
    in_order = dict.fromkeys(sequence)
    content = tuple(word for word in in_order if word not in STOP_WORDS)
    return QueryWords(sequence, frozenset(sequence), content or tuple(in_order))
