"""What a person decides about quarantine and allow-list; guard and command line do it by these."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from ragguard.audit.allow_list import SHOWN, Allowance, Effect, allowance, identity
from ragguard.audit.quarantine import HELD, UNDOABLE, QuarantineEntry, QuarantineStatus
from ragguard.audit.records import AuditStore
from ragguard.audit.undoing import Undoing, decided_by
from ragguard.content import content_key
from ragguard.errors import (
    AllowanceNotFoundError,
    EventNotFoundError,
    InvalidInputError,
    QuarantineNotFoundError,
)
from ragguard.passage import Passage
from ragguard.text import printable
from ragguard.trust import source_of

logger = logging.getLogger(__name__)

Target = QuarantineEntry | Passage | str

_SHOWN_KEY = re.compile(r"[0-9a-f]{8,31}")  # the beginning of a key
_DIGITS = 12  # of a key that are shown
_TOLD = 80  # characters of a target that names none, or several

_DECIDABLE: dict[QuarantineStatus, tuple[QuarantineStatus, ...]] = {
    "rejected": ("proposed",),
    "lapsed": UNDOABLE,
}


class Decisions(Undoing):
    """Decides about what attributions have accused; `Guard`'s methods of these names say the rest.

    Targets are entries, passages, or a key, the beginning of one that is no other's, a passage id,
    or a text. `actor` is who decides, None for this process's user@host; `why` is the reason, which
    the trail tells as it is. All raise the store's `StoreError`.
    """

    def proposals(self) -> list[QuarantineEntry]:
        """Return what waits for a person, newest first."""
        return self._store.quarantine(status="proposed")

    def decide(
        self,
        *targets: Target,
        status: QuarantineStatus,
        actor: str | None = None,
        why: str | None = None,
        read: Sequence[QuarantineEntry] = (),
    ) -> list[QuarantineEntry]:
        """Give entries a status; all of them are looked up before the first is changed.

        Entries that were `read` before change only if they still have the status that they had.
        What is confirmed and passes all the same, as its source is allowed, is told in the log.

        Raises:
            InvalidInputError: A target names several entries, or one of which that cannot be said.
            QuarantineNotFoundError: A target names none.
        """
        actor = decided_by(actor, why)
        # Who has read an entry means that one by its key, whatever else is named so.
        entries: dict[Target, Target] = {one.key: one for one in read}
        exact = [entries.get(one, one) if isinstance(one, str) else one for one in targets]
        found, only = self.found(*exact), _DECIDABLE.get(status)
        _require(found, status, only)
        change, known = self._store.set_quarantine_status, {one.key: [one.status] for one in read}
        done = [
            change(one.key, status, actor=actor, why=why, only=only or known.get(one.key))
            for one in found
        ]
        if status == "confirmed":
            keys = {entry.key for entry in done if entry.status == status}
            for one in self._store.allowances():
                if one.key in keys and one.holds:
                    self._store.disallow(one.key, one.source, actor=actor, why=why)
            given = [target for target in targets if isinstance(target, Passage)]
            for entry, one in still_passing(self._store, done, given):
                logger.warning("%s is confirmed, but %s", entry.key[:_DIGITS], passes(one.source))
        for entry in done:
            if entry.status != status:  # somebody else was faster
                _require([entry], status, only or known.get(entry.key))
        return done

    def found(self, *targets: Target) -> list[QuarantineEntry]:
        """Return the entries that targets name; raises as `decide`."""
        keys = [_named(target).lower() for target in targets]
        entries = self._store.quarantine(keys=keys)
        # The beginning of a key, the id of a passage or a text; a whole key may be these as well.
        if len({*keys}) > len(entries) or any(isinstance(target, str) for target in targets):
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
        tell: bool = False,
    ) -> Allowance:
        """Put what `allow_list.allowance` makes on the list, and return it.

        The trail has a hash of `why`, and tells it in words where it is to `tell` it.
        """
        actor = decided_by(actor)
        made = allowance(target, why=why, effect=effect, until=until, actor=actor)
        self._store.allow(made, why=why if tell else None)
        return made

    def disallow(
        self,
        *targets: Allowance | Passage | str,
        actor: str | None = None,
        why: str | None = None,
    ) -> list[Allowance]:
        """Take passages or sources off the allow-list, whichever effect it had, and return that.

        All are looked up before the first is taken off. What was released from quarantine is as if
        it had been a proposal, and was rejected. Raises as `Guard.disallow`.
        """
        actor, found = decided_by(actor, why), [self._listed(target) for target in targets]
        ended = []
        change = self._store.set_quarantine_status
        for listed, released in found:
            for one in listed:
                ended += self._store.disallow(one.key, one.source, actor=actor, why=why)
            for entry in released:
                now = change(entry.key, "rejected", actor=actor, why=why, only=["released"])
                if now.status == "rejected":  # nobody has confirmed it meanwhile
                    of = _of_release(entry)
                    ended.append(replace(of, ended_at=now.updated_at, ended_by=actor))
        if targets and not ended:
            raise _not_allowed(targets[0])
        return ended

    def _listed(
        self, target: Allowance | Passage | str
    ) -> tuple[list[Allowance], list[QuarantineEntry]]:
        if isinstance(target, Allowance):
            key, source = target.key, target.source
        else:
            key, source, _ = identity(target)
        # Names of sources are compared as guards do it: "HR" is not "hr", though both have one key.
        # A passage may be on the list as a text, which stands for a source of that name as well.
        found = [
            one
            for one in self._store.allowances()
            if one.holds and (one.source == source if source and one.source else one.key == key)
        ]
        released = self._store.quarantine(status="released", keys=[key])
        if not (found or released):
            raise _not_allowed(target)
        return found, released

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


def sources_of(
    store: AuditStore, events: Iterable[str | None], passages: Iterable[Passage] = ()
) -> dict[str, set[str]]:
    """Return the sources of passages and of what was reported with events, by content key."""
    found, sources = [*passages], dict[str, set[str]]()
    for event in {one for one in events if one is not None}:
        with suppress(EventNotFoundError):  # some are forgotten
            found += store.event(event).passages
            if (attribution := store.attribution(event)) is not None:
                found += [one.passage for one in attribution.scores]
    for passage in found:
        if (source := source_of(passage)) is not None:
            sources.setdefault(content_key(passage.text), set()).add(source)
    return sources


def still_passing(
    store: AuditStore, entries: Sequence[QuarantineEntry], passages: Sequence[Passage] = ()
) -> list[tuple[QuarantineEntry, Allowance]]:
    """Return confirmed entries that pass all the same, each with its source, which is allowed.

    A source is told by the entry's event, or by `passages`. A person who vouches for all of a
    source said so for a reason: that ends by `disallow` alone.
    """
    listed = store.allowances()
    allowed = [one for one in listed if one.source and one.holds and one.effect == "allowed"]
    if not allowed:
        return []
    named = sources_of(store, (one.event_id for one in entries), passages)
    return [
        (entry, one)
        for entry in entries
        for one in allowed
        if entry.status == "confirmed" and one.source in named.get(entry.key, ())
    ]


def passes(source: str) -> str:
    """Say of a passage whose source is allowed that it passes, and what to do."""
    return (
        f'its source "{printable(source)[:200]}" is allowed, so it is not dropped; take that off '
        "the allow-list first"
    )


def _require(
    entries: Sequence[QuarantineEntry],
    status: QuarantineStatus,
    only: Sequence[QuarantineStatus] | None,
) -> None:
    for entry in entries:
        if only is not None and entry.status not in only:
            instead = "release it instead" if entry.status in HELD else "look at it again"
            raise InvalidInputError(
                f"{entry.key[:_DIGITS]} is {entry.status}, and only what is "
                f"{' or '.join(only)} can become {status}; {instead}"
            )


def _not_allowed(target: Allowance | Passage | str) -> AllowanceNotFoundError:
    return AllowanceNotFoundError(
        f"{str(getattr(target, 'id', target))[:80]!r} is not on the allow-list; `ragguard allowed` "
        "shows what is, and --source names a source, letter by letter"
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
    # All count, so that nothing is decided about the wrong one: an id may look like a key, and
    # whoever plants a passage may give it another's text or key for its id, or a key for its text.
    whole, any_way = name.lower(), isinstance(target, str) and name != ""
    is_key = any(entry.key == whole for entry in entries)
    by_start = any_way and not is_key and _SHOWN_KEY.fullmatch(whole) is not None
    keys = {whole, content_key(name)} if any_way else {whole}

    def is_told(entry: QuarantineEntry) -> bool:
        return entry.key in keys or (by_start and entry.key.startswith(whole))

    matches = [one for one in entries if is_told(one) or (any_way and name == one.passage_id)]
    matches.sort(key=is_told, reverse=True)  # ids last: any number of passages may have one
    if not matches:
        raise QuarantineNotFoundError(
            f"no quarantined passage has the id, key or text {name[:_TOLD]!r}; `ragguard "
            "quarantine list` shows what there is, and of a key 8 characters are needed"
        )
    if len(matches) > 1:
        shown = _DIGITS if is_key or len(name) < _DIGITS else None
        told = ", ".join(entry.key[:shown] for entry in matches[:5])
        part = "its entry, or as little of the key" if is_key else "more of the key"
        raise InvalidInputError(
            f"{name[:_TOLD]!r} names {len(matches)} quarantined passages; pass {part} of the one "
            f"that you mean: {told}"
        )
    return matches[0]
