"""The pages: what lists proposals, events, verdicts and the like, and what shows one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_args

from ragguard.attribution import Attribution
from ragguard.audit import by_hand
from ragguard.audit.decisions import Decisions, match
from ragguard.audit.quarantine import HELD, SPARED, QuarantineEntry, QuarantineStatus, as_utc
from ragguard.audit.records import AuditStore, Event, EventStatus
from ragguard.audit.verdicts import retold
from ragguard.content import content_key
from ragguard.errors import EventNotFoundError, InvalidInputError, RagguardError
from ragguard.review.knowledge import SEARCHED
from ragguard.review.plots import axes
from ragguard.review.rendering import Sought
from ragguard.review.request import Visit

_ROWS = 50
_PROPOSED = 20  # passages on the page of proposals, by event
_TENANTS = 100  # whose proposals are counted
_EVENTS = 1_000  # the newest, of which reporters are counted
_NEWEST = 500  # rows of the trail that the page shows
_TOLD = ("event", "effect", "until", "queries", "scorer", "unreadable")


@dataclass(frozen=True)
class Case:
    """What one event accuses, newest first, with what was asked and found."""

    entries: list[QuarantineEntry]
    event_id: str | None  # None where a person proposed them
    event: Event | None = None  # None where it is gone
    found: Attribution | None = None

    @property
    def sought(self) -> Sought:
        """What is marked in its passages."""
        if self.event is None:
            return Sought()
        return Sought.of(self.event.query, self.event.response, self.found)


def _case_of(store: AuditStore, entries: list[QuarantineEntry]) -> Case:
    event_id = entries[0].event_id
    if event_id is not None:
        with suppress(EventNotFoundError):
            return Case(entries, event_id, store.event(event_id), store.attribution(event_id))
    return Case(entries, event_id)


def proposals(visit: Visit) -> dict[str, Any]:
    """What waits for a person, by event, the newest first."""
    tally = Counter(visit.store.quarantine_counts())
    first, pages = _paged(tally["proposed"], visit, _PROPOSED)
    cases: dict[str | None, list[QuarantineEntry]] = {}
    for entry in visit.store.quarantine(status="proposed", limit=_PROPOSED, offset=first):
        cases.setdefault(entry.event_id, []).append(entry)
    others = [name for name in visit.others if name != visit.store.tenant][:_TENANTS]
    elsewhere = [(name, waiting(visit.store.of_tenant(name))) for name in others]
    return {
        "cases": [_case_of(visit.store, entries) for entries in cases.values()],
        "pages": pages,
        "elsewhere": [(name, count) for name, count in elsewhere if count],
        "held": sum(tally[status] for status in HELD),
        "counts": visit.store.counts(),
        "failed": len(visit.store.events(status="failed", limit=100, passages=False)),
        "pending": len(visit.store.events(status="pending", limit=100, passages=False)),
    }


def waiting(store: AuditStore) -> int:
    """Return how many proposals wait for a person."""
    return store.quarantine_counts().get("proposed", 0)


def events(visit: Visit) -> dict[str, Any]:
    """The events, the newest first."""
    status = _one_of(EventStatus, visit.get("status"))
    found = visit.store.events(status=status, limit=_EVENTS, passages=False)
    first, pages = _paged(len(found), visit, _ROWS)
    shown = [(one, visit.store.attribution(one.id)) for one in found[first : first + _ROWS]]
    return {"events": shown, "pages": pages, "status": status, "all": get_args(EventStatus)}


def verdicts(visit: Visit) -> dict[str, Any]:
    """The verdicts that dropped, marked or failed, the newest first."""
    before, passage = visit.get("before"), visit.get("passage")
    try:
        moment = as_utc(datetime.fromisoformat(before)) if before else None
    except ValueError as error:
        raise InvalidInputError(f"{before[:40]!r} is no moment; go back to the list") from error
    found = visit.store.verdicts(limit=_ROWS + 1, before=moment, passage_id=passage or None)
    more = found[_ROWS - 1].recorded_at if len(found) > _ROWS else None
    return {"verdicts": found[:_ROWS], "passage": passage, "more": more, "before": before}


def quarantine(visit: Visit) -> dict[str, Any]:
    """What was accused, and what became of it."""
    status = _one_of(QuarantineStatus, visit.get("status"))
    tally = Counter(visit.store.quarantine_counts())
    first, pages = _paged(tally.total() if status is None else tally[status], visit, _ROWS)
    return {
        "entries": visit.store.quarantine(status=status, limit=_ROWS, offset=first),
        "pages": pages,
        "status": status,
        "tally": [(one, tally[one]) for one in get_args(QuarantineStatus)],
        "total": tally.total(),
    }


def allowed(visit: Visit) -> dict[str, Any]:
    """What a person vouches for now."""
    listed = sum(one.holds for one in visit.store.allowances())
    first, pages = _paged(listed + visit.store.quarantine_counts().get("released", 0), visit, _ROWS)
    return {"allowed": Decisions(visit.store).some_allowed(_ROWS, first), "pages": pages}


@dataclass
class Reporter:
    """What became of one reporter's reports."""

    name: str | None  # None for reports without a name
    events: int = 0  # of the newest, how many they filed first
    entries: Counter[str] = field(default_factory=Counter)  # what their word accuses, by status
    last: datetime | None = None  # when they last filed an event

    @property
    def waiting(self) -> int:
        """Passages that a person has not looked at."""
        return self.entries["proposed"] + self.entries["quarantined"]

    @property
    def wrong(self) -> int:
        """Passages of which a person has said that they are no attack."""
        return sum(self.entries[status] for status in SPARED)


