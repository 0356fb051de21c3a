"""Who did what, and why: the newest rows of the trail, and those of one passage."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ragguard.audit.records import AuditStore
from ragguard.audit.trail import TrailRow
from ragguard.review.visit import Page, Visit

__all__ = ["Done", "done_to", "history"]

_NEWEST = 500  # rows that the page shows
_SEARCHED = 5_000  # newest rows among which those of one passage are looked for
_TOLD = ("event", "effect", "until", "queries", "scorer", "unreadable")


@dataclass(frozen=True)
class Done:
    """One row of the trail, as a page shows it.

    Attributes:
        row: The row itself.
        why: What a person said who decided on the review page, or "".
        rest: What else it tells that is no hash, by name.
    """

    row: TrailRow
    why: str
    rest: Mapping[str, str]

    @classmethod
    def of(cls, row: TrailRow) -> Done:
        """Read a row: whoever can write to the database can write anything there."""
        try:
            found = json.loads(row.details)
        except (TypeError, ValueError, RecursionError):
            found = {"unreadable": row.details}
        told = dict(found) if isinstance(found, dict) else {"unreadable": row.details}
        rest = {name: str(told[name]) for name in _TOLD if told.get(name)}
        return cls(row, str(told.get("said", "")), rest)


def done_to(store: AuditStore, key: str) -> list[Done]:
    """Return what was done to a passage lately, the newest first."""
    rows = map(Done.of, store.newest_trail(_SEARCHED)[::-1])
    return [one for one in rows if one.row.subject == key and one.row.tenant == store.tenant]


def history(visit: Visit) -> Page:
    """Who did what lately to quarantine, allow-list, policy and calibration, the newest first."""
    rows = visit.store.newest_trail(_NEWEST)[::-1]
    seen = [row for row in rows if row.tenant == visit.store.tenant]
    return Page("history.html", "History", {"rows": [Done.of(row) for row in seen]})
