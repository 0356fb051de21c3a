"""What is usual in a knowledge base: the middle and spread of some signs, the upper tail of all.

Knowledge bases differ in how they are written and in their embedder, so manner and density are
measured from the middle of a base, in its own spread: where a machine wrote all of it, being
written by a machine is no sign.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import CalibrationError, InvalidInputError

__all__ = ["RELATIVE", "SIGNS", "Base", "Floats", "as_base", "shipped_base", "shipped_shares"]

SIGNS = ("manner", "answered", "jumble", "injection", "hidden", "density")
"""What is judged of a passage."""

RELATIVE = ("manner", "density")
"""The signs that are measured from the middle of a base."""

_FORMAT = 1
_TAIL = 0.05  # of the passages, whose signs are kept
_MOST_KEPT = 1_000
_HIGH = 0.9  # the quantile that is one spread above the middle
_LEAST_SPREAD = 1e-3
_FEWEST = 100  # passages that have a middle

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Base:
    """What is usual in a knowledge base.

    Attributes:
        count: Of how many passages.
        middle: Of each relative sign, the median.
        spread: Of each relative sign, from the median to the 90th percentile.
        tails: Of each sign, the highest values in ascending order, once they are `measured`.
    """

    count: int
    middle: Mapping[str, float]
    spread: Mapping[str, float]
    tails: Mapping[str, Floats]

    @classmethod
    def of(cls, relative: Mapping[str, Floats]) -> Self:
        """Return the middle and spread of the relative signs of n passages, without tails.

        Of a sign that fewer than 100 passages have there is neither.
        """
        finite = {name: values[np.isfinite(values)] for name, values in relative.items()}
        known = {name: values for name, values in finite.items() if len(values) >= _FEWEST}
        middle = {name: float(np.median(values)) for name, values in known.items()}
        spread = {
            name: max(float(np.quantile(values, _HIGH)) - middle[name], _LEAST_SPREAD)
            for name, values in known.items()
        }
        return cls(max(map(len, relative.values()), default=0), middle, spread, {})

    def measured(self, name: str, values: Floats) -> Floats:
        """Return how many spreads above the middle the values of a relative sign are."""
        return np.asarray((values - self.middle[name]) / self.spread[name], np.float64)

    def with_tails(self, signs: Mapping[str, Floats]) -> Base:
        """Return the base with the tails of its passages' signs."""
        count = max(map(len, signs.values()), default=0)
        tails = {
            name: np.sort(values[np.isfinite(values)])[-_most_kept(count) :]
            for name, values in signs.items()
        }
        return Base(count, self.middle, self.spread, tails)

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
        """Write it as JSON.

        Raises:
            CalibrationError: The file cannot be written.
        """
        try:
            Path(path).write_text(json.dumps(self.to_json()) + "\n", encoding="utf-8")
        except (OSError, ValueError) as error:
            raise CalibrationError(
                f"cannot write the base to {path}: {error}; pass a path that can be written"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it; numbers are rounded down to four digits behind the point."""
        return {
            "format": _FORMAT,
            "count": self.count,
            "middle": dict(self.middle),
            "spread": dict(self.spread),
            "tails": {name: np.round(tail, 4).tolist() for name, tail in self.tails.items()},
        }

    @classmethod
    def from_json(cls, data: Any, where: str) -> Self:
        """Return what `to_json` gave.

        Raises:
            CalibrationError: It is something else.
        """
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise CalibrationError(
                f"{where} is no base of format {_FORMAT}; make one with `ragguard scan --save-base`"
            )
        try:
            numbers = [
                {str(name): float(value) for name, value in data[part].items()}
                for part in ("middle", "spread")
            ]
            tails = {
                str(name): np.sort(np.array(values, np.float64).ravel())
                for name, values in data["tails"].items()
            }
            made = cls(int(data["count"]), numbers[0], numbers[1], tails)
            checked = np.hstack([*made.middle.values(), *made.spread.values(), *tails.values()])
            if made.count < 1 or min(made.spread.values(), default=1.0) <= 0.0:
                raise ValueError("a number is missing")
            if not np.isfinite(checked).all():
                raise ValueError("a number is not finite")
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise CalibrationError(
                f"{where} is damaged ({error!r}); make it anew with `ragguard scan --save-base`"
            ) from error
        return made


def _most_kept(count: int) -> int:
    return min(_MOST_KEPT, max(1, round(_TAIL * count)))


def as_base(base: Base | str | os.PathLike[str] | None) -> Base | None:
    """Return the base that `base` names.

    Raises:
        CalibrationError: It cannot be read.
        InvalidInputError: It is neither a Base, a path nor None.
    """
    if base is None or isinstance(base, Base):
        return base
    if not isinstance(base, (str, os.PathLike)):
        raise InvalidInputError(f"base must be a Base, a path or None, not {type(base).__name__}")
    try:
        data = json.loads(Path(base).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CalibrationError(
            f"cannot read the base {base}: {error}; make one with `ragguard scan --save-base`"
        ) from error
    return Base.from_json(data, str(base))


@cache
def _shipped() -> dict[str, Any]:
    file = resources.files("ragguard.admission") / "base.json"
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return data


@cache
def shipped_base() -> Base:
    """Return what is usual in clean passages of many knowledge bases, each measured by its own."""
    return Base.from_json(_shipped(), "the shipped base")


@cache
def shipped_shares() -> Mapping[str, float]:
    """Return the share of alpha that each sign may spend; together 1."""
    return {str(name): float(share) for name, share in _shipped()["shares"].items()}
