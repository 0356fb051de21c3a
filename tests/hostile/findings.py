"""What a fuzzer found: by check and cause, how often, and the number that reproduces it."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Finding", "Findings", "cause_of"]


@dataclass
class Finding:
    """Sets that break one promise in one way.

    Attributes:
        count: How many there are.
        first: The smallest number of such a set.
    """

    count: int
    first: int


@dataclass
class Findings:
    """Sets tried and what they broke.

    Attributes:
        tried: How many sets of each kind were tried.
        broken: By kind of set and what was broken.
        slowest: For each kind, the most processor time of a set in ms, and its number.
    """

    tried: dict[str, int] = field(default_factory=dict)
    broken: dict[tuple[str, str], Finding] = field(default_factory=dict)
    slowest: dict[str, tuple[float, int]] = field(default_factory=dict)

    def add(self, kind: str, number: int, broken: Iterable[str], milliseconds: float) -> None:
        """Count one set.

        Args:
            kind: What was tried.
            number: The set's.
            broken: What it broke, in words that are the same for the same cause.
            milliseconds: What it took.
        """
        found = Findings({kind: 1}, {}, {kind: (milliseconds, number)})
        found.broken = {(kind, what): Finding(1, number) for what in broken}
        self.join(found)

    def join(self, other: Findings) -> None:
        """Add what another search found."""
        for kind, count in other.tried.items():
            self.tried[kind] = self.tried.get(kind, 0) + count
        for key, finding in other.broken.items():
            known = self.broken.get(key)
            if known is None:
                self.broken[key] = finding
            else:
                known.count += finding.count
                known.first = min(known.first, finding.first)
        for kind, slow in other.slowest.items():
            self.slowest[kind] = max(slow, self.slowest.get(kind, (0.0, 0)))


def cause_of(error: BaseException) -> str:
    """Return the type of an exception and the innermost function of the package that it left."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "ragguard" in frame.filename and "tests" not in frame.filename
    ]
    if not frames:
        return type(error).__name__
    return f"{type(error).__name__} in {frames[-1].filename.rpartition('/')[2]}: {frames[-1].name}"
