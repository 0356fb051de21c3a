"""From memory to the store: submitted events are saved, at the exit of the interpreter at last.

Whoever closes, or leaves, waits for the thread that saves and for a limited time: a store that
hangs holds up that thread, which the interpreter does not wait for.
"""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Callable

from ragguard.audit.records import AuditStore
from ragguard.background.sharing import shared_interpreter
from ragguard.background.submissions import Submissions
from ragguard.background.waiting import Backoff, Deadline
from ragguard.errors import StoreError

__all__ = ["Saver"]

logger = logging.getLogger(__name__)

_EXIT_S = 5.0
_BATCH = 200
_BATCH_BYTES = 4_000_000


class Saver:
    """Saves submitted events; one that is alive when the interpreter exits saves what is left.

    Args:
        store: Where the events go.
        submissions: Where they come from.
    """

    def __init__(self, store: AuditStore, submissions: Submissions) -> None:
        self._store = store
        self._submissions = submissions
        self._thread: threading.Thread | None = None
        self._end: Callable[[], None] = lambda: None
        self._at_once = _BATCH
        _savers.add(self)

    def save_until(
        self, stop: threading.Event, work: threading.Event, on_saved: Callable[[], None]
    ) -> None:
        """Save events until stopped, and then the rest; while the store fails, they wait in memory.

        Args:
            stop: Ends it, together with `work`.
            work: Set when there is something to save; cleared here.
            on_saved: Called after events are in the store, or lost.
        """

        def end() -> None:
            stop.set()
            work.set()

        self._thread, self._end = threading.current_thread(), end
        backoff = Backoff()
        while not stop.is_set():
            work.wait()
            work.clear()
            while not stop.is_set() and self._submissions.unsaved:
                try:
                    self._save_some()
                except StoreError as error:
                    if not backoff.failing:
                        logger.warning("events wait in memory, the store fails: %s", error)
                    backoff.pause(stop)
                else:
                    backoff.succeeded()
                    on_saved()
        self._save_rest()

    def finish(self, timeout: float | None) -> None:
        """Stop saving once the rest is saved, or the store fails, or `timeout` seconds are over."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            self._save_rest()
        elif thread is not threading.current_thread():
            self._end()
            thread.join(timeout)
            if thread.is_alive() and self._submissions.unsaved:
                logger.error(
                    "%d events are lost unless the store, which has not answered in time, still "
                    "takes them",
                    self._submissions.unsaved,
                )

    def _save_rest(self) -> None:
        try:
            while self._submissions.unsaved:
                self._save_some()
        except StoreError as error:
            logger.error(
                "%d events are lost, the store fails: %s", self._submissions.unsaved, error
            )

    def _save_some(self) -> None:
        """Save many events in one transaction, or one that the store may not want by itself."""
        events = self._submissions.next_unsaved(self._at_once, _BATCH_BYTES)
        if not events:
            return
        alone = len(events) == 1
        try:
            with shared_interpreter():
                self._store.add_events(events)
        except Exception as error:
            self._at_once = 1
            if alone and not isinstance(error, StoreError):
                self._submissions.refuse(events[0], error)
                return
            # One that the store cannot take must block no other.
            self._submissions.put_back(events, last=alone)
            if isinstance(error, StoreError):
                raise
        else:
            self._at_once = min(2 * self._at_once, _BATCH)
            self._submissions.saved(events)


_savers: weakref.WeakSet[Saver] = weakref.WeakSet()


@atexit.register
def _save_all_at_exit() -> None:
    deadline = Deadline(_EXIT_S)
    for saver in list(_savers):
        saver.finish(deadline.left())
