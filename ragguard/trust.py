"""Where a passage comes from, and what share of alpha may be spent on it.

    p = min over classes of p(class) / share(class),    the shares of all classes together 1

A filter that may touch a share alpha of clean queries need not touch all passages alike: strangers
plant where strangers can write. So the classes of a `Trust` share alpha. What is protected spends
nothing, what is known little, what is open the rest. The p-value of a class is that of its most
suspicious passage, and joined by a weighted Bonferroni test (Genovese, Roeder and Wasserman 2006)
they keep P(p <= alpha) <= alpha for clean traffic. A passage's own p-value is divided by the share
of its class as well.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_number, require_share
from ragguard.errors import InvalidInputError
from ragguard.files import read_json
from ragguard.passage import Passage

Class = Literal["protected", "known", "open"]

_CLOSED: tuple[Class, ...] = ("protected", "known")
_KNOWN_SHARE = 0.1


def source_of(passage: Passage) -> str | None:
    """Return the source that metadata names, a text, a number or a path, or None."""
    return _named(passage, "source")


@dataclass(frozen=True)
class Origin:
    """Passages that come from somewhere: all conditions that are given hold of their metadata.

    Attributes:
        source: Names, of which `metadata["source"]` is one.
        author: Names, of which `metadata["author"]` is one.
        batch: Names, of which `metadata["batch"]` is one: what was indexed together.
        older_than: How long ago `metadata["created_at"]` is at least: a datetime (UTC unless it
            says else), the same as ISO 8601 text, or seconds since 1970.

    Raises:
        InvalidInputError: No condition is given, or one is of the wrong type.
    """

    source: Collection[str] = ()
    author: Collection[str] = ()
    batch: Collection[str] = ()
    older_than: timedelta | None = None

    def __post_init__(self) -> None:
        for name in ("source", "author", "batch"):
            names = _all_of(name, getattr(self, name), str, "names (str)")
            object.__setattr__(self, name, frozenset(names))
        age = self.older_than
        if age is not None and not (isinstance(age, timedelta) and age >= timedelta(0)):
            raise InvalidInputError(
                f"older_than must be a timedelta of at least zero, or None, not {age!r}"
            )
        if not (self.source or self.author or self.batch or self.older_than is not None):
            raise InvalidInputError(
                "an Origin needs a condition: source=, author=, batch= or older_than="
            )

    def holds(self, passage: Passage) -> bool:
        """Return whether a passage comes from here; raises what its metadata raises."""
        for name in ("source", "author", "batch"):
            wanted = getattr(self, name)
            if wanted and _named(passage, name) not in wanted:
                return False
        if self.older_than is None:
            return True
        created = _moment(passage.metadata.get("created_at"))
        return created is not None and datetime.now(UTC) - created >= self.older_than


@dataclass(frozen=True)
class Trust:
    """A policy over metadata: which passages are protected, which known; all others are open.

    Attributes:
        protected: Where passages come from that only a person drops: the filter marks them where
            they are unusual, and no report quarantines them.
        known: Where passages come from that people you know write: it takes stronger evidence to
            drop them.
        known_share: The share of alpha that known passages may spend, in (0, 1). With more than 0.1
            calibrate on your own traffic: the shipped calibration leaves the open part too little.

    Strings among the origins name sources.

    Raises:
        InvalidInputError: An origin is neither an `Origin` nor a string, or the share is no share.
    """

    protected: Sequence[Origin | str] = ()
    known: Sequence[Origin | str] = ()
    known_share: float = _KNOWN_SHARE

    def __post_init__(self) -> None:
        for name in _CLOSED:
            given = _all_of(name, getattr(self, name), (str, Origin), "Origin or names of sources")
            origins = [Origin(source=[one]) if isinstance(one, str) else one for one in given]
            object.__setattr__(self, name, tuple(origins))
        share = require_share("known_share", self.known_share, usual=_KNOWN_SHARE)
        object.__setattr__(self, "known_share", share)

    @classmethod
    def from_json(cls, path: str | Path) -> Trust:
        """Read a policy from a file, so that guards and `ragguard worker --trust` have the same.

            {"protected": ["statutes", {"source": ["wiki"], "author": ["ann"]}],
             "known": [{"older_than_days": 90}], "known_share": 0.1}

        Raises:
            InvalidInputError: The file cannot be read, or holds something else.
        """
        value = read_json(path)
        try:
            found = dict(_checked(value, ("protected", "known", "known_share")))
            for name in set(_CLOSED) & found.keys():
                if _are_several(found[name]):
                    found[name] = list(map(_origin, found[name]))
            return cls(**found)
        except InvalidInputError as error:
            raise InvalidInputError(f"{path} holds no Trust: {error}") from None

    def class_of(self, passage: Passage) -> Class:
        """Return the class of a passage; metadata that cannot be read makes it open."""
        try:
            for name in _CLOSED:
                if any(origin.holds(passage) for origin in getattr(self, name)):
                    return name
        except Exception:  # a mapping or a str with methods of its own
            return "open"
        return "open"

    @property
    def open_share(self) -> float:
        """The share of alpha that open passages may spend."""
        return 1.0 - (self.known_share if self.known else 0.0)

    def shares(self, passages: Sequence[Passage]) -> NDArray[np.float64]:
        """Return the share of alpha that each of n passages' classes may spend: float64 (n,)."""
        left = self.open_share
        share = {"protected": 0.0, "known": 1.0 - left, "open": left}
        return np.array([share[self.class_of(one)] for one in passages], np.float64)


