"""Events in memory until the store has them; a thread saves them.

Whoever closes, or leaves, waits for that thread for a limited time: a store that hangs holds it up.
"""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections import Counter
from contextlib import suppress
from itertools import islice

from ragguard.audit.fair_queueing import Turns
from ragguard.audit.records import OPEN, AuditStore, Event
from ragguard.audit.verdict_counter import VerdictCounter
from ragguard.background.fair_queue import FairQueue, HourlyQuota, Losses
from ragguard.background.threads import Backoff, Deadline, running, shared_interpreter
from ragguard.errors import EventLostError, EventNotFoundError, StoreError
from ragguard.fork import follow_forks

logger = logging.getLogger(__name__)

_EXIT_S = 5.0
_BATCH = 200  # events that one transaction saves
_BATCH_BYTES = 4_000_000
_MAX_BYTES = 32_000_000  # of the texts in memory
_HOURLY_BYTES = 64_000_000  # of one reporter's events: some 300 of the largest
_MAX_PASSAGELESS = 50_000  # ids of events without passages
_MAX_CLAIMABLE = 100  # such ids in one claim
Address = tuple[str, str]  # an event's tenant and id


class Outbox:
    """Submitted events: in memory until the store has them, then waited for until settled.

    Settled is an event that is done or has failed for good. Safe to share between threads; the
    child of a fork begins with an empty one. What is left when the interpreter exits is saved then.
    Unless it `attributes`, the worker asks for no ids of events without passages.
    """

    def __init__(
        self,
        store: AuditStore,
        max_events: int,
        counter: VerdictCounter | None,
        *,
        attributes: bool = True,
    ) -> None:
        self._store, self._attributes = store, attributes
        self._max_events = max_events
        self._losses = Losses(counter)
        self._quota = HourlyQuota(_HOURLY_BYTES)
        self.closed = False
        self._begin()
        _outboxes.add(self)
        follow_forks(self)

    def _begin(self) -> None:
        self.error: str | None = None  # why the store did not take what was saved last
        self._changed = threading.Condition()
        self.starting = threading.RLock()  # a signal may submit while this thread starts it
        self._queue = FairQueue(max_events=self._max_events, max_bytes=_MAX_BYTES)
        self._unsaved: Counter[Address] = Counter()  # two reporters may hold the same claim
        # Events without passages that were submitted here, until they are known to be settled.
        self._passageless: Turns[Address] = Turns()
        self._settled = 0
        self._at_once = _BATCH
        self._told = False  # that events are lost in the end
        self.work = threading.Event()  # set: there is something to save
        self.saved = threading.Event()  # set: something was saved; whoever waits for it clears it
        self.stop = threading.Event()  # set: the thread is to save the rest and end
        self.thread: threading.Thread | None = None

    @property
    def unsaved(self) -> int:
        """How many events are not yet in the store."""
        return self._unsaved.total()

    @property
    def lost(self) -> int:
        """How many reports were lost: no room, the store refused them, or all was closed."""
        return self._losses.reports

    def put(self, event: Event) -> bool:
        """Take an event; False if there is no room for it, or all is closed."""
        lane, address = event.lane, event.address
        with self._changed:
            if self.closed:
                self._losses.add(event, "the guard is closed; report it to another one")
                return False
            if not self._quota.covers(lane, event.nbytes):
                why = "its reporter has filed too much within the hour; report it again in the next"
                self._losses.add(event, why)
                return False
            is_more, dropped = self._queue.put(event)
            self._unsaved[address] += is_more
            bare = self._attributes and not event.passages
            if bare and address not in self._passageless:
                self._passageless.place(address, lane, self._passageless.next(lane))
                if (over := self._passageless.surplus(lane, _MAX_PASSAGELESS)) is not None:
                    self._passageless.remove(over)
            for one in dropped:
                self._lose(
                    one,
                    "too many reports wait for the store, most of them of its reporter; report it "
                    "again, with wait=True to be told at once",
                )
            return address in self._unsaved

    def start(self) -> None:
        """Have a thread that saves what was taken whenever `work` is set."""
        with self.starting:
            if not self.closed:
                self.thread = running(self.thread, self._save_all, "ragguard-save")

    def close(self, timeout: float | None) -> None:
        """Take nothing more, wake whoever waits, and save the rest, in `timeout` seconds."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        self.finish(timeout)

    def finish(self, timeout: float | None) -> None:
        """Stop once the rest is saved, or the store fails, or `timeout` seconds are over."""
        for event in (self.stop, self.work, self.saved):  # saved: whoever waits for it is to stop
            event.set()
        with self.starting:
            thread = self.thread
        if thread is None or not thread.is_alive():
            self._save_rest()
        elif thread is not threading.current_thread():
            thread.join(timeout)
            if thread.is_alive() and self.unsaved:
                self._tell_unsaved(
                    "are lost unless the store, which has not answered in time, still takes them"
                )

    def settle(self, event: Event) -> None:
        """Wake whoever waits: the event is done or failed for good."""
        with self._changed:
            self._passageless.remove(event.address)
            self._settled += 1
            self._changed.notify_all()

    def wait(self, address: Address, timeout: float | None, *, poll_s: float) -> bool:
        """Return True once the event is done or failed for good, in this or any other process.

        False when the time is up or all was closed before. Every `poll_s` seconds it looks for what
        other processes have settled.

        Raises:
            EventLostError: The event was submitted here, and lost.
            EventNotFoundError: The event was neither submitted here nor is it in the store.
            StoreError: The store fails.
        """
        deadline = Deadline(timeout)
        while True:
            with self._changed:
                settled, closed = self._settled, self.closed
                unsaved = address in self._unsaved
            if not unsaved and self._is_settled(address):
                return True
            left = deadline.left()
            if closed or left == 0:
                return False
            with self._changed:
                if self._settled == settled and not self.closed:
                    self._changed.wait(poll_s if left is None else min(left, poll_s))

    def wait_saved(self, event: Event, timeout: float) -> bool:
        """Block until the store has the event; False when the time is up before.

        Raises:
            EventLostError: The event was lost.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: event.address not in self._unsaved, timeout):
                return False
            self._raise_if_lost(event.address)
        return True

    def passageless(self) -> list[str]:
        """Return some ids of events submitted here without passages that are not yet settled."""
        with self._changed:
            return [event_id for _, event_id in islice(self._passageless, _MAX_CLAIMABLE)]

    def forget_settled(self) -> None:
        """Drop ids of events without passages that other processes have settled."""
        while True:
            with self._changed:
                if (first := next(iter(self._passageless), None)) is None:
                    return
            with suppress(EventNotFoundError):
                if first in self._unsaved or not self._is_settled(first):
                    return
            with self._changed:
                self._passageless.remove(first)

    def _save_all(self) -> None:
        """Save events until stopped, and then the rest; they wait while the store fails."""
        backoff = Backoff()
        while not self.stop.is_set():
            self.work.wait()
            self.work.clear()
            while not self.stop.is_set() and self.unsaved:
                try:
                    self._save_some()
                except StoreError as error:
                    if not backoff.failing:
                        logger.warning("events wait in memory, the store fails: %s", error)
                    self.error = str(error)
                    backoff.pause(self.stop)
                else:
                    self.error, backoff = None, Backoff()
                    self.saved.set()
        self._save_rest()

    def _save_rest(self) -> None:
        try:
            while self.unsaved:
                self._save_some()
        except StoreError as error:
            self._tell_unsaved(f"are lost, the store fails: {error}")

    def _tell_unsaved(self, what: str) -> None:
        """Log it at the first try to save the rest: the exit of the interpreter is another one."""
        if not self._told:
            self._told = True
            logger.error("%d events %s", self.unsaved, what)

    def _save_some(self) -> None:
        """Save many events in one transaction, or one that the store may not want by itself."""
        with self._changed:
            if not (events := self._queue.take(self._at_once, _BATCH_BYTES)):
                return
        alone = len(events) == 1
        try:
            with shared_interpreter():
                self._store.add_events(events)
        except Exception as error:
            self._at_once = 1
            with self._changed:
                if alone and not isinstance(error, StoreError):
                    why = f"the store refused it: {error}; report it again without that"
                    self._lose(events[0], why)
                    return
                # One that the store cannot take must block no other.
                for event in self._queue.put_back(events, last=alone):
                    self._let_go(event)
            if isinstance(error, StoreError):
                raise
        else:
            self._at_once = min(2 * self._at_once, _BATCH)
            with self._changed:
                for event in events:
                    self._let_go(event)
                    self._losses.why.pop(event.address, None)  # it has come again
                self._changed.notify_all()

    def _let_go(self, event: Event) -> None:
        self._unsaved[event.address] -= 1
        if self._unsaved[event.address] <= 0:
            del self._unsaved[event.address]

    def _lose(self, event: Event, why: str) -> None:
        self._let_go(event)
        if event.address not in self._unsaved:
            self._passageless.remove(event.address)
        self._losses.add(event, why)
        self._changed.notify_all()

    def _is_settled(self, address: Address) -> bool:
        try:
            return self._store.of_tenant(address[0] or None).event(address[1]).status not in OPEN
        except EventNotFoundError:
            self._raise_if_lost(address)
            raise

    def _raise_if_lost(self, address: Address) -> None:
        if (why := self._losses.why.get(address)) is not None:
            raise EventLostError(f"event {address[1]} was lost: {why}")

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._begin()


_outboxes: weakref.WeakSet[Outbox] = weakref.WeakSet()


@atexit.register
def _save_all_at_exit() -> None:
    deadline = Deadline(_EXIT_S)
    for outbox in list(_outboxes):
        outbox.finish(deadline.left())
