"""What was submitted in this process: not yet in the store, or not yet known to be settled."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from itertools import islice

from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.records import OPEN, AuditStore, Event
from ragguard.background.losses import Losses
from ragguard.background.queue import FairQueue
from ragguard.background.waiting import Deadline
from ragguard.errors import EventLostError, EventNotFoundError

__all__ = ["Submissions"]

_MAX_SUBMITTED = 50_000
_MAX_BARE = 100


class Submissions:
    """Submitted events, in memory until the store has them, their ids until they are settled.

    Safe to share between threads.

    Args:
        store: Asked for the status of events.
        max_unsaved: How many events are held in memory.
        max_bytes: How many bytes the texts of these events may take.
        poll_s: Seconds between two looks for what other processes have settled.
        on_lost: Called with the number of reports that were lost.
    """

    def __init__(
        self,
        store: AuditStore,
        *,
        max_unsaved: int,
        max_bytes: int,
        poll_s: float,
        on_lost: Callable[[int], None] | None,
    ) -> None:
        self._store = store
        self._max_unsaved = max_unsaved
        self._max_bytes = max_bytes
        self._poll_s = poll_s
        self._closed = False
        self._losses = Losses(on_lost)
        self.reset()

    def reset(self) -> None:
        """Forget every event and make new locks, for the child of a fork."""
        self._state = threading.Condition()
        self._queue = FairQueue(max_events=self._max_unsaved, max_bytes=self._max_bytes)
        self._unsaved: Counter[str] = Counter()  # by id: two reporters may hold the same claim
        # Not known to be done or failed, in order: of those without passages the lane, else None.
        self._submitted: dict[str, str | None] = {}
        self._bare: dict[str, dict[str, None]] = {}  # by lane
        self._settled = 0

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closed

    @property
    def unsaved(self) -> int:
        """How many events are not yet in the store."""
        return self._unsaved.total()

    @property
    def lost(self) -> int:
        """How many reports were lost."""
        return self._losses.reports

    def take(self, event: Event) -> bool:
        """Take an event into memory; False if there is no room for it, or all is closed."""
        with self._state:
            if self._closed:
                self._losses.add(event, "the guard is closed")
                return False
            is_more, dropped = self._queue.put(event)
            self._unsaved[event.id] += is_more
            self._note_submitted(event)
            for one in dropped:
                self._lose(one, "too many reports wait for the store, most of them of its reporter")
            return event.id in self._unsaved

    def refuse(self, event: Event, error: Exception) -> None:
        """Let go of an event that was taken out: the store does not want it."""
        with self._state:
            self._lose(event, f"the store refused it: {error}")

    def close(self) -> None:
        """Take nothing more, and wake whoever waits."""
        with self._state:
            self._closed = True
            self._state.notify_all()

    def next_unsaved(self, most: int, max_bytes: int) -> list[Event]:
        """Take out the events whose turn it is to be saved; they still count as unsaved."""
        with self._state:
            return self._queue.take(most, max_bytes)

    def put_back(self, events: list[Event], *, last: bool) -> None:
        """Let events wait again, at the front of their lanes or as their last."""
        with self._state:
            for event in self._queue.put_back(events, last=last):
                self._let_go(event)

    def saved(self, events: list[Event]) -> None:
        """Let go of events that are in the store now."""
        with self._state:
            for event in events:
                self._let_go(event)
                self._losses.forget(event.id)
            self._state.notify_all()

    def settle(self, event_id: str) -> None:
        """Wake whoever waits: the event is done or failed for good."""
        with self._state:
            self._forget(event_id)
            self._settled += 1
            self._state.notify_all()

    def bare_ids(self) -> list[str]:
        """Return some ids of events submitted here without passages that are not yet settled.

        Those that each reporter submitted first, as many of one as of another.
        """
        with self._state:
            share = max(1, _MAX_BARE // max(1, len(self._bare)))
            lanes = islice(self._bare.values(), _MAX_BARE)
            return [event_id for lane in lanes for event_id in islice(lane, share)]

    def oldest(self) -> str | None:
        """Return the id of the first event that is not known to be settled."""
        with self._state:
            return next(iter(self._submitted), None)

    def forget(self, event_id: str) -> None:
        """Keep the event's id no longer."""
        with self._state:
            self._forget(event_id)

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
            EventLostError: The event was lost.
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

    def wait_saved(self, event_id: str, timeout: float) -> bool:
        """Block until the store has the event; False when the time is up before.

        Raises:
            EventLostError: The event was lost.
        """
        deadline = Deadline(timeout)
        with self._state:
            while event_id in self._unsaved:
                left = deadline.left()
                if not left:
                    return False
                self._state.wait(left)
            why = self._losses.why(event_id)
        if why is not None:
            raise _lost(event_id, why)
        return True

    def _is_settled(self, event_id: str) -> bool:
        try:
            return self._store.event(event_id).status not in OPEN
        except EventNotFoundError as error:
            with self._state:
                why = self._losses.why(event_id)
            if why is None:
                raise
            raise _lost(event_id, why) from error

    def _lose(self, event: Event, why: str) -> None:
        self._let_go(event)
        if event.id not in self._unsaved:
            self._forget(event.id)
        self._losses.add(event, why)
        self._state.notify_all()

    def _note_submitted(self, event: Event) -> None:
        if event.id in self._submitted:
            return
        lane = None if event.passages else lane_of(event.reporter)
        self._submitted[event.id] = lane
        if lane is not None:
            self._bare.setdefault(lane, {})[event.id] = None
        if len(self._submitted) > _MAX_SUBMITTED:
            self._forget(next(iter(self._submitted)))

    def _forget(self, event_id: str) -> None:
        lane = self._submitted.pop(event_id, None)
        if lane is not None:
            del self._bare[lane][event_id]
            if not self._bare[lane]:
                del self._bare[lane]

    def _let_go(self, event: Event) -> None:
        self._unsaved[event.id] -= 1
        if self._unsaved[event.id] <= 0:
            del self._unsaved[event.id]


def _lost(event_id: str, why: str) -> EventLostError:
    return EventLostError(
        f"event {event_id} was lost: {why}; report it again, with wait=True to be told at once"
    )
