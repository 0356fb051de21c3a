"""What sources say that a person vouches for, and what therefore passes though it is confirmed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragguard.audit.allow_list import Allowance
from ragguard.audit.quarantine import QuarantineEntry
from ragguard.audit.records import AuditStore
from ragguard.content import content_key
from ragguard.errors import EventNotFoundError
from ragguard.passage import Passage
from ragguard.text import printable
from ragguard.trust import source_of


def sources_of(store: AuditStore, events: Iterable[str | None]) -> dict[str, set[str]]:
    """Return the sources of what was reported with events, by content key; some are forgotten."""
    found: dict[str, set[str]] = {}
    for event in {one for one in events if one is not None}:
        try:
            seen, attribution = store.event(event).passages, store.attribution(event)
        except EventNotFoundError:
            continue
        scored = () if attribution is None else [one.passage for one in attribution.scores]
        for passage in (*seen, *scored):
            if (source := source_of(passage)) is not None:
                found.setdefault(content_key(passage.text), set()).add(source)
    return found


def still_passing(
    store: AuditStore, entries: Sequence[QuarantineEntry], passages: Sequence[Passage] = ()
) -> list[tuple[QuarantineEntry, Allowance]]:
    """Return confirmed entries that pass all the same, each with its source, which is allowed.

    A source is told by the entry's event, or by `passages`. A person who vouches for all of a
    source said so for a reason: that ends by `disallow` alone.
    """
    listed = store.allowances()
    allowed = [one for one in listed if one.source and one.holds and one.effect == "allowed"]
    if not allowed:
        return []
    named = sources_of(store, (one.event_id for one in entries))
    for passage in passages:
        if (source := source_of(passage)) is not None:
            named.setdefault(content_key(passage.text), set()).add(source)
    return [
        (entry, one)
        for entry in entries
        for one in allowed
        if entry.status == "confirmed" and one.source in named.get(entry.key, ())
    ]


def passes(source: str) -> str:
    """Say of a passage whose source is allowed that it passes, and what to do."""
    return (
        f'its source "{printable(source)[:200]}" is allowed, so it is not dropped; take that off '
        "the allow-list first"
    )
