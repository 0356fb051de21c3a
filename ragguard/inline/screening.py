"""What is set aside before the filter looks: what is allowed, in quarantine, or cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ragguard.embedding.adapt import Embedder
from ragguard.inline.budget import Budget
from ragguard.inline.decision import Decision, Gated, SetFilter
from ragguard.inline.explanations import describe
from ragguard.inline.near_copies import NearCopy
from ragguard.inline.quarantined import Allowed, Quarantined
from ragguard.passage import Passage
from ragguard.trust import Trust
from ragguard.verdict import Evidence

_HARMLESS = Passage("")
_SHOWN_KEY = 12  # hex digits, as `ragguard quarantine list` shows them


@dataclass(frozen=True)
class Screened:
    """A set past the gate, with what was set aside before it.

    Attributes:
        by: The filter whose gate it was.
        gated: The rest of the set.
        passages: All passages, in rank order.
        aside: By place, the evidence of what is allowed, in quarantine or cannot be read.
        protected: The places of the others that only a person drops.
    """

    by: SetFilter
    gated: Gated
    passages: Sequence[Passage]
    aside: Mapping[int, Evidence]
    protected: Collection[int] = ()

    def decide(self, embedder: Embedder) -> Decision:
        """Decide on the rest, and flag what was set aside, but for what is allowed."""
        return _sparing(self.protected, self._with_aside(self.by.select(self.gated, embedder)))

    def _with_aside(self, decision: Decision) -> Decision:
        if not self.aside:
            return decision
        places = range(len(self.passages))
        free = [place for place in places if place not in self.aside]
        flags = dict(zip(free, decision.flagged, strict=True))
        flags |= {place: one.flagged for place, one in self.aside.items()}

        def explain() -> list[Evidence]:
            by_place = dict(zip(free, decision.evidence, strict=True)) | dict(self.aside)
            return [by_place[place] for place in places]

        signals = [one.signal for one in self.aside.values()]
        unreadable = signals.count("unreadable")
        return replace(
            decision,
            flagged=[flags[place] for place in places],
            explain=explain,
            unusual={
                *[free[place] for place in decision.unusual],
                *[place for place, one in self.aside.items() if one.flagged],
            },
            undecided=[free[place] for place in decision.undecided],
            in_quarantine="quarantine" in signals,
            note=f"{unreadable} of {len(places)} passages cannot be read and are held back"
            if unreadable
            else decision.note,
        )


def screened(
    query: str,
    passages: Sequence[Passage],
    k: int,
    by: SetFilter,
    quarantined: Quarantined,
    budget: Budget | None = None,
    trust: Trust | None = None,
) -> Screened:
    """Set aside what is allowed, in quarantine or cannot be read; ask the gate about the rest.

    The passages are in rank order, and the generator gets k of them. Whatever the filter `by`
    decides, `quarantined` is dropped, or let through; `trust` says what only a person drops, beside
    what is protected by name.

    Raises:
        Exception: What the filter raises, if no passage by itself is the cause.
    """
    protected = _protected(passages, quarantined.allowed, trust)
    aside = _set_aside(passages, quarantined, protected)
    if quarantined.allowed:
        k = _left(k, passages, aside)
    try:
        gated = by.gate(query, _without(aside, passages), k, budget)
    except Exception:
        # One passage must not cost the others their judgement: whichever it is, it is set aside.
        by.gate(query, [_HARMLESS], 1, budget)  # if even this fails, no passage is the cause
        unreadable = _unreadable(query, passages, by, aside)
        if not unreadable:
            raise
        aside |= unreadable
        gated = by.gate(query, _without(aside, passages), k, budget)
    return Screened(by, gated, passages, aside, protected - aside.keys())


def to_judge(
    passages: Sequence[Passage], k: int, quarantined: Quarantined, trust: Trust | None = None
) -> tuple[Sequence[Passage], int]:
    """Return the passages that `screened` asks the gate about, and how many it shows of them."""
    aside = _set_aside(passages, quarantined, _protected(passages, quarantined.allowed, trust))
    rest = _without(aside, passages)
    return rest, min(_left(k, passages, aside) if quarantined.allowed else k, len(rest))


def undecided(
    passages: Sequence[Passage],
    quarantined: Quarantined,
    failure: Exception,
    trust: Trust | None = None,
) -> Decision:
    """Return the decision on a set that could not be judged: what is in quarantine goes."""
    protected = _protected(passages, quarantined.allowed, trust)
    aside = _set_aside(passages, quarantined, protected)
    evidence = [
        aside.get(place)
        or _evidence(passage, "none", "not judged: the filter failed", decided=False)
        for place, passage in enumerate(passages)
    ]
    decision = Decision(
        False,
        1.0,
        [one.flagged for one in evidence],
        lambda: evidence,
        unusual={place for place, one in aside.items() if one.flagged},
        undecided=[place for place in range(len(passages)) if place not in aside],
        failure=failure,
        in_quarantine=any(one.signal == "quarantine" for one in evidence),
    )
    return _sparing(protected - aside.keys(), decision)


def _sparing(protected: Collection[int], decision: Decision) -> Decision:
    """Return the decision that drops nothing at the places `protected`, nor leaves it open."""
    if not protected:
        return decision
    flags = [flag and n not in protected for n, flag in enumerate(decision.flagged)]
    left = [place for place in decision.undecided if place not in protected]
    return replace(decision, undecided=left).with_flags(flags)


def _protected(
    passages: Sequence[Passage], allowed: Allowed, trust: Trust | None
) -> frozenset[int]:
    if allowed.protected is None and trust is None:
        return frozenset()
    return frozenset(
        place
        for place, passage in enumerate(passages)
        if (trust is not None and trust.class_of(passage) == "protected")
        or _says(allowed.protects, passage)
    )


def _says(ask: Callable[[Passage], bool], passage: Passage) -> bool:
    try:
        return ask(passage)
    except Exception:  # a mapping or a str with methods of its own: it is judged as others are
        return False


def _set_aside(
    passages: Sequence[Passage], quarantined: Quarantined, protected: Collection[int] = ()
) -> dict[int, Evidence]:
    aside: dict[int, Evidence] = {}
    if quarantined.allowed:
        aside = _allowed(passages, quarantined.allowed)
    if not quarantined.keys:
        return aside
    others = [place for place in range(len(passages)) if place not in aside]
    found = _copies([passages[place] for place in others], quarantined)
    for place, copy in zip(others, found, strict=True):
        if isinstance(copy, Evidence):
            aside[place] = copy
        elif copy is not None:
            by_a_person = copy.exact and copy.key not in quarantined.unconfirmed
            if by_a_person or place not in protected:
                aside[place] = _held(passages[place], copy)
    return aside


def _allowed(passages: Sequence[Passage], allowed: Allowed) -> dict[int, Evidence]:
    reason = describe("allowed", 1.0)
    return {
        place: Evidence(passage.id, "allowed", 0.0, reason, {}, 0.0, flagged=False)
        for place, passage in enumerate(passages)
        if _says(allowed.holds, passage)
    }


def _left(k: int, passages: Sequence[Passage], aside: Mapping[int, Evidence]) -> int:
    """Return how many of those that are not set aside reach the generator if none is dropped."""
    free = [n for n in range(len(passages)) if n not in aside or not aside[n].flagged]
    return sum(place not in aside for place in free[:k])


def _copies(
    passages: Sequence[Passage], quarantined: Quarantined
) -> Sequence[NearCopy | Evidence | None]:
    """Return what each passage is a copy of, or the evidence of one that cannot be read."""
    try:
        return quarantined.find([passage.text for passage in passages])
    except Exception as error:  # a str with methods of its own
        if len(passages) == 1:
            return [_evidence(passages[0], "unreadable", _why(error))]
        return [_copies([passage], quarantined)[0] for passage in passages]


def _held(passage: Passage, copy: NearCopy) -> Evidence:
    if copy.exact:
        return _evidence(passage, "quarantine", describe("quarantine", 1.0))
    kind = "piece" if copy.piece else "near_copy"
    reason = describe(kind, copy.share, copy.key[:_SHOWN_KEY])
    held = _evidence(passage, "quarantine", reason)
    return replace(held, strength=copy.share, signals={"quarantine": copy.share})


def _unreadable(
    query: str, passages: Sequence[Passage], by: SetFilter, aside: Mapping[int, Evidence]
) -> dict[int, Evidence]:
    """Return the passages that the filter cannot read even by themselves."""
    found = {}
    for place, passage in enumerate(passages):
        if place not in aside:
            try:
                by.gate(query, [passage], 1)
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
    # What is set aside is flagged with all the strength there is.
    signals = {signal: 1.0} if decided else {}
    strength = float(decided)
    return Evidence(
        passage.id, signal, strength, reason, signals, 0.0, flagged=decided, decided=decided
    )
