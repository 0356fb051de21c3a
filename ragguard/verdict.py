"""What the inline filter answers: one `Verdict` a query, one `Evidence` a passage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ragguard.passage import Passage

__all__ = ["Evidence", "Mode", "Verdict"]

Mode = Literal["filter", "monitor"]


@dataclass(frozen=True)
class Evidence:
    """What speaks against one passage.

    Attributes:
        passage_id: The id of the passage.
        signal: Name of the strongest signal, "quarantine", or "none".
        strength: How strong that signal is, in [0, 1].
        reason: The same in words that an operator understands.
        signals: Every signal by name, each in [0, 1] (RAGDefender's raw scores keep their scale).
        suspicion: The combined score that decides, in nats of log-odds.
        flagged: True if the passage is dropped, or in monitor mode would be.
    """

    passage_id: str
    signal: str
    strength: float
    reason: str
    signals: Mapping[str, float] = field(hash=False)
    suspicion: float
    flagged: bool


@dataclass(frozen=True)
class Verdict:
    """The answer of `Guard.filter`.

    Attributes:
        kept: Passages for the generator, in input order.
        dropped: Passages taken out, in input order; empty in monitor mode.
        attacked: True if the gate fired: this set does not look like clean traffic.
        p_value: Conformal p-value of "this is clean traffic", in (0, 1]. The RAGDefender preset has
            no gate and says 0 where it drops, else 1.
        evidence: One `Evidence` for every input passage, in input order.
        mode: "filter" or "monitor".
        error: What kept the filter from judging (the passages are then all kept), or None.
    """

    kept: list[Passage]
    dropped: list[Passage]
    attacked: bool
    p_value: float
    evidence: list[Evidence]
    mode: Mode = "filter"
    error: str | None = None
