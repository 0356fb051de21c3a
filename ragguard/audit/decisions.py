"""What a person decides about quarantine and allow-list; guard and command line do it by these."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ragguard.arguments import require_names
from ragguard.audit.allow_list import SHOWN, Allowance, Effect, allowance, identity
from ragguard.audit.quarantine import HELD, QuarantineEntry, QuarantineStatus, as_utc
from ragguard.audit.records import OPEN, AuditStore
from ragguard.audit.trail import this_process
from ragguard.content import content_key
from ragguard.errors import AllowanceNotFoundError, InvalidInputError, QuarantineNotFoundError
from ragguard.passage import Passage

logger = logging.getLogger(__name__)

Target = QuarantineEntry | Passage | str

_SHOWN_KEY = re.compile(r"[0-9a-f]{8,31}")  # the beginning of a key

_ALL = 10_000_000  # events
_ENDED = "what was reported with it was undone; `ragguard events retry` takes it up again"

_DECIDABLE: dict[QuarantineStatus, tuple[QuarantineStatus, ...]] = {
    "rejected": ("proposed",),
    "lapsed": ("proposed", "quarantined"),
}


class Decisions:
    """Decides about what attributions have accused; `Guard`'s methods of these names say the rest.

    Targets are entries, passages, or a key, the beginning of one that is no other's, or a passage
    id. `actor` is who decides, None for this process's user@host; `said` is the reason that the
    trail tells as it is. All raise the store's `StoreError`.
    """

    def __init__(self, store: AuditStore) -> None:
        self._store = store

    def proposals(self) -> list[QuarantineEntry]:
        """Return what waits for a person, newest first."""
        return self._store.quarantine(status="proposed")

    def decide(
        self,
        *targets: Target,
        status: QuarantineStatus,
        actor: str | None = None,
        said: str | None = None,
        read: Sequence[QuarantineEntry] = (),
    ) -> list[QuarantineEntry]:
        """Give entries a status; all of them are looked up before the first is changed.

        Entries that were `read` before change only if they still have the status that they had.

        Raises:
            InvalidInputError: A target names several entries, or one of which that cannot be said.
            QuarantineNotFoundError: A target names none.
        """
        actor = decided_by(actor, said)
        found, only = self.found(*targets), _DECIDABLE.get(status)
        _require(found, status, only)
        change, known = self._store.set_quarantine_status, {one.key: [one.status] for one in read}
        done = [
            change(one.key, status, actor=actor, said=said, only=only or known.get(one.key))
            for one in found
        ]
        for entry in done:
            if entry.status != status:  # somebody else was faster
                _require([entry], status, only or known.get(entry.key))
        if status == "confirmed":
            keys = {entry.key for entry in found}
            for one in self._store.allowances():
                if one.key in keys and one.holds:
                    self._store.disallow(one.key, one.source, actor=actor, said=said)
        return done

    def found(self, *targets: Target) -> list[QuarantineEntry]:
        """Return the entries that targets name; raises as `decide`."""
        keys = [_named(target).lower() for target in targets]
        entries = self._store.quarantine(keys=keys)
        if len({*keys}) > len(entries):  # the beginning of a key, or the id of a passage
            entries = self._store.quarantine()
        return [match(entries, target) for target in targets]

    def allow(
        self,
        target: Passage | str,
        *,
        why: str,
        effect: Effect = "allowed",
        until: datetime | None = None,
        actor: str | None = None,
        said: str | None = None,
    ) -> Allowance:
        """Put what `allow_list.allowance` makes on the list, and return it."""
        actor = decided_by(actor)
        made = allowance(target, why=why, effect=effect, until=until, actor=actor)
        self._store.allow(made, said=said)
        return made

    def disallow(
        self,
        target: Allowance | Passage | str,
        *,
        actor: str | None = None,
        said: str | None = None,
    ) -> list[Allowance]:
        """Take a passage or a source off the allow-list, whichever effect it had, and return that.

        What was released from quarantine is as if it had been a proposal, and was rejected. Raises
        as `Guard.disallow`.
        """
        actor = decided_by(actor, said)
        if isinstance(target, Allowance):
            key, source = target.key, target.source
        else:
            key, source, _ = identity(target)
        ended = []
        # A text that was allowed as a string stands for a source of that name as well.
        for one in self._store.allowances():
            if one.holds and (one.key == key or (source and one.source == source)):
                ended += self._store.disallow(one.key, one.source, actor=actor, said=said)
        for entry in self._store.quarantine(status="released", keys=[key]):
            change = self._store.set_quarantine_status
            changed = change(key, "rejected", actor=actor, said=said, only=["released"])
            if changed.status == "rejected":  # nobody has confirmed it meanwhile
                of, at = _of_release(entry), changed.updated_at
                ended.append(replace(of, ended_at=at, ended_by=actor))
        if not ended:
            raise AllowanceNotFoundError(
                f"{str(getattr(target, 'id', target))[:80]!r} is not on the allow-list; "
                "`ragguard allowed` shows what is, and --source names a source"
            )
        return ended

    def allowed(self) -> list[Allowance]:
        """Return what is allowed or protected now, newest first; what was released as well."""
        found = [one for one in self._store.allowances() if one.holds]
        found += map(_of_release, self._store.quarantine(status="released"))
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    def some_allowed(self, limit: int, offset: int = 0) -> list[Allowance]:
        """Return a part of it: what was put on the list comes first, what was released after it."""
        listed = [one for one in self._store.allowances() if one.holds]
        found = listed[offset : offset + limit]
        more, first = limit - len(found), max(0, offset - len(listed))
        released = self._store.quarantine(status="released", limit=more, offset=first)
        return [*found, *map(_of_release, released)]

    def undo(
        self,
        *,
        event: str | None = None,
        reporter: str | None = None,
        since: datetime | None = None,
        actor: str | None = None,
        said: str | None = None,
    ) -> list[QuarantineEntry]:
        """Take back what attributions did, proposals and what nobody has confirmed; return it.

        The filter judges these passages as before, and what is reported anew is proposed. What
        somebody confirms meanwhile stays. Such events that wait are not attributed any more, unless
        `retry_events` puts them back; what others than the reporter reported as well goes on
        waiting, as their report alone. Raises as `Guard.undo`.
        """
        if event is None and reporter is None and since is None:
            raise InvalidInputError(
                "undo what? name an event, a reporter or a moment: event=, reporter= or since=, "
                "on the command line --event, --reporter or --since"
            )
        require_names(event=event, reporter=reporter)
        actor = decided_by(actor, said)
        self._end_events(event, reporter, None if since is None else as_utc(since))
        found = self.accused(event=event, reporter=reporter, since=since)
        if not found and event is not None and not self.accused(event=event):
            self._store.event(event)  # a slip of the pen must not look like success
        change, only = self._store.set_quarantine_status, _DECIDABLE["lapsed"]
        done = [
            change(one.key, "lapsed", actor=actor, said=said, only=only)
            for one in found
            if one.status in only
        ]
        return [one for one in done if one.status == "lapsed"]

    def accused(
        self,
        *,
        event: str | None = None,
        reporter: str | None = None,
        since: datetime | None = None,
    ) -> list[QuarantineEntry]:
        """Return what attributions have accused, of that what `undo` means, whatever its status."""
        moment = None if since is None else as_utc(since)
        return [
            entry
            for entry in self._store.quarantine()
            if entry.event_id is not None
            and event in (None, entry.event_id)
            and (reporter is None or reporter in entry.reporters)
            and (moment is None or max(entry.created_at, entry.updated_at) >= moment)
        ]

    def _end_events(self, event: str | None, reporter: str | None, since: datetime | None) -> None:
        """End the events that wait, of those that `undo` means: they count as failed.

        Of what others than the reporter reported as well, only the reporter's name is taken out.
        """
        ended = shared = 0
        for status in OPEN:
            for one in self._store.events(status=status, limit=_ALL, passages=False):
                if event not in (None, one.id) or (since is not None and one.created_at < since):
                    continue
                if reporter is None:
                    ended += self._store.fail_event(one.id, _ENDED, final=True, counts=False)
                elif one.reporter == reporter or one.reporters > 1:
                    others = self._store.withdraw_reporter(one.id, reporter, _ENDED)
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


def decided_by(actor: str | None, why: str | None = None) -> str:
    """Return who decides, this process where nobody is named; a reason must be a str as well."""
    require_names(actor=actor, why=why)
    return actor or this_process()


def _require(
    entries: Sequence[QuarantineEntry],
    status: QuarantineStatus,
    only: Sequence[QuarantineStatus] | None,
) -> None:
    for entry in entries:
        if only is not None and entry.status not in only:
            instead = "release it instead" if entry.status in HELD else "look at it again"
            raise InvalidInputError(
                f"{entry.key[:12]} is {entry.status}, and only what is "
                f"{' or '.join(only)} can become {status}; {instead}"
            )


def _of_release(entry: QuarantineEntry) -> Allowance:
    why, text, since = "released from quarantine", entry.text[:SHOWN], entry.updated_at
    return Allowance(entry.key, "", "allowed", why, text, entry.actor, since)


def _named(target: Target) -> str:
    if isinstance(target, Passage):
        return content_key(target.text)
    name = target.key if isinstance(target, QuarantineEntry) else target
    if not isinstance(name, str):
        raise InvalidInputError(
            f"a {type(name).__name__} names nothing in quarantine; pass an entry, a passage, or an "
            "id or key"
        )
    return name


def match(entries: Sequence[QuarantineEntry], target: Target) -> QuarantineEntry:
    """Return the entry that a target names; raises as `Decisions.decide`."""
    name = _named(target)
    # What looks like a key names one: whoever plants a passage may give it the id of another's key.
    by_key = _SHOWN_KEY.fullmatch(name.lower()) is not None
    matches = [e for e in entries if name and name.lower() == e.key] or [
        entry
        for entry in entries
        if name and (entry.key.startswith(name.lower()) if by_key else entry.passage_id == name)
    ]
    if not matches:
        raise QuarantineNotFoundError(
            f"no quarantined passage has the id or key {name!r}; `ragguard quarantine list` shows "
            "what there is, and of a key 8 characters are needed"
        )
    if len(matches) > 1:
        keys = ", ".join(entry.key[:12] for entry in matches[:5])
        raise InvalidInputError(
            f"{name!r} names {len(matches)} quarantined passages; pass more of the key "
            f"of the one that you mean: {keys}"
        )
    return matches[0]
