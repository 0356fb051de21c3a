"""Removed passages back into the knowledge base, and out of the quarantine."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from ragguard.arguments import require_method
from ragguard.attribution.result import BRIEF
from ragguard.audit.quarantine import QuarantineEntry
from ragguard.audit.records import AuditStore
from ragguard.audit.trail import note_quietly
from ragguard.audit.undoing import decided_by
from ragguard.content import content_key
from ragguard.errors import EventNotFoundError, InvalidInputError
from ragguard.knowledge.sources import by_id
from ragguard.passage import Passage
from ragguard.repair.removable import Removable
from ragguard.repair.removal import change_of, entries_of, put_again, require_store, same_words
from ragguard.text import both_ends

_logger = logging.getLogger(__name__)


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
    anything else the audit store has text and id, and the metadata that `known_metadata` returns;
    what goes back without is named in the log. The knowledge base embeds the text again. `keys` are
    those of `QuarantineEntry`, `actor` is who releases them and `why` the reason, as for
    `Guard.release`. What stands there already stays as it is. Where another text has taken over a
    passage's id, that stays: the entry is released, and its passage is not among those returned.

    Raises:
        InvalidInputError: Somebody else has decided about an entry meanwhile; then its passage is
            not put back.
        QuarantineNotFoundError: A key is not in the store; then nothing is changed.
        StoreError: The store fails.
    """
    require_store(store)
    require_method("base", base, "add(passages)")
    actor = decided_by(actor, why)
    entries = entries_of(store, keys)
    held = {(passage.id, content_key(passage.text)): passage for passage in removed}
    lacking = [one for one in entries if (one.passage_id, one.key) not in held]
    known = known_metadata(store, lacking)
    # First what was removed: of two versions of a page that have one id the first goes back.
    passages = [
        *(held[name] for one in entries if (name := (one.passage_id, one.key)) in held),
        *(Passage(one.text, id=one.passage_id, metadata=known.get(one.key)) for one in lacking),
    ]
    back, new = _put_back(base, passages)
    put = {(passage.id, content_key(passage.text)) for passage in new.values()}
    returned = {(passage.id, content_key(passage.text)) for passage in back}
    try:
        for entry in entries:
            # Only what is still as it was read.
            now = store.set_quarantine_status(
                entry.key, "released", actor=actor, why=why, only=[entry.status]
            )
            if now.status != "released":
                raise InvalidInputError(
                    f"{entry.key[:12]} is {now.status} since a moment ago, by {now.actor}; look at "
                    "it again"
                )
            new.pop(entry.passage_id, None)
            if (entry.passage_id, entry.key) in returned:
                note_quietly(store, change_of("restored", store, entry, actor, why))
    except BaseException:
        taken = base.remove(sorted(new))
        # What others have put in since under these ids is not ours.
        put_again(base, [one for one in taken if not same_words(one, new[one.id])])
        raise
    for entry in lacking:
        if entry.key not in known and (entry.passage_id, entry.key) in put:
            _logger.warning(
                "%r went back without metadata, as no event tells them; put it in again from where "
                "it came, or pass removed= with what was removed",
                entry.passage_id,
            )
    return back


def known_metadata(
    store: AuditStore, entries: Iterable[QuarantineEntry]
) -> dict[str, Mapping[str, Any]]:
    """Return by key the metadata with which passages go back, of entries whose event tells them.

    They come from the attribution of the entry's event, or from the passages that were reported
    with it. What was quarantined without an event is not among them.
    """
    passages_of = cache(partial(_passages_of, store))
    known: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        if entry.event_id is not None:
            told = [one.metadata for one in _matching(passages_of(entry.event_id), entry)]
            if told:
                known[entry.key] = next(filter(None, told), told[0])
    return known


def _passages_of(store: AuditStore, event_id: str) -> list[Passage]:
    found = store.attribution(event_id)
    ranked = [] if found is None else found.ranked
    try:
        # Of a long passage an attribution may keep the ends; and it may be that of a later try.
        return [*ranked, *store.event(event_id).passages]
    except EventNotFoundError:
        return [*ranked]


def _matching(passages: Sequence[Passage], entry: QuarantineEntry) -> list[Passage]:
    mine = [passage for passage in passages if passage.id == entry.passage_id]
    whole = [one for one in mine if content_key(one.text) == entry.key]
    ends = both_ends(entry.text, BRIEF)
    return whole if ends == entry.text else whole + [one for one in mine if one.text == ends]


def _put_back(
    base: Removable, passages: Sequence[Passage]
) -> tuple[list[Passage], dict[str, Passage]]:
    """Put passages in where nothing stands; return those that stand then, and by id those put."""
    ids = list(dict.fromkeys(passage.id for passage in passages))
    find = getattr(base, "find", None)
    # What cannot be looked up is taken out for it, and put in again.
    there = (find if callable(find) else base.remove)(ids) if ids else []
    standing = by_id(there)
    back: list[Passage] = []
    new: dict[str, Passage] = {}
    for one in passages:
        under = standing.setdefault(one.id, [])
        if not under:
            new[one.id] = one
            under.append(one)
        back += [held for held in under if same_words(held, one)][:1]
    others = [] if callable(find) else there
    try:
        if new or others:
            base.add([*new.values(), *others])
    except BaseException:
        put_again(base, others)
        raise
    return back, new
