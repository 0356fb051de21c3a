"""The pages of one event, one verdict and one passage in quarantine, and of who did what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragguard.audit.decisions import match
from ragguard.audit.quarantine import QuarantineEntry
from ragguard.audit.records import AuditStore
from ragguard.audit.retelling import retold
from ragguard.content import content_key
from ragguard.review.lists import case_of
from ragguard.review.plots import axes
from ragguard.review.shown import Sought
from ragguard.review.visit import Page, Visit

__all__ = ["entry", "event", "history", "text", "verdict"]

_NEWEST = 500  # rows of the trail that the page shows
_SEARCHED = 5_000  # newest rows among which those of one passage are looked for
_TOLD = ("event", "effect", "until", "queries", "scorer", "unreadable")


def event(visit: Visit) -> Page:
    """One event: what was said, what attribution found, and what became of the passages."""
    event_id = visit.get("id")
    found = visit.store.event(event_id)
    attribution = visit.store.attribution(event_id)
    scores = [] if attribution is None else attribution.scores
    keys = [content_key(score.passage.text) for score in scores]
    entries = {one.key: one for one in visit.store.quarantine(keys=keys)}
    rows = [
        (rank, score, entries.get(key))
        for rank, (score, key) in enumerate(zip(scores, keys, strict=True), start=1)
    ]
    shows = {
        "event": found,
        "found": attribution,
        "axes": axes(attribution) if attribution is not None else [],
        "rows": rows,
        "accused": bool(entries),
        "sought": Sought.of(found.query, found.response),
    }
    return Page("event.html", "Event", shows)


def verdict(visit: Visit) -> Page:
    """One verdict: every passage that it did not simply keep, and why."""
    found = visit.store.verdict(visit.get("id"))
    keys = [one.key for one in found.passages]
    entries = {one.key: one for one in visit.store.quarantine(keys=keys)}
    allowed = {one.key for one in visit.store.allowances() if one.holds and one.effect == "allowed"}
    told = retold(found)
    rows = [
        (passage, words, entries.get(passage.key), passage.key in allowed)
        for passage, words in zip(found.passages, told.passages, strict=True)
    ]
    shows = {
        "verdict": found,
        "told": told,
        "rows": rows,
        "sought": Sought.of(found.query or "", ""),
    }
    return Page("verdict.html", "Verdict", shows)


def entry(visit: Visit) -> Page:
    """One passage that was accused, with all of its text that a page can show."""
    found = _entry(visit)
    case = case_of(visit.store, [found])
    done = [one for one in _done(visit.store, _SEARCHED) if one["row"].subject == found.key]
    return Page("entry.html", "Passage", {"entry": found, "case": case, "history": done})


def text(visit: Visit) -> str:
    """Return the whole text of a passage that was accused."""
    return _entry(visit).text


def _entry(visit: Visit) -> QuarantineEntry:
    key = visit.get("key")
    return match(visit.store.quarantine(keys=[key]), key)


def history(visit: Visit) -> Page:
    """Who did what lately to quarantine, allow-list, policy and calibration, the newest first."""
    return Page("history.html", "History", {"rows": list(_done(visit.store, _NEWEST))})


def _done(store: AuditStore, newest: int) -> Iterator[dict[str, Any]]:
    """Yield the tenant's rows of the trail, with why somebody did it, and the rest by name."""
    for row in reversed(store.newest_trail(newest)):
        if row.tenant == store.tenant:
            told = row.told
            rest = {name: str(told[name]) for name in _TOLD if told.get(name)}
            yield {"row": row, "why": str(told.get("said", "")), "rest": rest}
