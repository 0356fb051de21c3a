"""Checks of what callers hand over.

Each raises `InvalidInputError` where an argument is not what its first line says, and says what was
expected instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import iscoroutinefunction
from numbers import Integral, Real
from pathlib import Path

from ragguard.errors import InvalidInputError, RagguardError
from ragguard.passage import Passage, as_passages

_LONGEST_TENANT = 200  # characters
_MOST = 1_000_000  # seconds, days or things: no clock or calendar ends before


RetrievedSets = Iterable[tuple[str, Sequence[str | Passage]]]
"""A query and its passages each."""


def pairs(name: str, given: RetrievedSets) -> Iterator[tuple[str, list[Passage]]]:
    """Yield pairs of query and passages; `name` is what the caller calls them, in errors too."""
    try:
        numbered = enumerate(given)
    except TypeError as error:  # an array of no dimension is an Iterable, too
        raise _refused(name, "pairs (query, passages)", type(given).__name__) from error
    with foreign(name):
        for number, pair in numbered:
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise InvalidInputError(f"{name}[{number}] must be a pair (query, passages)")
            if not isinstance(pair[0], str):
                raise InvalidInputError(
                    f"{name}[{number}] has a query of type {type(pair[0]).__name__}; pass a str"
                )
            try:
                passages = as_passages(pair[1])
            except InvalidInputError as error:
                raise InvalidInputError(f"{name}[{number}]: {error}") from error
            yield str.__str__(pair[0]), passages


@contextmanager
def foreign(name: str, kind: type[RagguardError] = InvalidInputError) -> Iterator[None]:
    """Raise an error of `kind` for whatever the argument `name` raises while it is used here."""
    try:
        yield
    except RagguardError:
        raise
    except Exception as error:
        raise kind(
            f"{name} raised {type(error).__name__} ({error}); use it by itself to see why"
        ) from error


def require_k(k: object, name: str = "k") -> int | None:
    """Return `k`, or what the caller calls `name`: a positive int, of any library, or None."""
    return None if k is None else require_whole(name, k, wanted="a positive int or None")


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Check that the argument `name` has one of the values it may have."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(choices)}; not {value!r}")


def require_whole(name: str, value: object, *, least: int = 1, wanted: str | None = None) -> int:
    """Return the argument `name` as an int of at least `least`; any library's integer will do."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise _refused(name, wanted or f"a whole number of at least {least}", repr(value))
    return int(value)


def require_number(name: str, value: object) -> float:
    """Return the argument `name` as a float; real numbers of other libraries will do."""
    problem = f"{name} must be a number, not the {type(value).__name__} {value!r}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInputError(problem)
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInputError(f"{problem}, which no float can hold") from error


def require_share(name: str, value: object, *, usual: float = 0.01) -> float:
    """Return the argument `name`, a number between 0 and 1; `usual` is what to try instead."""
    share = require_number(name, value)
    if not 0.0 < share < 1.0:
        raise InvalidInputError(f"{name} must be between 0 and 1, not {share:g}; try {usual:g}")
    return share


def require_positive(**numbers: float) -> None:
    """Check that each of these arguments, which have defaults, is positive; a million at most."""
    for name, value in numbers.items():
        if not 0 < require_number(name, value) <= _MOST:
            raise _refused(name, f"positive, and {_MOST:,} at most", f"{value}; leave it out")


def require_path(name: str, value: object) -> Path:
    """Return the argument `name`, a str or a path, as a `Path`."""
    if not isinstance(value, (str, os.PathLike)):
        raise _refused(name, "a path", type(value).__name__)
    return Path(value)


def require_text(name: str, value: object) -> str:
    """Return the argument `name`, a str that may be empty."""
    if not isinstance(value, str):
        raise _refused(name, "a str", type(value).__name__)
    return str.__str__(value)  # a subclass may compare and read as it likes


def require_bool(**flags: object) -> None:
    """Check that each of these arguments is True or False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise _refused(name, "True or False", f"{value!r:.60}")


def require_names(**names: object) -> None:
    """Check that each of these arguments is a str or None."""
    for name, value in names.items():
        if value is not None and not isinstance(value, str):
            raise _refused(name, "a str or None", f"the {type(value).__name__} {value!r:.60}")


def require_not_blank(**texts: object) -> None:
    """Check that each of these arguments is a str with more in it than white space."""
    for name, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise _refused(name, "a str that is not blank", f"{text!r:.60}")


def require_tenant(tenant: object) -> str:
    """Return the name of a tenant as stores know it: "" for None, the default one.

    Names are compared as they are: whoever calls must give one tenant one spelling.
    """
    if tenant is None:
        return ""
    if not isinstance(tenant, str):
        raise _refused("tenant", "a str or None", type(tenant).__name__)
    name = str.__str__(tenant)  # of a member of an enumeration its value
    if not name or len(name) > _LONGEST_TENANT or not name.isprintable() or name != name.strip():
        raise InvalidInputError(
            f"tenant must be a name of 1 to {_LONGEST_TENANT} printable characters, without white "
            f"space at its ends, not {name[:80]!r}; leave it out for the default tenant"
        )
    return name


def require_texts(name: str, given: object) -> list[str]:
    """Return the argument `name`, an iterable of strings and not itself one, as a list."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        got = f"{type(given).__name__}; pass [passage.text, ...]"
        raise _refused(name, "a sequence of str", got)
    with foreign(name):
        texts = list(given)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"{name}[{position}] is of type {type(text).__name__}; pass [passage.text, ...]"
            )
    return list(map(str.__str__, texts))


def require_method(name: str, value: object, call: str) -> None:
    """Check that the argument `name` is an object with the method that `call` spells out."""
    if isinstance(value, type):
        raise InvalidInputError(
            f"{name} is the class {value.__name__}; pass an instance: {value.__name__}(...)"
        )
    if not callable(getattr(value, call.partition("(")[0], None)):
        raise _refused(name, f"an object with a method {call}", type(value).__name__)


def require_callable(**functions: object) -> None:
    """Check that each of these arguments can be called, and need not be awaited."""
    for name, value in functions.items():
        if not callable(value):
            raise _refused(name, "callable", type(value).__name__)
        if iscoroutinefunction(value) or iscoroutinefunction(value.__call__):
            raise InvalidInputError(
                f"{name} must be no coroutine function, since a thread calls it that awaits nothing"
            )


def _refused(name: str, wanted: str, got: str) -> InvalidInputError:
    return InvalidInputError(f"{name} must be {wanted}, not {got}")
