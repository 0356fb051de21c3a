"""The background worker: takes flagged events off the caller's hands and attributes them."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ragguard.attribution.attribution import Attribution
from ragguard.audit.fork import follow_forks
from ragguard.audit.records import AuditStore, Event
from ragguard.errors import EventNotFoundError, InvalidInputError, RagguardError, StoreError

__all__ = ["Worker"]

logger = logging.getLogger(__name__)

_FIRST_RETRY_S = 0.1
_LAST_RETRY_S = 10.0

_T = TypeVar("_T")


class Worker:
    """Persists submitted events and attributes every open event of the store, one at a time.

    Two daemon threads do the work, so that an event is safe in the store even while a long
    attribution runs: one persists what `submit` took, the other claims and attributes. Events
    that an earlier process left behind are claimed in the same way. Any number of workers, in any
    number of processes, may share a store: an event is claimed by one at a time, and its lease is
    renewed for as long as its attribution runs.

    For one event the order is: attribute, `on_done`, store the attribution, wake the waiters. A
    worker that is killed anywhere before the third step leaves the event to be claimed again, so
    `on_done` may be called more than once for an event and must be idempotent. A worker that stands
    still for longer than its lease and finds the event taken over writes nothing: the number of
    the attempt is its fencing token.

    Attributes:
        dropped: How many submitted events were lost because the queue was full, the worker was
            closed, or the store refused them.
    """

    dropped: int

    def __init__(
        self,
        store: AuditStore,
        attribute: Callable[[Event], Attribution],
        *,
        on_done: Callable[[Event, Attribution], None] | None = None,
        max_attempts: int = 3,
        lease_s: float = 300.0,
        poll_s: float = 0.5,
        max_unsaved: int = 1000,
    ) -> None:
        """Make a worker; its threads start with the first `submit`, `wait` or `start`.

        Args:
            store: Where events and attributions are kept.
            attribute: Attributes one event; whatever it raises counts as a failed attempt.
            on_done: Called with every attribution before it counts as done.
            max_attempts: How often an event is begun before it has failed for good.
            lease_s: Seconds after which the event of a worker that died is claimed anew.
            poll_s: Seconds between two looks for events of other processes.
            max_unsaved: How many events are held in memory while the store is down.

        Raises:
            InvalidInputError: A number is not positive.
        """
        for name, value in (
            ("max_attempts", max_attempts),
            ("lease_s", lease_s),
            ("poll_s", poll_s),
            ("max_unsaved", max_unsaved),
        ):
            if not value > 0:
                raise InvalidInputError(f"{name} must be positive, not {value}; leave it out")
        self._store = store
        self._attribute = attribute
        self._on_done = on_done
        self._max_attempts = max_attempts
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._max_unsaved = max_unsaved
        self._closed = False
        self.dropped = 0
        self._reset()
        follow_forks(self)
        _workers.add(self)

    def submit(self, event: Event) -> None:
        """Take over an event and return at once; never waits for the store, never raises."""
        with self._state:
            lost = self._closed or len(self._unsaved) >= self._max_unsaved
            if not lost:
                self._unsaved[event.id] = event
                self._submitted[event.id] = None
        if lost:
            self._drop(event.id, "the worker is closed" if self._closed else "the queue is full")
            return
        try:
            self.start()
        except RuntimeError as error:  # no more threads, or the interpreter is going down
            logger.warning("event %s is persisted at exit at the latest: %s", event.id, error)
        self._work_to_save.set()

    def start(self) -> None:
        """Start the threads unless they run already or the worker is closed."""
        started = False
        with self._state:
            for name, work in (("save", self._save_all), ("attribute", self._attribute_all)):
                thread = self._threads.get(name)
                if not self._closed and (thread is None or not thread.is_alive()):
                    thread = threading.Thread(target=work, name=f"ragguard-{name}", daemon=True)
                    thread.start()
                    self._threads[name] = thread
                    started = True
        if started:
            self._work_to_do.set()

    def wait(self, event_id: str, timeout: float | None = None) -> bool:
        """Block until the event is done or failed for good.

        Args:
            event_id: An event of this or any other process.
            timeout: Seconds to wait at most; None waits without limit.

        Returns:
            True when it is; False when the time is up or the worker was closed before.

        Raises:
            EventNotFoundError: The event was neither submitted here nor is it in the store.
            StoreError: The store fails.
        """
        self.start()
        deadline = _deadline(timeout)
        while True:
            with self._state:
                settled = self._settled
                unsaved = event_id in self._unsaved
                closed = self._closed
            if not unsaved and self._is_settled(event_id):
                return True
            left = _left(deadline)
            if closed or left == 0:
                return False
            pause = self._poll_s if left is None else min(left, self._poll_s)
            with self._state:
                if self._settled == settled and not self._closed:
                    self._state.wait(pause)

    def drain(self, timeout: float | None = None) -> bool:
        """Block until every event submitted here is done or failed; False if the time is up.

        Raises:
            StoreError: The store fails.
        """
        deadline = _deadline(timeout)
        while True:
            with self._state:
                event_id = next(iter(self._submitted), None)
            if event_id is None:
                return True
            if not self._wait_unless_dropped(event_id, _left(deadline)):
                return False
            with self._state:
                self._submitted.pop(event_id, None)

    def close(self, timeout: float | None = 10.0) -> bool:
        """Persist what is not yet persisted, let a running attribution end, stop the threads.

        Events that are still open stay in the store for the next worker.

        Returns:
            True when all events are in the store and all threads have ended within `timeout`.
        """
        deadline = _deadline(timeout)
        with self._state:
            self._closed = True
            threads = dict(self._threads)
            self._state.notify_all()
        self._stop.set()
        self._work_to_save.set()
        self._work_to_do.set()
        for thread in threads.values():
            if thread is not threading.current_thread():
                thread.join(_left(deadline))
        running = {name for name, thread in threads.items() if thread.is_alive()}
        if "save" not in running:
            self._save_rest()
        return not running and not self._unsaved

    def run_once(self) -> bool:
        """Claim one event and attribute it in the caller's thread; False if there is none.

        Raises:
            StoreError: The store fails.
        """
        event = self._store.claim_event(lease_s=self._lease_s)
        if event is None:
            return False
        self._process(event, self._stop)
        return True

    def run_forever(self, stop: threading.Event) -> None:
        """Attribute events in the caller's thread until `stop` is set."""
        self._attribute_until(stop, stop.wait)

    def _reset(self) -> None:
        self._state = threading.Condition()
        self._unsaved: dict[str, Event] = {}
        self._submitted: dict[str, None] = {}  # not known to be done or failed; in order
        self._settled = 0
        self._stop = threading.Event()
        self._work_to_save = threading.Event()
        self._work_to_do = threading.Event()
        self._threads: dict[str, threading.Thread] = {}

    def _drop(self, event_id: str, why: str) -> None:
        with self._state:
            self.dropped += 1
            dropped = self.dropped
        # The first, second, fourth, eighth ...: a store that is down must not flood the log.
        if dropped & (dropped - 1) == 0:
            logger.error("event %s is lost: %s (%d lost so far)", event_id, why, dropped)

    def _save_all(self) -> None:
        stop, delay = self._stop, _FIRST_RETRY_S
        while not stop.is_set():
            self._work_to_save.wait()
            self._work_to_save.clear()
            while not stop.is_set() and self._unsaved:
                try:
                    self._save_next()
                except StoreError as error:
                    if delay == _FIRST_RETRY_S:
                        logger.warning("events wait in memory, the store fails: %s", error)
                    stop.wait(delay)
                    delay = min(2 * delay, _LAST_RETRY_S)
                else:
                    delay = _FIRST_RETRY_S
                    self._work_to_do.set()

    def _save_next(self) -> None:
        with self._state:
            event = next(iter(self._unsaved.values()), None)
        if event is None:
            return
        try:
            self._store.add_event(event)
        except StoreError:
            with self._state:
                # To the end of the line: one event that the store cannot take blocks no other.
                if self._unsaved.pop(event.id, None) is not None:
                    self._unsaved[event.id] = event
            raise
        except Exception as error:
            self._drop(event.id, f"the store refused it: {error}")
        with self._state:
            # Only now: `wait` finds the event in memory until it is in the store.
            self._unsaved.pop(event.id, None)

    def _save_rest(self) -> None:
        try:
            while self._unsaved:
                self._save_next()
        except StoreError as error:
            logger.error("%d events are lost, the store fails: %s", len(self._unsaved), error)

    def _attribute_all(self) -> None:
        def idle(seconds: float) -> None:
            self._work_to_do.wait(seconds)
            self._work_to_do.clear()

        # A new thread that goes to work at once keeps its starter, a `submit`, from going on.
        idle(self._poll_s)
        self._attribute_until(self._stop, idle)

    def _attribute_until(self, stop: threading.Event, idle: Callable[[float], object]) -> None:
        delay = _FIRST_RETRY_S
        while not stop.is_set():
            try:
                event = self._store.claim_event(lease_s=self._lease_s)
                if event is None:
                    self._forget_settled()
            except Exception as error:  # whatever the store raises, the worker must live on
                if delay == _FIRST_RETRY_S:
                    logger.warning("no events can be claimed, the store fails: %s", error)
                stop.wait(delay)
                delay = min(2 * delay, _LAST_RETRY_S)
                continue
            delay = _FIRST_RETRY_S
            # After a failed attempt too: what failed now would likely fail again at once.
            if event is None or not self._process(event, stop):
                idle(self._poll_s)

    def _process(self, event: Event, stop: threading.Event) -> bool:
        """Attribute a claimed event; False when the attempt failed, True when it is settled."""
        if event.attempts > self._max_attempts:
            reason = event.error or "the process died or was stopped"
            return self._fail(
                event, f"given up after {self._max_attempts} attempts: {reason}", stop
            )
        try:
            with self._lease_kept(event):
                attribution = self._attribute(event)
                if self._is_taken_over(event):
                    return self._give_way(event)
                if self._on_done is not None:
                    on_done = self._on_done
                    self._insist(lambda: on_done(event, attribution), stop)
                if not self._insist(
                    lambda: self._store.finish_event(event.id, attribution, attempt=event.attempts),
                    stop,
                ):
                    return self._give_way(event)
        except Exception as error:
            return self._fail(event, f"{type(error).__name__}: {error}", stop)
        except BaseException:  # Ctrl-C: the next worker need not wait for the lease to end
            self._fail(event, "the worker was interrupted", stop)
            raise
        self._announce(event.id)
        return True

    def _still_holds(self, event: Event) -> bool:
        return self._store.renew_lease(event.id, lease_s=self._lease_s, attempt=event.attempts)

    def _is_taken_over(self, event: Event) -> bool:
        try:
            return not self._still_holds(event)
        except Exception as error:  # what is written at the end is fenced as well
            logger.warning("the lease of event %s is not renewed: %s", event.id, error)
            return False

    def _give_way(self, event: Event) -> bool:
        # This process stood still for longer than a lease, such as a machine that was suspended.
        logger.warning(
            "attempt %d to attribute event %s came too late: another worker has taken over",
            event.attempts,
            event.id,
        )
        return True

    def _fail(self, event: Event, error: str, stop: threading.Event) -> bool:
        final = event.attempts >= self._max_attempts
        logger.warning(
            "attempt %d of %d to attribute event %s failed: %s",
            event.attempts,
            self._max_attempts,
            event.id,
            error,
        )
        try:
            changed = self._insist(
                lambda: self._store.fail_event(
                    event.id, error, final=final, attempt=event.attempts
                ),
                stop,
            )
        except RagguardError as failure:
            logger.error("event %s stays claimed until its lease ends: %s", event.id, failure)
        else:
            if not changed:
                return self._give_way(event)
            if final:
                self._announce(event.id)
        return False

    def _insist(self, action: Callable[[], _T], stop: threading.Event) -> _T:
        """Repeat `action` while the store fails: an attribution may have cost minutes."""
        deadline = time.monotonic() + self._lease_s
        delay = _FIRST_RETRY_S
        while True:
            try:
                return action()
            except StoreError:
                if stop.is_set() or time.monotonic() + delay > deadline:
                    raise
            stop.wait(delay)
            delay = min(2 * delay, _LAST_RETRY_S)

    @contextmanager
    def _lease_kept(self, event: Event) -> Iterator[None]:
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self._lease_s / 3):
                try:
                    if not self._still_holds(event):
                        return
                except Exception as error:
                    logger.warning("the lease of event %s is not renewed: %s", event.id, error)

        thread = threading.Thread(target=renew, name="ragguard-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _announce(self, event_id: str) -> None:
        with self._state:
            self._submitted.pop(event_id, None)
            self._settled += 1
            self._state.notify_all()

    def _is_settled(self, event_id: str) -> bool:
        return self._store.event(event_id).status in ("done", "failed")

    def _wait_unless_dropped(self, event_id: str, timeout: float | None) -> bool:
        try:
            return self.wait(event_id, timeout)
        except EventNotFoundError:
            return True

    def _forget_settled(self) -> None:
        """Drop the ids of submitted events that other processes have finished."""
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
            with self._state:
                self._submitted.pop(event_id, None)

    def _before_fork(self) -> None:
        """Nothing to do: the child starts from an empty queue, the parent keeps its own."""

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._reset()


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _save_all_at_exit() -> None:
    for worker in list(_workers):
        worker._save_rest()


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
