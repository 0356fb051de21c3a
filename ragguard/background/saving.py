"""From memory to the store: submitted events are saved, at the exit of the interpreter at last."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Callable

from ragguard.audit.records import AuditStore
from ragguard.background.submissions import Submissions
from ragguard.background.waiting import Backoff
from ragguard.errors import StoreError

__all__ = ["Saver"]

logger = logging.getLogger(__name__)


class Saver:
    """Saves submitted events; one that is alive when the interpreter exits saves what is left.

    Args:
        store: Where the events go.
        submissions: Where they come from.
    """

    def __init__(self, store: AuditStore, submissions: Submissions) -> None:
        self._store = store
        self._submissions = submissions
        _savers.add(self)

    def save_until(
        self, stop: threading.Event, work: threading.Event, on_saved: Callable[[], None]
    ) -> None:
        """Save events until stopped; while the store fails, they wait in memory.

        Args:
            stop: Ends it, together with `work`.
            work: Set when there is something to save; cleared here.
            on_saved: Called after each event that is in the store, or lost.
        """
        backoff = Backoff()
        while not stop.is_set():
            work.wait()
            work.clear()
            while not stop.is_set() and self._submissions.unsaved:
                try:
                    self._save_next()
                except StoreError as error:
                    if not backoff.failing:
                        logger.warning("events wait in memory, the store fails: %s", error)
                    backoff.pause(stop)
                else:
                    backoff.succeeded()
                    on_saved()

    def save_rest(self) -> None:
        """Save what is still in memory, in the caller's thread; give up when the store fails."""
        try:
            while self._submissions.unsaved:
                self._save_next()
        except StoreError as error:
            logger.error(
                "%d events are lost, the store fails: %s", self._submissions.unsaved, error
            )

    def _save_next(self) -> None:
        event = self._submissions.next_unsaved()
        if event is None:
            return
        try:
            self._store.add_event(event)
        except StoreError:
            self._submissions.put_off(event)
            raise
        except Exception as error:
            self._submissions.drop(event.id, f"the store refused it: {error}")
        # Only now: whoever waits for it finds it in memory until it is in the store.
        self._submissions.release(event.id)


_savers: weakref.WeakSet[Saver] = weakref.WeakSet()


@atexit.register
def _save_all_at_exit() -> None:
    for saver in list(_savers):
        saver.save_rest()
