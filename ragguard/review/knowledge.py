"""The knowledge base behind the page: what stands there, what goes out of it, what comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ragguard.arguments import require_method
from ragguard.audit import AuditStore
from ragguard.audit.allow_list import as_allowed
from ragguard.audit.quarantine import QuarantineEntry
from ragguard.audit.trail import TrailRow
from ragguard.errors import InvalidInputError, RagguardError, StoreError
from ragguard.passage import Passage
from ragguard.repair import Standing, known_metadata, look_up, remove_quarantined, restore
from ragguard.text import printable

SEARCHED = 5_000
"""Newest rows of the trail among which those of one passage are looked for."""

_PATIENCE_S = 10.0
# Of others only what the trail says was removed.
_RESTORED = ("confirmed", "quarantined", "released")
_LOOK = "go back, load the page again and look"
_SHARED = "other texts share its id in the knowledge base; give each an id of its own there"


@dataclass(frozen=True)
class Row:
    """An entry of the quarantine, and what can be done about its passage."""

    entry: QuarantineEntry
    words: str  # what stands under its id
    shown: Passage | None = None  # that
    can: str = ""  # "remove" or "restore"


class _Told:
    """A knowledge base whose failures are a `StoreError` that says what to do."""

    def __init__(self, base: Any) -> None:
        self.find = partial(_asked, base.find)
        self.remove = partial(_asked, base.remove)
        self.add = partial(_asked, base.add)


def _asked(method: Callable[[Any], Any], given: Sequence[Any]) -> Any:
    try:
        return method(given)
    except RagguardError:
        raise
    except Exception as error:
        raise StoreError(
            f"the knowledge base failed: {type(error).__name__}: {error}; see that it can be "
            "reached, then load the page again and look what stands there"
        ) from error


@dataclass(frozen=True)
class Knowledge:
    """A knowledge base that passages can be taken out of on the page.

    Attributes:
        base: What `ragguard.repair.as_removable` returns, with `find(ids)`.
        tenant: Whose it is, "" for the default one; the pages of others leave it alone.
    """

    base: Any
    tenant: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __post_init__(self) -> None:
        for call in ("find(ids)", "remove(ids)", "add(passages)"):
            require_method("the knowledge base", self.base, call)
        object.__setattr__(self, "base", _Told(self.base))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others waiting: of two who press at once the second sees what the first has done."""
        if not self._lock.acquire(timeout=_PATIENCE_S):
            raise InvalidInputError(
                "somebody else is removing or restoring, and nothing was changed here; wait, then "
                "load the page again and look"
            )
        try:
            yield
        finally:
            self._lock.release()

    def rows(self, store: AuditStore, entries: Sequence[QuarantineEntry]) -> list[Row]:
        """Return what stands under the ids of entries, and so what would be done; a dry run."""
        found = look_up(self.base, entries)
        gone = [one.entry for one in found if one.passage is None and one.other is None]
        told, known = (_removals(store), known_metadata(store, gone)) if gone else ({}, {})
        allowed = as_allowed(store.allowances())
        return [
            _gone(one.entry, told.get(one.entry.key), whole=one.entry.key in known)
            if one.passage is None and one.other is None
            else _row(one, allowed=one.passage is not None and allowed.holds(one.passage))
            for one in found
        ]

    def remove(
        self, store: AuditStore, keys: Sequence[str], *, actor: str, why: str
    ) -> list[Passage]:
        """Take confirmed passages out."""
        done = remove_quarantined(store, self.base, keys=keys, actor=actor, why=why)
        if done.removed:
            return done.removed
        if done.allowed:
            why = "it is allowed, or its source is"
        elif done.shared:
            why = _SHARED
        else:
            gone = "does not stand in the knowledge base any more, or was changed there"
            why = f"what is confirmed {gone}"
        raise InvalidInputError(f"nothing was removed: {why}; {_LOOK}")

    def restore(
        self, store: AuditStore, keys: Sequence[str], *, actor: str, why: str
    ) -> list[Passage]:
        """Release passages and put them back, where nothing stands under their ids."""
        for one in look_up(self.base, store.quarantine(keys=keys)):
            if one.passage is not None or one.other is not None:
                raise InvalidInputError(
                    f"nothing was restored: a text stands under the id of {one.entry.key[:12]} in "
                    f"the knowledge base; {_LOOK}"
                )
        return restore(store, self.base, keys, actor=actor, why=why)


def _row(one: Standing, *, allowed: bool) -> Row:
    can = ""
    if one.passage is None:
        words = "Another text has its id now, and is left alone; if it lies as well, report it."
    elif one.entry.status != "confirmed":
        words = "It stands in the knowledge base; only what is confirmed can be removed."
    elif allowed:
        words = "It is allowed, or its source is, so it stays; take that off the allow-list first."
    elif one.other is not None:
        words = f"It stays: {_SHARED}."
    else:
        words, can = "This would be removed.", "remove"
    return Row(one.entry, words, one.passage or one.other, can)


def _gone(entry: QuarantineEntry, removal: TrailRow | None, *, whole: bool) -> Row:
    if removal is None and entry.status not in _RESTORED:
        return Row(entry, "It is not in the knowledge base.")
    words = "It is not in the knowledge base, and the trail tells of nobody who removed it."
    if removal is not None:
        who, when = printable(str(removal.actor))[:60], str(removal.at)[:16].replace("T", " ")
        words = f"It is not in the knowledge base: {who} removed it, {when}."
    words += " Restoring releases it as well."
    if not whole:
        words += " Its metadata are not known: it would go back without."
    return Row(entry, words, None, "restore")


def _removals(store: AuditStore) -> dict[str, TrailRow]:
    """Return the last removal of each key that was not restored since."""
    last = {
        row.subject: row
        for row in store.newest_trail(SEARCHED)
        if row.tenant == store.tenant and str(row.action).startswith("knowledge-base.")
    }
    return {key: row for key, row in last.items() if row.action == "knowledge-base.removed"}
