"""Quarantined passages out of the knowledge base; the trail tells by whom, and why.

The filter drops what is in quarantine wherever it is stored, so removal is not needed for safety.
It is for what else reads the knowledge base, and for the places in the ranking that poison takes.
So what cannot be taken out without touching other texts stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragguard.arguments import require_method
from ragguard.audit.allow_list import as_allowed
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStatus, check_status
from ragguard.audit.records import AuditStore
from ragguard.audit.undoing import decided_by
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.repair.changes import (
    by_id,
    change_of,
    entries_of,
    put_again,
    require_store,
    same_words,
)
from ragguard.repair.removable import Removable


@dataclass(frozen=True)
class Removal:
    """What `remove_quarantined` did.

    Attributes:
        removed: Passages that are no longer in the knowledge base; their texts stay in the store.
        missing: Entries whose passage was not found under its id: removed before, stored under
            another id, or replaced by another text under the same id, which is left alone.
        allowed: Entries whose passage, or its source, a person has allowed; it stays.
        shared: Entries whose passage shares its id with other texts; all of them stay. Give each
            an id of its own, then remove it.
    """

    removed: list[Passage]
    missing: list[QuarantineEntry]
    allowed: list[QuarantineEntry] = field(default_factory=list)
    shared: list[QuarantineEntry] = field(default_factory=list)


@dataclass(frozen=True)
class Standing:
    """What stands in a knowledge base under the id of an entry of the quarantine.

    Attributes:
        passage: The passage itself; None where it is not there.
        other: Another text under its id, or None. With one `remove_quarantined` takes out neither.
    """

    entry: QuarantineEntry
    passage: Passage | None
    other: Passage | None


def look_up(base: Any, entries: Sequence[QuarantineEntry]) -> list[Standing]:
    """Return what `find(ids)` of a knowledge base knows of each entry; nothing is changed.

    Raises:
        InvalidInputError: The knowledge base has no `find`.
    """
    require_method("base", base, "find(ids)")
    return _standing(entries, base.find(_ids(entries)))


def remove_quarantined(
    store: AuditStore,
    base: Removable,
    *,
    status: QuarantineStatus = "confirmed",
    keys: Iterable[str] | None = None,
    why: str | None = None,
    actor: str | None = None,
) -> Removal:
    """Take the passages of the quarantine out of the knowledge base.

    The quarantine itself stays as it is: it goes on catching copies, and `restore` reads from it.
    `status` says which entries: "confirmed" by a person, or "quarantined", which nobody has seen;
    `keys` which of them, None for all. The trail tells of each passage that `actor` removed it, and
    `why`; where it cannot, the passage stays in the knowledge base. So does what the filter lets
    through since a person has allowed it, and what shares its id with other texts.

    Raises:
        InvalidInputError: There is no such status, or an entry of `keys` has another one.
        QuarantineNotFoundError: A key is not in the store.
        StoreError: The store fails.
    """
    require_store(store)
    require_method("base", base, "remove(ids)")
    check_status(status)
    actor = decided_by(actor, why)
    entries = store.quarantine(status=status) if keys is None else _some(store, keys, status)
    if not entries:
        return Removal([], [])
    if callable(getattr(base, "find", None)):
        # What stays is better left alone than taken out and put back.
        found = look_up(base, entries)
        seen = _Sides.of(found, _spared(store, status))
        # To look all of them up may take long enough for a person to release one.
        there = {one.key for one in seen.going}
        still = {one.key for one in store.quarantine(status=status, keys=there)}
        going = [one for one in seen.going if one.key in still]
    else:
        spared = _spared(store, status)
        allowed = [one for one in entries if spared(Passage(one.text, id=one.passage_id))]
        names = {one.key for one in allowed}
        seen = _Sides([one for one in entries if one.key not in names], allowed, [])
        going = seen.going
    left = by_id(base.remove(_ids(going)) if going else ())
    removed: list[Passage] = []
    try:
        # Between the look and the removal others may have written.
        taken = _standing(going, [one for each in left.values() for one in each])
        done = _Sides.of(taken, _spared(store, status))
        sure = {one.passage_id for one in done.going}
        others = [name for name in left if name not in sure]
        if others:
            base.add([one for name in others for one in left[name]])
            for name in others:
                del left[name]
        for entry in done.going:
            store.note(change_of("removed", store, entry, actor, why))
            removed += left.pop(entry.passage_id)
    except BaseException:
        put_again(base, [one for each in left.values() for one in each])
        raise
    allowed, shared = seen.allowed + done.allowed, seen.shared + done.shared
    known = {one.key for one in (*done.going, *allowed, *shared)}
    return Removal(removed, [one for one in entries if one.key not in known], allowed, shared)


@dataclass(frozen=True)
class _Sides:
    """Entries whose passages are there, by what is to be done with them."""

    going: list[QuarantineEntry]
    allowed: list[QuarantineEntry]
    shared: list[QuarantineEntry]

    @classmethod
    def of(cls, found: Iterable[Standing], spared: Callable[[Passage], bool]) -> _Sides:
        sides = cls([], [], [])
        for one in found:
            if one.passage is None:
                continue
            if spared(one.passage):
                sides.allowed.append(one.entry)
            elif one.other is not None:
                sides.shared.append(one.entry)
            else:
                sides.going.append(one.entry)
        return sides


def _spared(store: AuditStore, status: QuarantineStatus) -> Callable[[Passage], bool]:
    """Return what says whether the filter lets a passage through although it is in quarantine."""
    listed = as_allowed(store.allowances())
    if status == "confirmed":  # by a person, who may drop what is protected
        return listed.holds
    return lambda passage: listed.holds(passage) or listed.protects(passage)


def _standing(entries: Sequence[QuarantineEntry], passages: Iterable[Passage]) -> list[Standing]:
    there = by_id(passages)
    found = []
    for entry in entries:
        under = there.get(entry.passage_id, [])
        held = Passage(entry.text, id=entry.passage_id)
        mine = [one for one in under if content_key(one.text) == entry.key]
        passage = next((one for one in mine if same_words(one, held)), mine[0] if mine else None)
        others = [one for one in under if passage is None or not same_words(one, passage)]
        found.append(Standing(entry, passage, others[0] if others else None))
    return found


def _ids(entries: Iterable[QuarantineEntry]) -> list[str]:
    return list(dict.fromkeys(entry.passage_id for entry in entries))


def _some(
    store: AuditStore, keys: Iterable[str], status: QuarantineStatus
) -> list[QuarantineEntry]:
    """Return the entries with these keys, all of which have this status."""
    entries = entries_of(store, keys)
    for entry in entries:
        if entry.status != status:
            raise InvalidInputError(
                f"{entry.key[:12]} is {entry.status}, and only what is {status} is removed; look "
                "at it again"
            )
    return entries
