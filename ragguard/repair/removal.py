"""Quarantined passages out of the knowledge base, and back; the trail tells by whom, and why.

The filter drops what is in quarantine wherever it is stored, so removal is not needed for safety.
It is for what else reads the knowledge base, and for the places in the ranking that poison takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ragguard.arguments import require_method, require_texts
from ragguard.audit.decisions import decided_by
from ragguard.audit.quarantine import (
    QuarantineEntry,
    QuarantineStatus,
    check_status,
    not_in_quarantine,
    utc_now,
)
from ragguard.audit.records import AuditStore
from ragguard.audit.trail import Change, note_quietly
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.repair.removable import Removable


@dataclass(frozen=True)
class Removal:
    """What `remove_quarantined` did.

    Attributes:
        removed: Passages that are no longer in the knowledge base; their texts stay in the store.
        missing: Entries whose passage was not found under its id: removed before, stored under
            another id, or replaced by another text under the same id, which is left alone.
    """

    removed: list[Passage]
    missing: list[QuarantineEntry]


@dataclass(frozen=True)
class Standing:
    """What stands in a knowledge base under the id of an entry of the quarantine.

    Attributes:
        passage: The passage itself, which `remove_quarantined` takes out; None where it is not
            there.
        other: Another text under its id, which is left alone, or None.
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
    there: dict[str, dict[str, Passage]] = {}
    for one in base.find(list(dict.fromkeys(entry.passage_id for entry in entries))):
        there.setdefault(one.id, {})[content_key(one.text)] = one
    found = []
    for entry in entries:
        others = dict(there.get(entry.passage_id, {}))
        passage = others.pop(entry.key, None)
        found.append(Standing(entry, passage, next(iter(others.values()), None)))
    return found


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
    `why`; where it cannot, the passage stays in the knowledge base.

    Raises:
        InvalidInputError: There is no such status, or an entry of `keys` has another one.
        QuarantineNotFoundError: A key is not in the store.
        StoreError: The store fails.
    """
    _require_store(store)
    require_method("base", base, "remove(ids)")
    check_status(status)
    actor = decided_by(actor, why)
    entries = store.quarantine(status=status) if keys is None else _some(store, keys, status)
    if not entries:
        return Removal([], [])
    named = {(entry.passage_id, entry.key): entry for entry in entries}
    names = [name for name, _ in named]
    if callable(getattr(base, "find", None)):
        # Another text that took over an id is better left alone than taken out and put back.
        there = [one.entry.key for one in look_up(base, entries) if one.passage is not None]
        # To look all of them up may take long enough for a person to release one.
        still = {entry.key for entry in store.quarantine(status=status, keys=there)}
        named = {identity: entry for identity, entry in named.items() if entry.key in still}
        names = [name for name, _ in named]
    taken = base.remove(list(dict.fromkeys(names)))
    gone = {(p.id, content_key(p.text)): p for p in taken}
    others = [passage for identity, passage in gone.items() if identity not in named]
    if others:
        base.add(others)
    removed = {identity: one for identity, one in gone.items() if identity in named}
    left = dict(removed)
    try:
        for identity in removed:
            store.note(_change("removed", store, named[identity], actor, why))
            del left[identity]
    except BaseException:
        base.add([*left.values()])
        raise
    missing = [entry for entry in entries if (entry.passage_id, entry.key) not in gone]
    return Removal([*removed.values()], missing)


def _some(
    store: AuditStore, keys: Iterable[str], status: QuarantineStatus
) -> list[QuarantineEntry]:
    """Return the entries with these keys, all of which have this status."""
    entries = _of_keys(store, keys)
    for entry in entries:
        if entry.status != status:
            raise InvalidInputError(
                f"{entry.key[:12]} is {entry.status}, and only what is {status} is removed; look "
                "at it again"
            )
    return entries


def _of_keys(store: AuditStore, keys: Iterable[str]) -> list[QuarantineEntry]:
    wanted = [keys] if isinstance(keys, str) else list(dict.fromkeys(require_texts("keys", keys)))
    entries = {entry.key: entry for entry in store.quarantine(keys=wanted)}
    for key in wanted:
        if key not in entries:
            raise not_in_quarantine(key)
    return [entries[key] for key in wanted]


def _change(
    done: str, store: AuditStore, entry: QuarantineEntry, actor: str, why: str | None
) -> Change:
    # With the moment, as a store does not tell the same of one key twice in a row.
    details = {"event": entry.event_id, "at": utc_now().isoformat()}
    told = details if why is None else {**details, "said": why}
    return Change(f"knowledge-base.{done}", entry.key, actor, told, store.tenant)


def _require_store(store: object) -> None:
    require_method(
        "store (of a guard it is guard.store)", store, "set_quarantine_status(key, status)"
    )


def restore(
    store: AuditStore,
    base: Removable,
    keys: Iterable[str],
    *,
    removed: Iterable[Passage] = (),
    why: str | None = None,
    actor: str | None = None,
) -> list[Passage]:
    """Release entries of the quarantine, and put their passages back into the knowledge base.

    What is in `removed` (`Removal.removed`) goes back as it was, with metadata and vectors. Of
    anything else the audit store has text and id, and the metadata if an attribution found the
    passage; the knowledge base embeds the text again. `keys` are those of `QuarantineEntry`,
    `actor` is who releases them and `why` the reason, as for `Guard.release`. Where another text
    has taken over a passage's id, it stays: the entry is released, and its passage is not among
    those returned.

    Raises:
        InvalidInputError: Somebody else has decided about an entry meanwhile; then its passage is
            not put back.
        QuarantineNotFoundError: A key is not in the store; then nothing is changed.
        StoreError: The store fails.
    """
    _require_store(store)
    require_method("base", base, "add(passages)")
    actor = decided_by(actor, why)
    entries = _of_keys(store, keys)
    held = {(passage.id, content_key(passage.text)): passage for passage in removed}
    passages = [held.get((one.passage_id, one.key)) or _as_stored(store, one) for one in entries]
    back, new = _put_back(base, passages)
    try:
        for entry in entries:
            _release(store, entry, actor, why)
            new.discard(entry.passage_id)
    except BaseException:
        base.remove(sorted(new))
        raise
    returned = {(passage.id, content_key(passage.text)) for passage in back}
    for entry in entries:
        if (entry.passage_id, entry.key) in returned:
            note_quietly(store, _change("restored", store, entry, actor, why))
    return back


def _release(store: AuditStore, entry: QuarantineEntry, actor: str, why: str | None) -> None:
    """Release an entry that is still as it was read."""
    change = store.set_quarantine_status
    now = change(entry.key, "released", actor=actor, said=why, only=[entry.status])
    if now.status != "released":
        raise InvalidInputError(
            f"{entry.key[:12]} is {now.status} since a moment ago, by {now.actor}; look at it again"
        )


def _put_back(base: Removable, passages: Sequence[Passage]) -> tuple[list[Passage], set[str]]:
    """Put passages where no other text stands; return those, and the ids that nothing had."""
    ids = list(dict.fromkeys(passage.id for passage in passages))
    find = getattr(base, "find", None)
    # What cannot be looked up is taken out for it, and put in again.
    there = (find if callable(find) else base.remove)(ids) if ids else []
    # Word by word: two texts with one key may differ in what a person would not call the same.
    standing = {passage.id: passage.text.split() for passage in there}
    known = set(standing)
    back = [
        one for one in passages if standing.setdefault(one.id, one.text.split()) == one.text.split()
    ]
    replaced = {passage.id for passage in back}
    others = [] if callable(find) else [one for one in there if one.id not in replaced]
    if back or others:
        base.add([*back, *others])
    return back, replaced - known


def _as_stored(store: AuditStore, entry: QuarantineEntry) -> Passage:
    found = None if entry.event_id is None else store.attribution(entry.event_id)
    for passage in () if found is None else found.ranked:
        if passage.id == entry.passage_id and content_key(passage.text) == entry.key:
            return Passage(entry.text, id=entry.passage_id, metadata=passage.metadata)
    return Passage(entry.text, id=entry.passage_id)
