"""Takes back what attributions did: proposals, and what nobody has confirmed.

Whoever plants a text may report it as well, to have it go back with what they reported. So what
others accuse too stays accused in their name.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from ragguard.arguments import require_names
from ragguard.audit.quarantine import UNDOABLE, Limits, QuarantineEntry, Reporters, as_utc, utc_now
from ragguard.audit.records import OPEN, AuditStore
from ragguard.audit.trail import this_process
from ragguard.content import content_keys
from ragguard.errors import EventNotFoundError, InvalidInputError

logger = logging.getLogger(__name__)

_ALL = 10_000_000  # events, or proposals
_ENDED = "what was reported with it was undone; `ragguard events retry` takes it up again"


class Undoing:
    """Takes back what attributions have accused in a store."""

    def __init__(self, store: AuditStore) -> None:
        self._store = store

    def undo(
        self,
        *,
        event: str | None = None,
        reporter: str | None = None,
        since: datetime | None = None,
        actor: str | None = None,
        why: str | None = None,
    ) -> list[QuarantineEntry]:
        """Take back what attributions accused, all that is named together; return it as it is now.

        It lapses: the filter judges these passages as before, and what is reported anew is
        proposed. What others than the event's reporter, or the one named, accuse as well is
        proposed in their name alone. What somebody confirms meanwhile stays. Such events that wait
        are not attributed any more, unless `retry_events` puts them back; what others reported as
        well goes on waiting, as their report alone. Raises as `Guard.undo`.
        """
        require_names(event=event, reporter=reporter)
        actor, store = decided_by(actor, why), self._store
        since = None if since is None else as_utc(since)
        if event is None and reporter is None and since is None:
            raise InvalidInputError(
                "undo what? name an event, a reporter or a moment: event=, reporter= or since=, "
                "on the command line --event, --reporter or --since"
            )
        _end_events(store, event, reporter, since)
        found = self.accused(event=event, reporter=reporter, since=since)
        if not found and event is not None and not self.accused(event=event):
            store.event(event)  # a slip of the pen must not look like success
        names = _reporters(store, event) if reporter is None else (reporter,)
        done, kept = [], []
        for one in found:
            if one.status not in UNDOABLE:
                continue
            changed = store.set_quarantine_status(
                one.key, "lapsed", actor=actor, why=why, only=UNDOABLE
            )
            if changed.status != "lapsed":
                continue
            others = tuple(name for name in one.reporters if names and name not in names)
            if others:
                changed = _in_their_name(store, changed, others)
                kept.append(changed)
            done.append(changed)
        shared = [one for one in done if len(one.reporters) > 1]
        if kept:
            logger.warning(
                "others accuse %d of these as well, and they stay proposed in their name; look at "
                "them, and keep out what is an attack with: ragguard quarantine confirm %s",
                *(len(kept), " ".join(one.key[:12] for one in kept)),
            )
        elif names is None and event is not None and shared:
            logger.warning(
                "several reporters accuse %d of these, and the event is forgotten, so whose word "
                "is left is not known; look at them, and keep out what is an attack with: "
                "ragguard quarantine confirm %s",
                *(len(shared), " ".join(one.key[:12] for one in shared)),
            )
        return done

    def accused(
        self,
        *,
        event: str | None = None,
        reporter: str | None = None,
        since: datetime | None = None,
    ) -> list[QuarantineEntry]:
        """Return what attributions accused, of that what `undo` means, whatever its status."""
        since = None if since is None else as_utc(since)
        names, keys = _reporters(self._store, event), set[str]()
        if event is not None and names is not None:
            found = self._store.attribution(event)
            keys.update(content_keys([one.text for one in found.accused] if found else []))
        return [
            entry
            for entry in self._store.quarantine()
            if entry.event_id is not None
            and (event is None or _accuses(event, names, keys, entry))
            and (reporter is None or reporter in entry.reporters)
            and (since is None or max(entry.created_at, entry.updated_at) >= since)
        ]


def decided_by(actor: str | None, why: str | None = None) -> str:
    """Return who decides, this process where nobody is named; a reason must be a str as well."""
    require_names(actor=actor, why=why)
    return actor or this_process()


def _accuses(
    event: str, names: Reporters | None, keys: Collection[str], entry: QuarantineEntry
) -> bool:
    """Return whether an entry rests on an event of reporters (None: forgotten) that accused `keys`.

    An entry has the first event that accuses it, or the one that put it into force; of others it
    has the reporters. Those without a name are not one person: only the entry's event tells theirs.
    """
    if names in (None, (None,)) or not entry.reporters:
        return entry.event_id == event
    return names[0] in entry.reporters and (entry.event_id == event or entry.key in keys)


def _reporters(store: AuditStore, event: str | None) -> Reporters | None:
    try:
        return None if event is None else (store.event(event).reporter,)
    except EventNotFoundError:  # it is forgotten whose word it is
        return None


def _in_their_name(store: AuditStore, entry: QuarantineEntry, others: Reporters) -> QuarantineEntry:
    anew = replace(entry, status="proposed", reporters=others, updated_at=utc_now())
    try:
        return store.accuse([anew], Limits(proposals=_ALL))[0].entry
    except Exception:
        logger.error(
            "%s has lapsed, and could not be proposed in the name of the others who accuse it; "
            "look at it, and keep it out if it is an attack: ragguard quarantine confirm %s",
            *(entry.key[:12],) * 2,
        )
        raise


def _end_events(
    store: AuditStore, event: str | None, reporter: str | None, since: datetime | None
) -> None:
    """End the events that wait, of those that are meant: they count as failed.

    Of what others than the reporter reported as well, only the reporter's name is taken out.
    """
    ended = shared = 0
    for status in OPEN:
        for one in store.events(status=status, limit=_ALL, passages=False):
            if event not in (None, one.id) or (since is not None and one.created_at < since):
                continue
            if reporter is None:
                ended += store.fail_event(one.id, _ENDED, final=True, counts=False)
            elif one.reporter == reporter or one.reporters > 1:
                others = store.withdraw_reporter(one.id, reporter, _ENDED)
                ended += others == 0
                shared += bool(others)
    if shared:
        logger.warning(
            "events that wait and that others reported as well: %d; they go on waiting, "
            "without this reporter",
            shared,
        )
    if ended:
        logger.warning(
            "events that waited and are not attributed any more: %d; `ragguard events retry` "
            "takes one up again",
            ended,
        )
