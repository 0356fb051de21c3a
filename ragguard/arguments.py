"""Checks of what callers hand to the guard: each error says what was expected instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ragguard.errors import InvalidInputError
from ragguard.passage import Passage

__all__ = ["pairs", "require_choice", "require_k"]


def pairs(
    name: str, given: Iterable[tuple[str, Sequence[str | Passage]]]
) -> Iterator[tuple[str, Sequence[str | Passage]]]:
    """Yield pairs of query and passages; `name` is what the caller calls them.

    Raises:
        InvalidInputError: They are no pairs, or a query is not a string.
    """
    if not isinstance(given, Iterable):
        raise InvalidInputError(
            f"{name} must be pairs (query, passages), not a {type(given).__name__}"
        )
    for number, pair in enumerate(given):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidInputError(f"{name}[{number}] must be a pair (query, passages)")
        if not isinstance(pair[0], str):
            raise InvalidInputError(
                f"{name}[{number}] has a query of type {type(pair[0]).__name__}; pass a str"
            )
        yield pair[0], pair[1]


def require_k(k: object) -> None:
    """Check that `k` is a positive int or None.

    Raises:
        InvalidInputError: It is not.
    """
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise InvalidInputError(f"k must be a positive int or None, not {k!r}")


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Check that the argument `name` has one of the values it may have.

    Raises:
        InvalidInputError: It has not.
    """
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(choices)}; not {value!r}")
