"""Keeps the quarantined keys in memory and notices when they change, in any process."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Hashable
from pathlib import Path

from ragguard.audit.memory import MemoryStore
from ragguard.audit.records import AuditStore
from ragguard.errors import InvalidInputError, RagguardError
from ragguard.fork import follow_forks

__all__ = ["QuarantineWatch"]

logger = logging.getLogger(__name__)

# A file's times move in steps of up to 10 ms, and SQLite shows a commit to readers just after it
# wrote the file: a state that was read so soon after a write may already be an old one.
_SETTLED_NS = 50_000_000


class QuarantineWatch:
    """The keys that the filter must drop, at the price of a look at one file's times.

    A `MemoryStore` is asked for its version on every call, and a SQLite file for its size and
    times, so the next call after a change returns the new keys, whichever process changed them.
    Any other store is polled by a thread, which also runs for SQLite to be on the safe side.

    The thread is a daemon, ends with the watch, and is started again after a fork.
    """

    def __init__(self, store: AuditStore, interval_s: float = 0.1) -> None:
        """Load the keys and begin to watch.

        Args:
            store: The store whose quarantine is watched.
            interval_s: Seconds between two polls.

        Raises:
            InvalidInputError: `interval_s` is not positive.
            StoreError: The keys cannot be loaded.
        """
        if not interval_s > 0:
            raise InvalidInputError(f"interval_s must be positive, not {interval_s}; try 0.1")
        self._store = store
        self._interval_s = interval_s
        self._polled = not isinstance(store, MemoryStore)
        path = getattr(store, "path", None)
        self._files: tuple[str, ...] = ()
        if isinstance(path, Path):
            # Commits go to the log; without one, the last to close has moved them to the file.
            self._files = (f"{path}-wal", str(path))
        self._keys: frozenset[str] = frozenset()
        self._version: int | None = None
        self._seen: Hashable = None
        self._failing = False
        self._closed = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self.refresh()
        follow_forks(self)
        self._start()

    def keys(self) -> frozenset[str]:
        """Return the keys that the filter must drop now.

        Never raises: while the store fails, the keys it last gave stay in force.
        """
        if self._thread is None and self._polled:
            self._start()
        if self._look() != self._seen and not self._closed:
            self._reload_or_keep(force=False)
        return self._keys

    def refresh(self) -> frozenset[str]:
        """Load the keys now and return them.

        Raises:
            StoreError: The store fails; the keys it last gave stay in force.
        """
        self._reload(force=True)
        return self._keys

    def close(self) -> None:
        """Stop watching; `keys` goes on returning the last keys."""
        self._closed = True
        self._stop.set()

    def _look(self) -> Hashable:
        if not self._polled:
            return self._store.quarantine_version()
        for file in self._files:
            try:
                state = os.stat(file)  # noqa: PTH116 - a Path would double the cost
            except OSError:
                continue
            return state.st_mtime_ns, state.st_size, state.st_ino
        return ()

    def _reload(self, *, force: bool) -> None:
        with self._lock:
            # Looked at before the keys are read: what changes in between is seen next time.
            look = self._look()
            if not force and look == self._seen:
                return
            now = time.time_ns()
            try:
                version = self._store.quarantine_version()
                if version != self._version:
                    self._keys = self._store.quarantine_keys()
                    self._version = version
            except RagguardError:
                # Queries must not line up behind a store that is down: the thread tries again.
                self._seen = look
                raise
            self._seen = look if _is_settled(look, now) else None
            self._failing = False

    def _reload_or_keep(self, *, force: bool) -> None:
        try:
            self._reload(force=force)
        except Exception as error:  # whatever a store raises, the filter goes on with what it has
            if not self._failing:
                self._failing = True
                logger.error(
                    "the quarantine cannot be read, %d known keys stay in force: %s",
                    len(self._keys),
                    error,
                )

    def _start(self) -> None:
        with self._lock:
            if self._polled and not self._closed and self._thread is None:
                self._thread = threading.Thread(
                    target=_poll,
                    args=(weakref.ref(self), self._stop, self._interval_s),
                    name="ragguard-quarantine",
                    daemon=True,
                )
                self._thread.start()

    def _before_fork(self) -> None:
        """Nothing to do: the child makes its own lock and thread."""

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._lock = threading.Lock()
            self._stop = threading.Event()
            self._thread = None
            self._seen = None


def _poll(watched: weakref.ref[QuarantineWatch], stop: threading.Event, interval_s: float) -> None:
    while not stop.wait(interval_s):
        watch = watched()
        if watch is None:
            return
        watch._reload_or_keep(force=True)
        del watch


def _is_settled(look: Hashable, now_ns: int) -> bool:
    return not (isinstance(look, tuple) and look) or now_ns - look[0] > _SETTLED_NS
