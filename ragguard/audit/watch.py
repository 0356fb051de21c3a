"""Keeps the quarantined keys in memory and notices when they change, in any process."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ragguard.arguments import require_positive
from ragguard.audit.allow_list import Allowance
from ragguard.audit.periodic import Repeater
from ragguard.audit.quarantine import QuarantineChanges, QuarantineEntry
from ragguard.audit.records import AuditStore
from ragguard.audit.trail import Change, tell_head
from ragguard.inline.quarantined import Quarantined
from ragguard.quiet_log import QuietLog
from ragguard.text import printable

logger = logging.getLogger(__name__)

_lines = QuietLog(logger)
_CHARS = 80  # of an id or a reason in the log, which others write
_SILENT_S = 30.0
_NOTHING = Quarantined()
_watches: weakref.WeakValueDictionary[int, QuarantineWatch] = weakref.WeakValueDictionary()


class QuarantineWatch(Repeater):
    """The keys that the filter must drop, at the price of a look into memory.

    A thread asks the store for what is new, ten times a second; what is changed in this process is
    fetched at once by whoever changes it. The filter waits for neither, however slow the store is.
    """

    def __init__(self, store: AuditStore, interval_s: float = 0.1) -> None:
        """Load the keys and begin to watch, with so many seconds between two polls.

        Raises:
            InvalidInputError: `interval_s` is not positive.
            StoreError: The keys cannot be loaded.
        """
        require_positive(interval_s=interval_s)
        self.place = str(getattr(store, "place", ""))
        self._store = store
        self._polled = bool(getattr(store, "shared", True))
        self._held = {"": Quarantined()}  # by tenant; not changed, but replaced
        self.version = -1  # what `quarantine_version` said when the keys were last read
        self._due: float | None = None  # when an entry lapses, in seconds since 1970
        # The first version that was seen of an empty store that took another's place, and what that
        # one held: it stays in force.
        self._empty: int | None = None
        self._before: dict[str, Quarantined] = {}
        self._heard = time.monotonic()
        self.error: str | None = None  # why the last look at the store failed
        self._silent = False
        self._lapses = True  # whether what is over could be taken out, last time
        super().__init__("ragguard-quarantine", interval_s)
        self.refresh()
        _watches[id(self)] = self
        if self._polled:
            with self._lock:
                self._start()

    @property
    def age_s(self) -> float:
        """Seconds since the store last answered; 0.0 for one in memory, which always does."""
        return time.monotonic() - self._heard if self._polled else 0.0

    @property
    def reachable(self) -> bool:
        """Whether the last look at the store succeeded, and is not older than 30 s."""
        return self.error is None and self.age_s <= _SILENT_S

    @property
    def size(self) -> int:
        """How many texts the filter drops, of all tenants."""
        return sum(len(one.keys) for one in self._held.values())

    def held(self, tenant: str = "") -> Quarantined:
        """Return what the filter must drop now for a tenant.

        Never raises and never waits: while the store fails, the keys it last gave stay in force.
        A tenant without any costs nothing, whoever makes up its name.
        """
        if self._polled and not self._stop.is_set():
            if self._thread is None:
                with self._lock:
                    self._start()
            if self.age_s > _SILENT_S:
                self._complain()
        elif self._is_due():
            self.reload()
        return self._held.get(tenant, _NOTHING)

    def refresh(self) -> frozenset[str]:
        """Load the keys now and return those of the default tenant.

        Raises:
            StoreError: The store fails; the keys it last gave stay in force.
        """
        with self._stepping:
            version = self._store.quarantine_version()
            if version != self.version or self._is_due():
                changes = self._store.quarantine_changes(self.version)
                self._held = self._now(changes)
                self.version = changes.version
                self._due = changes.due
            silence, self._heard = self.age_s, time.monotonic()
            if self.error is not None or self._silent:
                logger.warning("the audit store answers again, after %.1f s", silence)
            self.error, self._silent = None, False
            return self._held[""].keys

    def reload(self) -> None:
        """Load the keys now; a store that fails is noted and logged."""
        if self._stop.is_set():
            return
        if self._is_due():
            try:
                self._store.lapse()
                self._lapses = True
            except Exception as error:  # a role that may only read, or a store that fails
                self._due = time.time() + _SILENT_S
                if self._lapses:
                    logger.warning("what is over in quarantine stays in force for now: %s", error)
                self._lapses = False
        try:
            self.refresh()
        except Exception as error:  # whatever a store raises, the filter goes on with what it has
            if self.error is None:
                said = "the quarantine cannot be read, %d known keys stay in force: %s"
                logger.error(said, self.size, error)
            self.error = str(error)
            if self.age_s > _SILENT_S:
                self._complain()

    def _now(self, changes: QuarantineChanges) -> dict[str, Quarantined]:
        """Return what is held after changes. A store that is made anew takes nothing out of it."""
        if changes.complete and self.size and self._is_new(changes):
            self._empty, self._before = changes.version, self._held
            logger.error(
                "a new, empty audit store is in the place of %s: %d known keys stay in force here; "
                "restore a backup of the old one, or restart if the empty one is meant",
                self.place,
                self.size,
            )
            return self._held
        if changes.complete and self._empty is not None:
            if changes.version >= self._empty:  # a backup's is lower: it was made before
                return _after(_added(changes), self._before)
            self._empty, self._before = None, {}
        return _after(changes, self._held)

    def _is_new(self, changes: QuarantineChanges) -> bool:
        # What is proposed, and which policy is in force, programs write without anybody's doing.
        if any(
            one.held or one.spared or one.allowed for one in (changes, *changes.tenants.values())
        ):
            return False
        told = {row.action for row in self._store.trail()} - {"quarantine.proposed"}
        return not any(one.startswith(("quarantine.", "allow-list.")) for one in told)

    def close(self) -> None:
        """Stop watching; `held` goes on returning the last keys."""
        self._stop.set()

    def _is_due(self) -> bool:
        return self._due is not None and time.time() >= self._due

    def _complain(self) -> None:
        # Once in a silence. By a query as well: the thread may be what waits for the store.
        if not self._silent:
            self._silent = True
            logger.error(
                "the audit store has not answered for %.0f s: the filter does not hear what is "
                "quarantined or released elsewhere, and %d known keys stay in force",
                self.age_s,
                self.size,
            )

    def _step(self) -> None:
        self.reload()


def _after(changes: QuarantineChanges, held: Mapping[str, Quarantined]) -> dict[str, Quarantined]:
    """Return what is held by tenant after changes; named tenants that have nothing are left out."""
    found = {"": held[""]} if changes.complete else dict(held)
    for tenant, one in {**changes.tenants, "": changes}.items():
        found[tenant] = after = one.applied_to(held.get(tenant, _NOTHING))
        if tenant and not (after.keys or after.spared or after.allowed):
            del found[tenant]
    return found


def _added(changes: QuarantineChanges) -> QuarantineChanges:
    """Return all that a store has, to be added to what is held."""
    tenants = {tenant: _added(one) for tenant, one in changes.tenants.items()}
    allowed = changes.allowed or None
    return replace(
        changes, complete=False, released=changes.spared, allowed=allowed, tenants=tenants
    )


Kept = tuple[Change, QuarantineEntry | Allowance, bool]
"""What the trail tells of it, what is kept, and whether that is news for the filter."""


def announce(place: str, head: str | None, changes: Iterable[Kept]) -> None:
    """Say that the quarantine at `place` was changed in this process; return when all know it.

    The log tells of entries that come into quarantine or out of it, and of the trail's head.
    """
    for found in _watches.valuerefs():  # a copy, made at once: other threads may add to them
        watch = found()
        if watch is not None and watch.place == place:
            watch.reload()
    for told, entry, _ in changes if _lines.is_read else ():
        if isinstance(entry, Allowance) or entry.status == "proposed":
            continue
        whose = f" of tenant {told.tenant}" if told.tenant else ""
        who = "" if entry.actor is None else f" by {_cut(entry.actor)}"
        event = "" if entry.event_id is None else f", event {_cut(entry.event_id)}"
        _lines.info(
            "%s%s: %s, passage %s%s%s: %s",
            *(entry.status, who, entry.key[:12], _cut(entry.passage_id), whose, event),
            _cut(entry.reason),
        )
    tell_head(head)


def _cut(text: str) -> str:
    return printable(text[: 2 * _CHARS])[:_CHARS]
