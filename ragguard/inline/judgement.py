"""What judges answer: the arrays of a set, what becomes of its passages, and what is left open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.inline.budget import Budget
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = ["Judge", "Judgement", "Opened", "Scored", "Strategy"]

Strategy = Literal["auto", "clustering", "concentration"]


@dataclass(frozen=True)
class Scored:
    """The evidence of one set as arrays.

    Attributes:
        signals: float64 array of shape (k, s).
        suspicion: float64 array of shape (k,).
        score: Of the set.
        with_reference: True if passages below the judged ones were given.
        undone: Of the passages that were not judged, or not read whole, by their row: why.
        late: The rows that were not judged in time.
    """

    signals: NDArray[np.float64]
    suspicion: NDArray[np.float64]
    score: float
    with_reference: bool = False
    undone: Mapping[int, str] = field(default_factory=dict)
    late: Collection[int] = ()


@dataclass(frozen=True)
class Judgement:
    """What a judge says of one retrieved set.

    Attributes:
        attacked: True if the gate fired.
        p_value: Of "this is clean traffic".
        flagged: For every passage, in order, whether it is to be dropped.
        explain: Puts the evidence into words, one entry a passage; what costs more than it takes
            to judge a set is left until somebody reads it.
        scored: What the gate decided on, or None where nothing was scored.
        undecided: The places of passages that are not flagged and were not judged, or not read
            whole: what becomes of them is up to `on_error`.
        failure: What kept passages from being judged, or None.
        held: True if a passage is in quarantine.
        note: What could not be read, or None.
    """

    attacked: bool
    p_value: float
    flagged: list[bool]
    explain: Callable[[], list[Evidence]]
    scored: Scored | None = None
    undecided: Collection[int] = ()
    failure: Exception | None = None
    held: bool = False
    note: str | None = None

    @property
    def evidence(self) -> list[Evidence]:
        """The evidence of every passage, in order."""
        return self.explain()

    def with_the_undecided_held(self) -> Judgement:
        """Return the judgement that flags what is undecided as well."""
        flagged = list(self.flagged)
        for place in self.undecided:
            flagged[place] = True

        def explain() -> list[Evidence]:
            found = self.explain()
            return [
                one if one.flagged == flag else replace(one, flagged=flag)
                for one, flag in zip(found, flagged, strict=True)
            ]

        return replace(self, flagged=flagged, explain=explain)


@dataclass(frozen=True)
class Opened:
    """A set past the gate, not yet judged.

    Attributes:
        needs: The passages whose vectors `finish` will ask for; none for a clean set, and none for
            an attacked one in which vectors decide nothing.
        finish: Judges the set with the vectors of an embedder.
    """

    needs: Sequence[Passage]
    finish: Callable[[Embedder], Judgement]


class Judge(Protocol):
    """Says which passages of a retrieved set are to be dropped."""

    def open(
        self, query: str, passages: Sequence[Passage], k: int, budget: Budget | None = None, /
    ) -> Opened:
        """Do what needs no vectors, so that a batch can be embedded in one call.

        `passages` are in rank order; the first `k` would reach the generator. What the budget does
        not suffice for is left undecided; a judge that reads no text needs none.
        """
        ...
