"""Quarantine first, then the judge: one retrieved set from passages to evidence."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from ragguard.content import content_key
from ragguard.embedding.protocol import Embedder
from ragguard.inline.judge import Judge, Judgement, Opened
from ragguard.inline.reasons import describe
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = ["open_screen", "unjudged"]


def open_screen(
    query: str,
    passages: Sequence[Passage],
    k: int,
    judge: Judge,
    quarantined: Set[str],
) -> Opened:
    """Flag what is in quarantine, and have the judge look at the rest.

    Args:
        query: The user's question.
        passages: In rank order.
        k: How many passages the generator gets.
        judge: Judges what is not in quarantine.
        quarantined: `content_key`s of the quarantined texts.

    Returns:
        What is left to do once the vectors are there.

    Raises:
        RagguardError: What the judge raises.
    """
    held = [bool(quarantined) and content_key(p.text) in quarantined for p in passages]
    free = [passage for passage, is_held in zip(passages, held, strict=True) if not is_held]
    opened = judge.open(query, free, k)
    if len(free) == len(passages):
        return opened

    def finish(embedder: Embedder) -> Judgement:
        judgement = opened.finish(embedder)
        rest = iter(judgement.flagged)

        def explain() -> list[Evidence]:
            rest = iter(judgement.evidence)
            return [
                _held(passage) if is_held else next(rest)
                for passage, is_held in zip(passages, held, strict=True)
            ]

        return replace(
            judgement, flagged=[is_held or next(rest) for is_held in held], explain=explain
        )

    return Opened(opened.needs, finish)


def _held(passage: Passage) -> Evidence:
    return Evidence(
        passage_id=passage.id,
        signal="quarantine",
        strength=1.0,
        reason=describe("quarantine", 1.0),
        signals={"quarantine": 1.0},
        suspicion=0.0,
        flagged=True,
    )


def unjudged(passages: Sequence[Passage], quarantined: Set[str] = frozenset()) -> Judgement:
    """Return the judgement of a set that could not be judged: only what is in quarantine goes."""
    evidence = [
        _held(passage)
        if quarantined and content_key(passage.text) in quarantined
        else Evidence(
            passage.id, "none", 0.0, "not judged: the filter failed", {}, 0.0, flagged=False
        )
        for passage in passages
    ]
    flagged = [one.flagged for one in evidence]
    return Judgement(False, 1.0, flagged, lambda: evidence)
