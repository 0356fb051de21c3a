"""What is usual in a knowledge base: how its passages are written, and the upper tail of each sign.

Knowledge bases differ in how they are written, so manner is measured from the middle of a base, in
its own spread: where a machine wrote all of it, being written by a machine is no sign.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import CalibrationError, InvalidInputError
from ragguard.files import read_json, write_json

SIGNS = ("manner", "answered", "gibberish", "injection", "hidden")
"""What is judged of a passage, in the order of the columns of its profile."""

_FORMAT = 1
_TAIL = 0.05  # of the passages, whose signs are kept
_MOST_KEPT = 1_000
_HIGH = 0.9  # the quantile that is one spread above the middle
_LEAST_SPREAD = 1e-3
_FEWEST = 100  # passages that have a middle

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Base:
    """What is usual in a knowledge base."""

    count: int  # of its passages
    middle: float  # the median of their manner, in nats
    spread: float  # from the median to the 90th percentile
    # Of each sign, the highest values in ascending order.
    tails: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, manner: Floats) -> Base:
        """Return a base without tails, of n passages' manner: -inf for what is not in English.

        If fewer than 100 others are left, middle and spread are those of the shipped base.
        """
        known = manner[np.isfinite(manner)]
        if len(known) < _FEWEST:
            return cls(len(manner), shipped_base().middle, shipped_base().spread)
        middle, high = np.quantile(known, (0.5, _HIGH)).tolist()
        return cls(len(manner), middle, max(high - middle, _LEAST_SPREAD))

    def measured(self, manner: Floats) -> Floats:
        """Return how many spreads above the middle passages are: float64 of shape (n,)."""
        return np.asarray((manner - self.middle) / self.spread, np.float64)

    def with_tails(self, signs: Mapping[str, Floats]) -> Base:
        """Return the base with the tails of its passages' signs."""
        tails = {
            name: np.sort(values[np.isfinite(values)])[-_most_kept(self.count) :]
            for name, values in signs.items()
        }
        return replace(self, tails=tails)

    def above(self, name: str, values: Floats) -> Floats:
        """Return how many passages of the base show as much of a sign: float64 of shape (n,).

        That is all of them for values of which a full tail does not tell, and for -inf.
        """
        tail = self.tails.get(name, np.empty(0))
        found = len(tail) - np.searchsorted(tail, values, side="left")
        untold = np.isneginf(values)
        if len(tail) >= _most_kept(self.count):
            untold |= values < tail[0]
        return np.where(untold, self.count, found).astype(np.float64)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, or raise `CalibrationError`."""
        if not self.count:
            raise CalibrationError("no passages tell what is usual; scan some, and save that base")
        write_json(path, "base", self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it, tails with four digits behind the point."""
        tails = {name: np.round(tail, 4).tolist() for name, tail in self.tails.items()}
        return {"format": _FORMAT, **vars(self), "tails": tails}

    @classmethod
    def from_json(cls, data: Any, where: str) -> Self:
        """Return what `to_json` gave; a `CalibrationError` says that it is something else."""
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise CalibrationError(
                f"{where} is no base of format {_FORMAT}; make one with `ragguard scan --save-base`"
            )
        try:
            tails = {
                str(name): np.sort(np.array(values, np.float64).ravel())
                for name, values in data["tails"].items()
            }
            made = cls(int(data["count"]), float(data["middle"]), float(data["spread"]), tails)
            if made.count < 1 or made.spread <= 0.0:
                raise ValueError("count and spread must be positive")
            if not np.isfinite(np.hstack([made.middle, made.spread, *tails.values()])).all():
                raise ValueError("a number is not finite")
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise CalibrationError(
                f"{where} is damaged ({error!r}); make it anew with `ragguard scan --save-base`"
            ) from error
        return made


def _most_kept(count: int) -> int:
    return min(_MOST_KEPT, max(1, round(_TAIL * count)))


def as_base(base: Base | str | os.PathLike[str] | None) -> Base | None:
    """Return the base that `base` is, or is the path of.

    Raises:
        CalibrationError: It cannot be read.
        InvalidInputError: It is neither a Base, a path nor None.
    """
    if base is None or isinstance(base, Base):
        return base
    if not isinstance(base, (str, os.PathLike)):
        raise InvalidInputError(f"base must be a Base, a path or None, not {type(base).__name__}")
    try:
        data = read_json(Path(base))
    except InvalidInputError as error:
        raise CalibrationError(f"{error}; make it with `ragguard scan --save-base`") from error
    return Base.from_json(data, str(base))


@cache
def _shipped() -> Any:
    file = resources.files("ragguard.admission") / "base.json"
    return json.loads(file.read_text(encoding="utf-8"))


@cache
def shipped_base() -> Base:
    """Return what is usual in clean passages of many knowledge bases, each measured by its own."""
    return Base.from_json(_shipped(), "the shipped base")


@cache
def shipped_shares() -> Mapping[str, float]:
    """Return the share of alpha that each sign may spend; together 1."""
    return {str(name): float(share) for name, share in _shipped()["shares"].items()}
