"""What removal and restoration share: which entries are meant, what is told, what must go back."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence

from ragguard.arguments import require_method, require_texts
from ragguard.audit.quarantine import QuarantineEntry, not_in_quarantine, utc_now
from ragguard.audit.records import AuditStore
from ragguard.audit.trail import Change
from ragguard.passage import Passage
from ragguard.repair.removable import Removable

_logger = logging.getLogger(__name__)


def require_store(store: object) -> None:
    """Raise `InvalidInputError` for what is no store."""
    require_method(
        "store (of a guard it is guard.store)", store, "set_quarantine_status(key, status)"
    )


def entries_of(store: AuditStore, keys: Iterable[str]) -> list[QuarantineEntry]:
    """Return the entries with these keys; raise `QuarantineNotFoundError` where one has none."""
    wanted = [keys] if isinstance(keys, str) else list(dict.fromkeys(require_texts("keys", keys)))
    entries = {entry.key: entry for entry in store.quarantine(keys=wanted)}
    for key in wanted:
        if key not in entries:
            raise not_in_quarantine(key)
    return [entries[key] for key in wanted]


def change_of(
    done: str, store: AuditStore, entry: QuarantineEntry, actor: str, why: str | None
) -> Change:
    """Return what the trail is told of an entry whose passage was "removed" or "restored"."""
    # With the moment, as a store does not tell the same of one key twice in a row.
    details = {"event": entry.event_id, "at": utc_now().isoformat()}
    told = details if why is None else {**details, "said": why}
    return Change(f"knowledge-base.{done}", entry.key, actor, told, store.tenant)


def by_id(passages: Iterable[Passage]) -> dict[str, list[Passage]]:
    """Return passages by their ids, of which a knowledge base may hold several texts."""
    found: dict[str, list[Passage]] = {}
    for passage in passages:
        found.setdefault(passage.id, []).append(passage)
    return found


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
