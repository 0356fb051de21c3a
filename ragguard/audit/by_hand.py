"""What a person puts into quarantine by hand, whether or not an attribution blames it.

An attribution that blames nobody has scored its scope all the same, and where something was planted
it stands out most nearly always (`benchmarks.attribution`). So whoever looks at such an event sees
the most responsible first, and says which of them is an attack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragguard.arguments import require_names
from ragguard.attribution.result import BRIEF, Attribution
from ragguard.audit.decisions import Decisions
from ragguard.audit.quarantine import QuarantineEntry, Reporters
from ragguard.audit.records import AuditStore, Event
from ragguard.audit.undoing import decided_by
from ragguard.content import content_key
from ragguard.errors import InvalidInputError, QuarantineNotFoundError
from ragguard.passage import Passage
from ragguard.text import both_ends

_MOST = 3  # passages that are named
_LEAST = 8  # digits of a key


def put(
    store: AuditStore,
    *passages: Passage,
    why: str,
    event: str | None = None,
    actor: str | None = None,
) -> list[QuarantineEntry]:
    """Put passages into quarantine, for good; `Guard.quarantine` says the rest."""
    actor = decided_by(actor, why)
    require_names(event=event)
    if not why or not why.strip():
        raise InvalidInputError("say why: whoever looks at the quarantine later must understand it")
    blank = [one.id for one in passages if not one.text.strip()]
    if blank or not passages:
        raise InvalidInputError(f"pass passages with a text; {blank} have none")
    reporters: Reporters = ()
    if event is not None:
        found, attribution = store.event(event), store.attribution(event)
        passages = tuple(_of_event(one, found, attribution) for one in passages)
        reporters = (found.reporter,)
    # Proposed first, so that the trail tells of both, and a failure in between leaves a proposal.
    store.add_quarantine(
        [
            QuarantineEntry(
                key=content_key(one.text),
                passage_id=one.id,
                text=one.text,
                reason=why,
                event_id=event,
                status="proposed",
                actor=actor,
                reporters=reporters,
            )
            for one in passages
        ]
    )
    unique = {content_key(one.text): one for one in passages}.values()
    return Decisions(store).decide(*unique, status="confirmed", actor=actor, why=why)


def _of_event(one: Passage, event: Event, found: Attribution | None) -> Passage:
    """Return a text as the passage of an event that it is; by that one's id it can be removed.

    What has an id of its own stays as it is, and what is none of the event's.
    """
    if one.id != Passage(one.text).id:
        return one
    alike = _by_key(candidates(event, found)).get(content_key(one.text), [])
    ends = both_ends(one.text, BRIEF)  # of a long one that was not blamed no more is kept
    cut = [] if found is None else [other for other in found.ranked if other.text == ends]
    if len(cut) == 1:  # whoever plants a page may copy the ends of another one
        alike.append(replace(cut[0], text=one.text))
    return next((other for other in alike if other.id != one.id), one)


def in_whole(event: Event, found: Attribution) -> list[Passage | None]:
    """Return each passage of an attribution's scope with its whole text, None where that is gone.

    Of a long one that was not blamed only the ends are kept, unless the event came with it.
    """
    # By id as well: whoever plants a page may copy the ends of another one.
    seen = {(one.id, both_ends(one.text, BRIEF)): one for one in event.passages}
    return [
        seen.get((one.passage.id, one.passage.text))
        or (one.passage if one.responsible or len(one.passage.text) < BRIEF else None)
        for one in found.scores
    ]


def unranked(event: Event, found: Attribution | None) -> list[Passage]:
    """Return the passages that came with an event and are not in the scope of its attribution.

    Whoever plants a page may take it back once it was read: then the search finds it no more.
    """
    if found is None:
        return [*event.passages]
    scope = {content_key(one.text) for one in in_whole(event, found) if one is not None}
    return [one for one in event.passages if content_key(one.text) not in scope]


def candidates(event: Event, found: Attribution | None) -> list[Passage]:
    """Return the passages that can be put into quarantine with an event.

    Those are the scope's, the most responsible first, and what the generator saw beside them.
    """
    return [*_ranked(event, found), *unranked(event, found)]


def _ranked(event: Event, found: Attribution | None) -> list[Passage]:
    if found is None:
        return []
    pairs = zip(found.scores, in_whole(event, found), strict=True)
    ranked = sorted(pairs, key=lambda pair: -pair[0].responsibility)
    return [whole for _, whole in ranked if whole is not None]


def named(event: Event, found: Attribution | None, names: Sequence[str]) -> list[Passage]:
    """Return those of an event's candidates that names mean: passage ids, keys or their beginnings.

    Raises:
        InvalidInputError: A name means several.
        QuarantineNotFoundError: It means none.
    """
    some, chosen = candidates(event, found), []
    known, listed = _by_key(some), [*some, *event.passages]
    for name in names:
        by_key = [key for key in known if len(name) >= _LEAST and key.startswith(name.lower())]
        # Whoever plants a passage may give it another's key for its id.
        meant = by_key or list(_by_key([one for one in listed if one.id == name]))
        if len(meant) > 1:
            keys = ", ".join(key[:12] for key in meant[:5])
            raise InvalidInputError(
                f"{name!r} names {len(meant)} passages of the event; name the one you mean: {keys}"
            )
        if not meant:
            raise QuarantineNotFoundError(
                f"the event has no passage {name!r} with its whole text; `ragguard events show` "
                "lists what it has, and --passages FILE takes any text"
            )
        alike = known[meant[0]]
        chosen.append(next((one for one in alike if one.id == name), alike[0]))
    return chosen


def _by_key(passages: Sequence[Passage]) -> dict[str, list[Passage]]:
    """Return passages by what they say: some have the same words, and ids of their own."""
    alike: dict[str, list[Passage]] = {}
    for one in passages:
        alike.setdefault(content_key(one.text), []).append(one)
    return alike


def to_look_at(event: Event, found: Attribution) -> list[Passage]:
    """Return whom a person looks at first where nobody is accused; nothing if somebody is."""
    return [] if found.accused else _ranked(event, found)[:_MOST]
