"""From the arrays of a judged set to evidence in words, one entry a passage."""

from __future__ import annotations

from collections.abc import Sequence

from ragguard.inline.features import SIGNALS
from ragguard.inline.judgement import Scored
from ragguard.inline.reasons import CLEAN, describe, named
from ragguard.inline.scoring import contributions
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = ["explained"]


def explained(
    passages: Sequence[Passage], scored: Scored, flagged: Sequence[bool]
) -> list[Evidence]:
    """Put the arrays into words; passages below the judged ones have no signals of their own."""
    added = contributions(scored.signals).tolist()
    rows, suspicion = scored.signals.tolist(), scored.suspicion.tolist()
    evidence = []
    for position, passage in enumerate(passages):
        if position >= len(rows):
            evidence.append(Evidence(passage.id, "none", 0.0, CLEAN, {}, 0.0, flagged=False))
            continue
        signals = dict(zip(SIGNALS, rows[position], strict=True))
        telling = named(signals, dict(zip(SIGNALS, added[position], strict=True)))
        reasons = [describe(name, signals[name]) for name in telling]
        undone = scored.undone.get(position)
        if undone is not None:
            reasons.append(undone)
        evidence.append(
            Evidence(
                passage_id=passage.id,
                signal=telling[0] if telling else "none",
                strength=signals[telling[0]] if telling else 0.0,
                reason="; ".join(reasons) or CLEAN,
                signals=signals,
                suspicion=suspicion[position],
                flagged=flagged[position],
                decided=undone is None or flagged[position],
            )
        )
    return evidence
