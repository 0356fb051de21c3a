"""What was submitted in this process: not yet in the store, or not yet known to be settled."""

from __future__ import annotations

import logging
import threading

from ragguard.audit.records import AuditStore, Event
from ragguard.background.waiting import Deadline
from ragguard.errors import EventNotFoundError

__all__ = ["Submissions"]

logger = logging.getLogger(__name__)


class Submissions:
    """Submitted events, in memory until the store has them, their ids until they are settled.

    Safe to share between threads.

    Args:
        store: Asked for the status of events.
        max_unsaved: How many events are held in memory.
        poll_s: Seconds between two looks for what other processes have settled.

    Attributes:
        dropped: How many events were lost.
    """

    dropped: int

    def __init__(self, store: AuditStore, *, max_unsaved: int, poll_s: float) -> None:
        self._store = store
        self._max_unsaved = max_unsaved
        self._poll_s = poll_s
        self._closed = False
        self.dropped = 0
        self.reset()

    def reset(self) -> None:
        """Forget every event and make new locks, for the child of a fork."""
        self._state = threading.Condition()
        self._unsaved: dict[str, Event] = {}
        self._submitted: dict[str, None] = {}  # not known to be done or failed; in order
        self._settled = 0

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closed

    @property
    def unsaved(self) -> int:
        """How many events are not yet in the store."""
        return len(self._unsaved)

    def take(self, event: Event) -> bool:
        """Take an event into memory; False if it is lost, because that is full or closed."""
        with self._state:
            lost = self._closed or len(self._unsaved) >= self._max_unsaved
            if not lost:
                self._unsaved[event.id] = event
                self._submitted[event.id] = None
        if lost:
            self.drop(event.id, "the worker is closed" if self._closed else "the queue is full")
        return not lost

    def drop(self, event_id: str, why: str) -> None:
        """Count an event that is lost, and log it now and then."""
        with self._state:
            self.dropped += 1
            dropped = self.dropped
        # The first, second, fourth, eighth ...: a store that is down must not flood the log.
        if dropped & (dropped - 1) == 0:
            logger.error("event %s is lost: %s (%d lost so far)", event_id, why, dropped)

    def close(self) -> None:
        """Take nothing more, and wake whoever waits."""
        with self._state:
            self._closed = True
            self._state.notify_all()

    def next_unsaved(self) -> Event | None:
        """Return the event whose turn it is to be saved; it stays in memory."""
        with self._state:
            return next(iter(self._unsaved.values()), None)

    def put_off(self, event: Event) -> None:
        """Move an event to the end of the line: one that the store cannot take blocks no other."""
        with self._state:
            if self._unsaved.pop(event.id, None) is not None:
                self._unsaved[event.id] = event

    def release(self, event_id: str) -> None:
        """Let go of an event that is in the store, or lost."""
        with self._state:
            self._unsaved.pop(event_id, None)

    def settle(self, event_id: str) -> None:
        """Wake whoever waits: the event is done or failed for good."""
        with self._state:
            self._submitted.pop(event_id, None)
            self._settled += 1
            self._state.notify_all()

    def open_ids(self) -> list[str]:
        """Return the ids of the submitted events that are not known to be settled, in order."""
        with self._state:
            return list(self._submitted)

    def oldest(self) -> str | None:
        """Return the id of the first event that is not known to be settled."""
        with self._state:
            return next(iter(self._submitted), None)

    def forget(self, event_id: str) -> None:
        """Keep the event's id no longer."""
        with self._state:
            self._submitted.pop(event_id, None)

    def forget_settled(self) -> None:
        """Drop the ids of submitted events that other processes have finished.

        Raises:
            StoreError: The store fails.
        """
        while True:
            with self._state:
                event_id = next(iter(self._submitted), None)
                if event_id is None or event_id in self._unsaved:
                    return
            try:
                if not self._is_settled(event_id):
                    return
            except EventNotFoundError:
                pass
            self.forget(event_id)

    def wait(self, event_id: str, timeout: float | None) -> bool:
        """Block until the event is done or failed for good.

        Args:
            event_id: An event of this or any other process.
            timeout: Seconds to wait at most; None waits without limit.

        Returns:
            True when it is; False when the time is up or nothing more is taken before.

        Raises:
            EventNotFoundError: The event is neither in memory nor in the store.
            StoreError: The store fails.
        """
        deadline = Deadline(timeout)
        while True:
            with self._state:
                settled = self._settled
                unsaved = event_id in self._unsaved
                closed = self._closed
            if not unsaved and self._is_settled(event_id):
                return True
            left = deadline.left()
            if closed or left == 0:
                return False
            pause = self._poll_s if left is None else min(left, self._poll_s)
            with self._state:
                if self._settled == settled and not self._closed:
                    self._state.wait(pause)

    def _is_settled(self, event_id: str) -> bool:
        return self._store.event(event_id).status in ("done", "failed")
