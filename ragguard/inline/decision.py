"""What a filter answers: the evidence of a set, what is left open past the gate, and what goes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import Embedder
from ragguard.inline.budget import Budget
from ragguard.inline.selection import Selection
from ragguard.passage import Passage
from ragguard.verdict import Evidence

Strategy = Literal["auto", "clustering", "concentration"]


@dataclass(frozen=True)
class Scored:
    """The evidence of one set as arrays.

    Attributes:
        signals: float64 array of shape (k, s).
        suspicion: float64 array of shape (k,).
        score: Of the set.
        with_reference: True if passages below the judged ones were given.
        expected: bool array of shape (k,): passages that repeat no more than honest ones do for
            such a query.
        naming: Whether the query only names something.
        undone: Of the passages that were not judged, or not read whole, by their row: why.
    """

    signals: NDArray[np.float64]
    suspicion: NDArray[np.float64]
    score: float
    with_reference: bool
    expected: NDArray[np.bool_]
    naming: bool
    undone: Mapping[int, str]


@dataclass(frozen=True)
class Decision:
    """What is to become of one retrieved set.

    Attributes:
        attacked: True if the gate fired.
        p_value: Of "this is clean traffic".
        flagged: For every passage, in order, whether it is to be dropped.
        explain: Puts the evidence into words, one entry a passage, when somebody reads it:
            explaining costs more than deciding.
        scored: What the gate decided on, or None where nothing was scored.
        unusual: The places of passages that are marked if they are kept: those flagged, and those
            whose own evidence is unusual for clean traffic.
        undecided: The places of passages that are not flagged and were not judged, or not read
            whole: what becomes of them is up to `on_error`.
        failure: What kept passages from being judged, or None.
        in_quarantine: True if a passage is in quarantine.
        note: What could not be read, or None.
    """

    attacked: bool
    p_value: float
    flagged: list[bool]
    explain: Callable[[], list[Evidence]]
    scored: Scored | None = None
    unusual: Set[int] = frozenset()
    undecided: Collection[int] = ()
    failure: Exception | None = None
    in_quarantine: bool = False
    note: str | None = None

    @property
    def evidence(self) -> list[Evidence]:
        """The evidence of every passage, in order."""
        return self.explain()

    def marked(self, k: int | None, *, drops: bool) -> list[int]:
        """Return the places of the passages to mark among those that the generator gets.

        These are k (None: all), without those flagged if it `drops` them.
        """
        if not self.unusual:
            return []
        flags = enumerate(self.flagged)
        kept = [place for place, flag in flags if not (flag and drops)][:k]
        return [place for place in kept if place in self.unusual]

    def with_undecided_dropped(self) -> Decision:
        """Return the decision that flags what is undecided as well."""
        flagged = list(self.flagged)
        for place in self.undecided:
            flagged[place] = True
        return self.with_flags(flagged)

    def with_flags(self, flagged: list[bool]) -> Decision:
        """Return the decision with other flags."""

        def explain() -> list[Evidence]:
            found = self.explain()
            return [
                one if one.flagged == flag else replace(one, flagged=flag)
                for one, flag in zip(found, flagged, strict=True)
            ]

        return replace(self, flagged=flagged, explain=explain)


@dataclass(frozen=True)
class Gated:
    """A set past the gate.

    Attributes:
        query: The question.
        passages: In rank order.
        k: How many of them would reach the generator.
        attacked: True if the gate fired.
        p_value: Of "this is clean traffic".
        decided_on: What the gate decided on.
        unusual: The places of passages whose own evidence is unusual for clean traffic.
        judged: The same of all passages that may go, of an attacked set.
        selection: What of an attacked set goes by words, and what vectors decide on.
        needs: The passages whose vectors `select` will ask for; none for a clean set, and none for
            an attacked one in which vectors decide nothing.
    """

    query: str
    passages: Sequence[Passage]
    k: int
    attacked: bool
    p_value: float
    decided_on: Scored | None = None
    unusual: Set[int] = frozenset()
    judged: Scored | None = None
    selection: Selection | None = None
    needs: Sequence[Passage] = ()


class SetFilter(Protocol):
    """Says which passages of a retrieved set are to be dropped."""

    def gate(
        self, query: str, passages: Sequence[Passage], k: int, budget: Budget | None = None, /
    ) -> Gated:
        """Do what needs no vectors, so that a batch can be embedded in one call.

        Of the passages, in rank order, the first `k` would reach the generator. What the budget
        does not suffice for is left undecided.
        """
        ...

    def select(self, gated: Gated, embedder: Embedder, /) -> Decision:
        """Decide with the vectors of an embedder."""
        ...