def reporters(visit: Visit) -> dict[str, Any]:
    """Who reports, and how often a person agreed; those with most to look at first."""
    found: dict[str | None, Reporter] = {}
    for event in visit.store.events(limit=_EVENTS, passages=False):
        newest = Reporter(event.reporter, last=event.created_at)
        found.setdefault(event.reporter, newest).events += 1
    for (status, names), count in visit.store.quarantine_tally().items():
        for name in names:
            found.setdefault(name, Reporter(name)).entries[status] += count
    order = sorted(found.values(), key=lambda one: (-one.waiting, -one.events, one.name or ""))
    first, pages = _paged(len(order), visit, _ROWS)
    return {"reporters": order[first : first + _ROWS], "pages": pages}


def _paged(total: int, visit: Visit, size: int) -> tuple[int, dict[str, int]]:
    """Return where the part begins that is asked for, and which that is of how many."""
    last = max(1, -(-total // size))
    page = min(max(1, visit.number("page", 1)), last)
    return (page - 1) * size, {"page": page, "last": last, "total": total}


def _one_of(kind: Any, wanted: str) -> Any:
    """Return the status that is asked for, or None for all of them."""
    return wanted if wanted in get_args(kind) else None


def event(visit: Visit) -> dict[str, Any]:
    """One event: what was said, what attribution found, and what became of the passages."""
    event_id = visit.get("id")
    found = visit.store.event(event_id)
    attribution = visit.store.attribution(event_id)
    scores = [] if attribution is None else attribution.scores
    whole = [] if attribution is None else by_hand.in_whole(found, attribution)
    rows = [
        (rank, score, (one or score.passage).text, content_key(one.text) if one else "")
        for rank, (score, one) in enumerate(zip(scores, whole, strict=True), start=1)
    ]
    seen = [(one, content_key(one.text)) for one in by_hand.unranked(found, attribution)]
    keys = [*(key for *_, key in rows), *(key for _, key in seen)]
    entries = {one.key: one for one in visit.store.quarantine(keys=keys)}
    open_case = attribution is not None and not attribution.accused
    if open_case:  # whom to look at first
        rows.sort(key=lambda row: -row[1].responsibility)
    return {
        "event": found,
        "found": attribution,
        "axes": axes(attribution) if attribution is not None else [],
        "rows": rows,
        "seen": seen,
        "open": open_case,
        "entries": entries,
        "knowledge": _knowledge(visit, list(entries.values())),
        "sought": Sought.of(found.query, found.response, attribution),
    }


def verdict(visit: Visit) -> dict[str, Any]:
    """One verdict: every passage that it did not simply keep, and why."""
    found = visit.store.verdict(visit.get("id"))
    keys = [one.key for one in found.passages]
    entries = {one.key: one for one in visit.store.quarantine(keys=keys)}
    allowed = {one.key for one in visit.store.allowances() if one.holds and one.effect == "allowed"}
    told = retold(found)
    rows = list(zip(found.passages, told.passages, strict=True))
    shown = {"verdict": found, "told": told, "rows": rows, "entries": entries, "allowed": allowed}
    return {**shown, "sought": Sought.of(found.query or "", "")}


def entry(visit: Visit) -> dict[str, Any]:
    """One passage that was accused, with all of its text that a page can show."""
    found = _entry(visit)
    case = _case_of(visit.store, [found])
    done = [one for one in _done(visit.store, SEARCHED) if one["row"].subject == found.key]
    knowledge = _knowledge(visit, [found])
    return {"entry": found, "case": case, "history": done, "knowledge": knowledge}


def _knowledge(visit: Visit, entries: list[QuarantineEntry]) -> dict[str, Any]:
    """What stands in the knowledge base of some entries, or in words why that is not known."""
    if not entries:
        return {"words": "", "rows": []}
    try:
        return {"words": "", "rows": visit.knowledge.rows(visit.store, entries)}
    except RagguardError as error:
        return {"words": str(error), "rows": []}


def text(visit: Visit) -> str:
    """Return the whole text of a passage that was accused."""
    return _entry(visit).text


def _entry(visit: Visit) -> QuarantineEntry:
    key = visit.get("key")
    return match(visit.store.quarantine(keys=[key]), key)


def history(visit: Visit) -> dict[str, Any]:
    """Who did what lately to quarantine, allow-list, policy and calibration, the newest first."""
    return {"rows": list(_done(visit.store, _NEWEST))}


def _done(store: AuditStore, newest: int) -> Iterator[dict[str, Any]]:
    """Yield the tenant's rows of the trail, with why somebody did it, and the rest by name."""
    for row in reversed(store.newest_trail(newest)):
        if row.tenant == store.tenant:
            told = row.told
            rest = {name: str(told[name]) for name in _TOLD if told.get(name)}
            yield {"row": row, "why": str(told.get("said", "")), "rest": rest}
