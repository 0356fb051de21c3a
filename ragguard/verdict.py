"""What the inline filter answers: one `Verdict` a query, one `Evidence` a passage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ragguard.passage import Passage

__all__ = ["Evidence", "Mode", "Verdict"]

Mode = Literal["filter", "monitor"]


@dataclass(frozen=True)
class Evidence:
    """What speaks against one passage.

    Attributes:
        passage_id: The id of the passage.
        signal: Name of the strongest signal, "quarantine", "allowed" (nothing drops it), or "none".
        strength: How strong that signal is, in [0, 1].
        reason: The same in words that an operator understands.
        signals: Every signal by name, each in [0, 1] (RAGDefender's raw scores keep their scale).
        suspicion: The combined score that decides, in nats of log-odds.
        flagged: True if the passage is dropped, or in monitor mode would be.
        marked: True if the passage is kept and unusual: one of `Verdict.marked`.
        decided: False if the passage was not judged, or not all of it was read; what becomes of it
            is then up to `on_error`, and `reason` says what was left undone.
    """

    passage_id: str
    signal: str
    strength: float
    reason: str
    signals: Mapping[str, float] = field(hash=False)
    suspicion: float
    flagged: bool
    decided: bool = True
    marked: bool = False


@dataclass(frozen=True, init=False, repr=False)
class Verdict:
    """The answer of `Guard.filter`.

    Attributes:
        kept: Passages for the generator, in input order.
        dropped: Passages taken out, in input order; empty in monitor mode.
        attacked: True if the gate fired, since this set does not look like clean traffic, or if a
            passage of it is in quarantine.
        p_value: Conformal p-value of "this is clean traffic", in (0, 1]. The RAGDefender preset has
            no gate and says 0 where it drops, else 1.
        evidence: One `Evidence` for every input passage, in input order; put into words when it is
            first read, since for most queries nobody does.
        mode: "filter" or "monitor".
        error: What kept the filter from reading or judging some of the passages, or None; the
            evidence says which ones, and `Guard(on_error=...)` what becomes of them.
        marked: Those of `kept` that are unusual: as suspicious as the worst passage of a share
            `mark_alpha` of clean queries; in monitor mode also what would be dropped.
        id: The id under which the store keeps what was decided, or None: of a set of which all was
            judged and nothing flagged or marked, nothing is kept.
    """

    kept: list[Passage]
    dropped: list[Passage]
    attacked: bool
    p_value: float
    evidence: list[Evidence]
    mode: Mode = "filter"
    error: str | None = None
    marked: list[Passage] = field(default_factory=list)
    id: str | None = field(default=None, compare=False)

    def __init__(
        self,
        kept: list[Passage],
        dropped: list[Passage],
        attacked: bool,
        p_value: float,
        evidence: list[Evidence] | Callable[[], list[Evidence]],
        mode: Mode = "filter",
        error: str | None = None,
        marked: list[Passage] | None = None,
        id: str | None = None,
    ) -> None:
        """Make a verdict; `evidence` may be a function that returns it."""
        self.__dict__.update(
            kept=kept, dropped=dropped, attacked=attacked, p_value=p_value, mode=mode, error=error
        )
        self.__dict__.update(marked=[] if marked is None else marked, id=id)
        self.__dict__["_explain" if callable(evidence) else "evidence"] = evidence

    def __getattr__(self, name: str) -> Any:
        # Only asked for what is not there: the evidence, until somebody has read it.
        explain = self.__dict__.get("_explain")
        if name != "evidence" or explain is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        # Of two threads that ask at once both get the list that was there first.
        return self.__dict__.setdefault("evidence", explain())

    def __hash__(self) -> int:
        return hash((self.attacked, self.p_value, *self.kept, *self.dropped))

    def __repr__(self) -> str:
        shown = f"attacked={self.attacked}, p_value={self.p_value:.4g}"
        counts = f"kept={len(self.kept)}, dropped={len(self.dropped)}, marked={len(self.marked)}"
        rest = "" if self.error is None else f", error={self.error[:80]!r}"
        return f"Verdict({shown}, {counts}, mode={self.mode!r}{rest})"

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}
