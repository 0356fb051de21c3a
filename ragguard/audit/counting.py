"""Counts verdicts in memory and writes the counts to the store from a thread, never inline."""

from __future__ import annotations

import logging
import threading
import weakref
from collections import Counter

from ragguard.audit.fork import follow_forks
from ragguard.audit.records import AuditStore
from ragguard.errors import RagguardError

__all__ = ["VerdictCounter"]

logger = logging.getLogger(__name__)


class VerdictCounter:
    """Verdict counters whose increments reach the store within `interval_s` seconds.

    Args:
        store: Where the counts go.
        interval_s: Seconds between two writes.
    """

    def __init__(self, store: AuditStore, *, interval_s: float = 1.0) -> None:
        self._store = store
        self._interval_s = interval_s
        self._pending: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        follow_forks(self)

    def add(self, **counts: int) -> None:
        """Add to the counters; costs about a microsecond and never raises."""
        with self._lock:
            for name, count in counts.items():
                if count:
                    self._pending[name] += count
            if self._thread is None and not self._stop.is_set():
                thread = threading.Thread(
                    target=_flush_until_stopped,
                    args=(weakref.ref(self), self._stop, self._interval_s),
                    name="ragguard-counts",
                    daemon=True,
                )
                try:
                    thread.start()
                except RuntimeError as error:  # no more threads, or the interpreter goes down
                    logger.warning("verdict counters are not written for now: %s", error)
                else:
                    self._thread = thread

    def flush(self) -> None:
        """Write what has been counted; on a failing store the counts are kept for the next time."""
        with self._lock:
            counts, self._pending = self._pending, Counter()
        if not counts:
            return
        try:
            self._store.add_counts(counts)
        except RagguardError as error:
            logger.warning("verdict counters could not be written, trying again later: %s", error)
            with self._lock:
                self._pending.update(counts)

    def close(self) -> None:
        """Write the last counts and stop."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            # It may be in the middle of a write, and the caller is about to close the store.
            thread.join()
        self.flush()

    def _before_fork(self) -> None:
        self._lock.acquire()

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            # The parent writes what was pending; counting it twice would be wrong.
            self._pending = Counter()
            self._thread = None
            self._lock = threading.Lock()
            closed, self._stop = self._stop.is_set(), threading.Event()
            if closed:
                self._stop.set()
        else:
            self._lock.release()


def _flush_until_stopped(
    counter: weakref.ref[VerdictCounter], stop: threading.Event, interval_s: float
) -> None:
    while not stop.wait(interval_s):
        alive = counter()
        if alive is None:
            return
        alive.flush()
        del alive
