"""What is set aside before the filter looks: what is in quarantine, and what cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ragguard.content import content_key
from ragguard.embedding.adapt import Embedder
from ragguard.inline.budget import Budget
from ragguard.inline.decision import Decision, Gated, SetFilter
from ragguard.inline.explanations import describe
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = ["Screened", "screened", "undecided"]

_HARMLESS = Passage("")


@dataclass(frozen=True)
class Screened:
    """A set past the gate, with what was set aside before it.

    Attributes:
        gated: The rest of the set.
        passages: All passages, in rank order.
        aside: By place, the evidence of what is in quarantine or cannot be read.
    """

    gated: Gated
    passages: Sequence[Passage]
    aside: Mapping[int, Evidence]

    def decide(self, embedder: Embedder) -> Decision:
        """Decide on the rest, and flag what was set aside."""
        decision = self.gated.decide(embedder)
        if not self.aside:
            return decision
        free = [place for place in range(len(self.passages)) if place not in self.aside]
        flagged = [True] * len(self.passages)
        for place, flag in zip(free, decision.flagged, strict=True):
            flagged[place] = flag

        def explain() -> list[Evidence]:
            by_place = dict(zip(free, decision.evidence, strict=True)) | dict(self.aside)
            return [by_place[place] for place in range(len(self.passages))]

        signals = [one.signal for one in self.aside.values()]
        unreadable = signals.count("unreadable")
        return replace(
            decision,
            flagged=flagged,
            explain=explain,
            undecided=[free[place] for place in decision.undecided],
            held="quarantine" in signals,
            note=f"{unreadable} of {len(flagged)} passages cannot be read and are held back"
            if unreadable
            else decision.note,
        )


def screened(
    query: str,
    passages: Sequence[Passage],
    k: int,
    by: SetFilter,
    quarantined: Set[str],
    budget: Budget | None = None,
) -> Screened:
    """Set aside what is in quarantine and what cannot be read; ask the gate about the rest.

    Args:
        query: The user's question.
        passages: In rank order.
        k: How many passages the generator gets.
        by: The filter that looks at what is not set aside.
        quarantined: `content_key`s of the quarantined texts.
        budget: Of the filter.

    Raises:
        Exception: What the filter raises, if no passage by itself is the cause.
    """
    budget = budget or Budget()
    aside = _quarantined(passages, quarantined)
    try:
        gated = by.gate(query, _without(aside, passages), k, budget)
    except Exception:
        # One passage must not cost the others their judgement: whichever it is, it is set aside.
        by.gate(query, [_HARMLESS], 1, budget)
        unreadable = _unreadable(query, passages, by, aside)
        if not unreadable:
            raise
        aside |= unreadable
        gated = by.gate(query, _without(aside, passages), k, budget)
    return Screened(gated, passages, aside)


def undecided(
    passages: Sequence[Passage],
    quarantined: Set[str] = frozenset(),
    failure: Exception | None = None,
) -> Decision:
    """Return the decision on a set that could not be judged: what is in quarantine goes."""
    aside = _quarantined(passages, quarantined)
    evidence = [
        aside.get(place)
        or _evidence(passage, "none", "not judged: the filter failed", decided=False)
        for place, passage in enumerate(passages)
    ]
    return Decision(
        False,
        1.0,
        [one.flagged for one in evidence],
        lambda: evidence,
        undecided=[place for place in range(len(passages)) if place not in aside],
        failure=failure,
        held=any(one.signal == "quarantine" for one in evidence),
    )


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
    query: str, passages: Sequence[Passage], by: SetFilter, aside: Mapping[int, Evidence]
) -> dict[int, Evidence]:
    """Return the passages that the filter cannot read even by themselves."""
    found = {}
    for place, passage in enumerate(passages):
        if place not in aside:
            try:
                by.gate(query, [passage], 1, Budget())
            except Exception as error:
                found[place] = _evidence(passage, "unreadable", _why(error))
    return found


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
