"""Who did what, and why: the newest rows of the trail, and those of one passage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragguard.audit.records import AuditStore
from ragguard.audit.trail import Change, TrailRow, note_quietly
from ragguard.review.visit import Page, Visit

__all__ = ["Done", "done_to", "history", "note_why"]

_NEWEST = 500  # rows that the page shows
_SEARCHED = 5_000  # newest rows among which those of one passage are looked for
_MOST_KEYS = 200
_TOLD = ("event", "effect", "until", "queries", "scorer", "unreadable")


@dataclass(frozen=True)
class Done:
    """One row of the trail, as a page shows it.

    Attributes:
        row: The row itself.
        why: What a person said who decided on the review page, or "".
        keys: The passages that they decided about, or that the row tells of.
        rest: What else it tells that is no hash, by name.
    """

    row: TrailRow
    why: str
    keys: tuple[str, ...]
    rest: Mapping[str, str]

    @classmethod
    def of(cls, row: TrailRow) -> Done:
        """Read a row: whoever can write to the database can write anything there."""
        try:
            found = json.loads(row.details)
        except (TypeError, ValueError, RecursionError):
            found = {"unreadable": row.details}
        told = dict(found) if isinstance(found, dict) else {"unreadable": row.details}
        why, keys = told.pop("why", ""), told.pop("keys", None)
        named = keys if isinstance(keys, list) else [row.subject]
        if not row.action.startswith(_ACTION):
            why = ""  # the hash of a reason that is kept elsewhere
        rest = {name: str(told[name]) for name in _TOLD if told.get(name)}
        return cls(row, str(why), tuple(map(str, named)), rest)


_ACTION = "review."


def note_why(store: AuditStore, action: str, keys: Sequence[str], actor: str, why: str) -> None:
    """Keep a person's reason for a decision in the trail, beside what was changed by it."""
    details = {"why": why, "keys": list(keys[:_MOST_KEYS])}
    subject = keys[0] if keys else ""
    note_quietly(store, Change(f"{_ACTION}{action}", subject, actor, details, store.tenant))


def done_to(store: AuditStore, key: str) -> list[Done]:
    """Return what was done to a passage lately, the newest first."""
    rows = map(Done.of, store.newest_trail(_SEARCHED)[::-1])
    return [one for one in rows if key in one.keys and one.row.tenant == store.tenant]


def history(visit: Visit) -> Page:
    """Who did what lately to quarantine, allow-list, policy and calibration, the newest first."""
    rows = visit.store.newest_trail(_NEWEST)[::-1]
    seen = [row for row in rows if row.tenant == visit.store.tenant]
    return Page("history.html", "History", {"rows": [Done.of(row) for row in seen]})