def as_trust(given: Trust | Collection[str] | None) -> Trust | None:
    """Return the policy that `Guard(trust=)` names; names of sources are protected.

    Raises:
        InvalidInputError: It is none.
    """
    if given is None or isinstance(given, Trust):
        return given
    if _are_several(given):
        return Trust(protected=list(given))
    raise InvalidInputError(
        f"trust must be a Trust or names of sources, not {type(given).__name__}; pass "
        'Trust(protected=["handbook"], known=["wiki"])'
    )


def _checked(value: Any, names: Collection[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or not value.keys() <= {*names}:
        got = f"one with {', '.join(value)}" if isinstance(value, dict) else type(value).__name__
        raise InvalidInputError(f"expected an object with {', '.join(names)} alone, not {got}")
    return value


def _origin(value: Any) -> Origin | str:
    """Return what an element of a list in a file names."""
    if isinstance(value, str):
        return value
    found = dict(_checked(value, ("source", "author", "batch", "older_than_days")))
    if (days := found.pop("older_than_days", None)) is not None:
        try:
            found["older_than"] = timedelta(days=require_number("older_than_days", days))
        except OverflowError as error:
            raise InvalidInputError(
                f"older_than_days must be a number that no calendar ends before, not {days!r}"
            ) from error
    return Origin(**found)


def _all_of(name: str, given: Any, kinds: type | tuple[type, ...], wanted: str) -> list[Any]:
    """Return the argument `name`, several of these kinds, which messages call `wanted`."""
    if not _are_several(given) or not all(isinstance(one, kinds) for one in given):
        raise InvalidInputError(f"{name} must be a list of {wanted}, not {given!r:.80}")
    return list(given)


def _are_several(given: Any) -> bool:
    """Return whether it is a collection, and neither one text nor an array of no dimension."""
    several = isinstance(given, Collection) and not isinstance(given, str | bytes)
    return several and getattr(given, "shape", None) != ()


def _named(passage: Passage, name: str) -> str | None:
    try:
        value = passage.metadata.get(name) if passage.metadata else None
        named = str(value) if isinstance(value, (Integral, os.PathLike)) else value
    except Exception:  # a mapping or a path with methods of its own, or a number that is too long
        return None
    return named if isinstance(named, str) else None


def _moment(value: Any) -> datetime | None:
    """Return the moment that metadata names, or None; one that is to come is none."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, Real):
            value = datetime.fromtimestamp(float(value), UTC)
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time())
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(value, datetime):
        return None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
