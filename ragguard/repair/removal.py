"""Quarantined passages out of the knowledge base; the trail tells by whom, and why.

The filter drops what is in quarantine wherever it is stored, so removal is not needed for safety.
It is for what else reads the knowledge base, and for the places in the ranking that poison takes.
So what cannot be taken out without touching other texts stays where it is.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragguard.arguments import require_method, require_texts
from ragguard.audit.allow_list import as_allowed
from ragguard.audit.quarantine import (
    QuarantineEntry,
    QuarantineStatus,
    check_status,
    not_in_quarantine,
    utc_now,
)
from ragguard.audit.records import AuditStore
from ragguard.audit.trail import Change
from ragguard.audit.undoing import decided_by
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.knowledge.sources import by_id
from ragguard.passage import Passage
from ragguard.repair.removable import Removable

_logger = logging.getLogger(__name__)


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
    return _standing(entries, by_id(base.find(_ids(entries))))


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
    entries = store.quarantine(status=status) if keys is None else entries_of(store, keys, status)
    if not entries:
        return Removal([], [])
    # What stays is better left alone than taken out and put back.
    if callable(getattr(base, "find", None)):
        found = look_up(base, entries)
    else:
        found = [Standing(one, _held(one), None) for one in entries]
    there, allowed, shared = _sides(found, _spared(store, status))
    # To look all of them up may take long enough for a person to release one.
    names = {one.key for one in there}
    still = {one.key for one in store.quarantine(status=status, keys=names)}
    going = [one for one in there if one.key in still]
    left = by_id(base.remove(_ids(going)) if going else ())
    removed: list[Passage] = []
    try:
        # Between the look and the removal others may have written.
        gone, *others = _sides(_standing(going, left), _spared(store, status))
        sure = {one.passage_id for one in gone}
        if unsure := [name for name in left if name not in sure]:
            base.add([one for name in unsure for one in left[name]])
            for name in unsure:
                del left[name]
        for entry in gone:
            store.note(change_of("removed", store, entry, actor, why))
            removed += left.pop(entry.passage_id)
    except BaseException:
        put_again(base, [one for each in left.values() for one in each])
        raise
    allowed, shared = allowed + others[0], shared + others[1]
    known = {one.key for one in (*gone, *allowed, *shared)}
    return Removal(removed, [one for one in entries if one.key not in known], allowed, shared)


def _sides(
    found: Iterable[Standing], spared: Callable[[Passage], bool]
) -> tuple[list[QuarantineEntry], list[QuarantineEntry], list[QuarantineEntry]]:
    """Return the entries whose passages are there: what is to go, is allowed, or shares its id."""
    going: list[QuarantineEntry] = []
    allowed: list[QuarantineEntry] = []
    shared: list[QuarantineEntry] = []
    for one in found:
        if one.passage is not None:
            stays = shared if one.other is not None else going
            (allowed if spared(one.passage) else stays).append(one.entry)
    return going, allowed, shared


def _spared(store: AuditStore, status: QuarantineStatus) -> Callable[[Passage], bool]:
    """Return what says whether the filter lets a passage through although it is in quarantine."""
    listed = as_allowed(store.allowances())
    if status == "confirmed":  # by a person, who may drop what is protected
        return listed.holds
    return lambda passage: listed.holds(passage) or listed.protects(passage)


def _held(entry: QuarantineEntry) -> Passage:
    return Passage(entry.text, id=entry.passage_id)


def _standing(
    entries: Sequence[QuarantineEntry], there: Mapping[str, list[Passage]]
) -> list[Standing]:
    found = []
    for entry in entries:
        under = there.get(entry.passage_id, [])
        mine = [one for one in under if content_key(one.text) == entry.key]
        same = (one for one in mine if same_words(one, _held(entry)))
        passage = next(same, mine[0] if mine else None)
        others = [one for one in under if passage is None or not same_words(one, passage)]
        found.append(Standing(entry, passage, others[0] if others else None))
    return found


def _ids(entries: Iterable[QuarantineEntry]) -> list[str]:
    return list(dict.fromkeys(entry.passage_id for entry in entries))


def require_store(store: object) -> None:
    """Raise `InvalidInputError` for what is no store."""
    require_method(
        "store (of a guard it is guard.store)", store, "set_quarantine_status(key, status)"
    )


def entries_of(
    store: AuditStore, keys: Iterable[str], status: QuarantineStatus | None = None
) -> list[QuarantineEntry]:
    """Return the entries with these keys, which must have this status; None for any.

    Raises:
        InvalidInputError: One has another status.
        QuarantineNotFoundError: A key has no entry.
    """
    wanted = [keys] if isinstance(keys, str) else list(dict.fromkeys(require_texts("keys", keys)))
    entries = {entry.key: entry for entry in store.quarantine(keys=wanted)}
    for key in wanted:
        if key not in entries:
            raise not_in_quarantine(key)
    for key in wanted:
        if status not in (None, entries[key].status):
            raise InvalidInputError(
                f"{key[:12]} is {entries[key].status}, and only what is {status} is removed; look "
                "at it again"
            )
    return [entries[key] for key in wanted]


def change_of(
    done: str, store: AuditStore, entry: QuarantineEntry, actor: str, why: str | None
) -> Change:
    """Return what the trail is told of an entry whose passage was "removed" or "restored"."""
    # With the moment, as a store does not tell the same of one key twice in a row.
    details = {"event": entry.event_id, "at": utc_now().isoformat()}
    told = details if why is None else {**details, "said": why}
    return Change(f"knowledge-base.{done}", entry.key, actor, told, store.tenant)


def same_words(one: Passage, other: Passage) -> bool:
    """Return whether two texts differ in white space alone.

    Two with one `content_key` may differ in what a person would not call the same.
    """
    return one.text.split() == other.text.split()


def put_again(base: Removable, passages: Sequence[Passage]) -> None:
    """Put back what was taken out; of what the knowledge base does not take the log has a copy."""
    if not passages:
        return
    try:
        base.add(passages)
    except Exception:
        # One that it does not take must keep no other out.
        for each in by_id(passages).values():
            _put_one(base, each)


def _put_one(base: Removable, passages: Sequence[Passage]) -> None:
    try:
        base.add(passages)
    except Exception as error:
        for one in passages:
            held = {"id": one.id, "text": one.text, "metadata": dict(one.metadata)}
            _logger.error(
                "the knowledge base did not take back what was taken out of it (%s: %s); put this "
                "passage in again: %s",
                type(error).__name__,
                error,
                json.dumps(held, default=str),
            )
