"""Takes back what attributions did: proposals, and what nobody has confirmed.

Whoever plants a text may report it as well, to have it go back with what they reported. So what
others accuse too stays accused in their name.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ragguard.audit.quarantine import (
    Limits,
    QuarantineEntry,
    QuarantineStatus,
    Reporters,
    as_utc,
    utc_now,
)
from ragguard.audit.records import OPEN, AuditStore
from ragguard.content import content_keys
from ragguard.errors import EventNotFoundError, InvalidInputError

logger = logging.getLogger(__name__)

UNDOABLE: tuple[QuarantineStatus, ...] = ("proposed", "quarantined")
"""The statuses of entries that no person has decided about."""

_ALL = 10_000_000  # events, or proposals
_ENDED = "what was reported with it was undone; `ragguard events retry` takes it up again"


@dataclass(frozen=True)
class Undone:
    """What is taken back: what all of these name together that are given."""

    event: str | None = None
    reporter: str | None = None
    since: datetime | None = None

    def __post_init__(self) -> None:
        if self.since is not None:
            object.__setattr__(self, "since", as_utc(self.since))


def undo(
    store: AuditStore, wanted: Undone, *, actor: str, said: str | None
) -> list[QuarantineEntry]:
    """Take back what attributions accused, and return it as it is now.

    It lapses: the filter judges these passages as before, and what is reported anew is proposed.
    What others than the event's reporter, or the one named, accuse as well is proposed in their
    name alone. What somebody confirms meanwhile stays. Such events that wait are not attributed any
    more, unless `retry_events` puts them back; what others reported as well goes on waiting, as
    their report alone. Raises as `Guard.undo`.
    """
    if wanted == Undone():
        raise InvalidInputError(
            "undo what? name an event, a reporter or a moment: event=, reporter= or since=, "
            "on the command line --event, --reporter or --since"
        )
    _end_events(store, wanted)
    found = accused(store, wanted)
    if not found and wanted.event is not None and not accused(store, Undone(wanted.event)):
        store.event(wanted.event)  # a slip of the pen must not look like success
    names, done, kept = _taken_back(store, wanted), [], []
    for one in found:
        if one.status not in UNDOABLE:
            continue
        changed = store.set_quarantine_status(
            one.key, "lapsed", actor=actor, said=said, only=UNDOABLE
        )
        if changed.status != "lapsed":
            continue
        others = () if names is None else tuple(name for name in one.reporters if name not in names)
        if others:
            changed = _in_their_name(store, changed, others)
            kept.append(changed)
        done.append(changed)
    if kept:
        logger.warning(
            "others accuse %d of these as well, and they stay proposed in their name; look at "
            "them, and keep out what is an attack with: ragguard quarantine confirm %s",
            len(kept),
            " ".join(one.key[:12] for one in kept),
        )
    elif names is None and wanted.event is not None:
        _warn_of_others(done)
    return done


def accused(store: AuditStore, wanted: Undone) -> list[QuarantineEntry]:
    """Return what attributions have accused, of that what `undo` means, whatever its status."""
    event, reporter, since = wanted.event, wanted.reporter, wanted.since
    names, found = _taken_back(store, Undone(event)), None
    if event is not None and names is not None:
        found = store.attribution(event)
    keys = set() if found is None else set(content_keys([one.text for one in found.accused]))
    return [
        entry
        for entry in store.quarantine()
        if entry.event_id is not None
        and (event is None or _accuses(event, names, keys, entry))
        and (reporter is None or reporter in entry.reporters)
        and (since is None or max(entry.created_at, entry.updated_at) >= since)
    ]


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


def _taken_back(store: AuditStore, wanted: Undone) -> Reporters | None:
    """Return whose word is taken back; None for whoever's, or where that is forgotten."""
    if wanted.reporter is not None:
        return (wanted.reporter,)
    if wanted.event is None:
        return None
    try:
        return (store.event(wanted.event).reporter,)
    except EventNotFoundError:
        return None


def _in_their_name(store: AuditStore, entry: QuarantineEntry, others: Reporters) -> QuarantineEntry:
    """Propose anew, in the name of others, what has just lapsed; a person alone confirms it."""
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


def _warn_of_others(done: Sequence[QuarantineEntry]) -> None:
    if shared := [one for one in done if len(one.reporters) > 1]:
        logger.warning(
            "several reporters accuse %d of these, and the event is forgotten, so whose word is "
            "left is not known; look at them, and keep out what is an attack with: "
            "ragguard quarantine confirm %s",
            len(shared),
            " ".join(one.key[:12] for one in shared),
        )


def _end_events(store: AuditStore, wanted: Undone) -> None:
    """End the events that wait, of those that are meant: they count as failed.

    Of what others than the reporter reported as well, only the reporter's name is taken out.
    """
    reporter, since, ended, shared = wanted.reporter, wanted.since, 0, 0
    for status in OPEN:
        for one in store.events(status=status, limit=_ALL, passages=False):
            if wanted.event not in (None, one.id) or (since is not None and one.created_at < since):
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
