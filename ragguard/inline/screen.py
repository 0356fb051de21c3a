"""What is set aside before the judge looks: what is in quarantine, and what cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from ragguard.content import content_key
from ragguard.embedding.adapt import Embedder
from ragguard.inline.budget import Budget
from ragguard.inline.judgement import Judge, Judgement, Opened
from ragguard.inline.reasons import describe
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = ["open_screen", "unjudged"]

_HARMLESS = Passage("")


def open_screen(
    query: str,
    passages: Sequence[Passage],
    k: int,
    judge: Judge,
    quarantined: Set[str],
    budget: Budget | None = None,
) -> Opened:
    """Flag what is in quarantine and what cannot be read; have the judge look at the rest.

    Args:
        query: The user's question.
        passages: In rank order.
        k: How many passages the generator gets.
        judge: Judges what is not set aside.
        quarantined: `content_key`s of the quarantined texts.
        budget: Of the judge.

    Returns:
        What is left to do once the vectors are there.

    Raises:
        Exception: What the judge raises, if no passage by itself is the cause.
    """
    budget = budget or Budget()
    aside = _quarantined(passages, quarantined)
    try:
        opened = judge.open(query, _without(aside, passages), k, budget)
    except Exception:
        # One passage must not cost the others their judgement: whichever it is, it is set aside.
        judge.open(query, [_HARMLESS], 1, budget)
        unreadable = _unreadable(query, passages, judge, aside)
        if not unreadable:
            raise
        aside |= unreadable
        opened = judge.open(query, _without(aside, passages), k, budget)
    if not aside:
        return opened
    return Opened(opened.needs, lambda embedder: _merged(opened, embedder, passages, aside))


def _quarantined(passages: Sequence[Passage], quarantined: Set[str]) -> dict[int, Evidence]:
    aside = {}
    for place, passage in enumerate(passages) if quarantined else ():
        try:
            held = content_key(passage.text) in quarantined
        except Exception as error:  # a str with methods of its own
            aside[place] = _evidence(passage, "unreadable", _why(error))
        else:
            if held:
                aside[place] = _evidence(passage, "quarantine", describe("quarantine", 1.0))
    return aside


def _unreadable(
    query: str, passages: Sequence[Passage], judge: Judge, aside: Mapping[int, Evidence]
) -> dict[int, Evidence]:
    """Return the passages that the judge cannot open even by themselves."""
    found = {}
    for place, passage in enumerate(passages):
        if place not in aside:
            try:
                judge.open(query, [passage], 1, Budget())
            except Exception as error:
                found[place] = _evidence(passage, "unreadable", _why(error))
    return found


def _merged(
    opened: Opened, embedder: Embedder, passages: Sequence[Passage], aside: Mapping[int, Evidence]
) -> Judgement:
    judgement = opened.finish(embedder)
    free = [place for place in range(len(passages)) if place not in aside]
    flagged = [True] * len(passages)
    for place, flag in zip(free, judgement.flagged, strict=True):
        flagged[place] = flag

    def explain() -> list[Evidence]:
        by_place = dict(zip(free, judgement.evidence, strict=True)) | dict(aside)
        return [by_place[place] for place in range(len(passages))]

    signals = [one.signal for one in aside.values()]
    unreadable = signals.count("unreadable")
    return replace(
        judgement,
        flagged=flagged,
        explain=explain,
        undecided=[free[place] for place in judgement.undecided],
        held="quarantine" in signals,
        note=f"{unreadable} of {len(passages)} passages cannot be read and are held back"
        if unreadable
        else judgement.note,
    )


def unjudged(
    passages: Sequence[Passage],
    quarantined: Set[str] = frozenset(),
    failure: Exception | None = None,
) -> Judgement:
    """Return the judgement of a set that could not be judged: what is in quarantine goes."""
    aside = _quarantined(passages, quarantined)
    open_ = [place for place in range(len(passages)) if place not in aside]
    evidence = [
        aside.get(place)
        or _evidence(passage, "none", "not judged: the filter failed", decided=False)
        for place, passage in enumerate(passages)
    ]
    return Judgement(
        False,
        1.0,
        [one.flagged for one in evidence],
        lambda: evidence,
        undecided=open_,
        failure=failure,
        held=any(one.signal == "quarantine" for one in evidence),
    )


def _without(aside: Mapping[int, Evidence], passages: Sequence[Passage]) -> Sequence[Passage]:
    if not aside:
        return passages
    return [passage for place, passage in enumerate(passages) if place not in aside]


def _why(error: Exception) -> str:
    return f"it cannot be read ({type(error).__name__}), so it is held back"


def _evidence(passage: Passage, signal: str, reason: str, *, decided: bool = True) -> Evidence:
    told = decided  # what is set aside is flagged with all the strength there is
    return Evidence(
        passage_id=passage.id,
        signal=signal,
        strength=float(told),
        reason=reason,
        signals={signal: 1.0} if told else {},
        suspicion=0.0,
        flagged=told,
        decided=decided,
    )
