"""The background worker: takes flagged events off the caller's hands and attributes them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ragguard.attribution.result import Attribution
from ragguard.audit.records import AuditStore, Event
from ragguard.background.attempts import Attempts
from ragguard.background.saving import Saver
from ragguard.background.sharing import rest_s
from ragguard.background.submissions import Submissions
from ragguard.background.waiting import Backoff, Deadline
from ragguard.errors import EventNotFoundError, InvalidInputError
from ragguard.fork import follow_forks

__all__ = ["Worker"]

logger = logging.getLogger(__name__)


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
    """

    def __init__(
        self,
        store: AuditStore,
        attribute: Callable[[Event], Attribution],
        *,
        on_done: Callable[[Event, Attribution], None] | None = None,
        leaves_bare: bool = False,
        on_lost: Callable[[int], None] | None = None,
        queries_come: Callable[[], bool] = lambda: False,
        max_attempts: int = 3,
        max_starts: int = 10,
        lease_s: float = 60.0,
        poll_s: float = 0.5,
        max_unsaved: int = 1000,
        max_unsaved_bytes: int = 32_000_000,
    ) -> None:
        """Make a worker; its threads start with the first `submit`, `wait` or `start`.

        Args:
            store: Where events and attributions are kept.
            attribute: Attributes one event; whatever it raises counts as a failed attempt, and an
                `InvalidInputError` as the last one.
            on_done: Called with every attribution before it counts as done.
            leaves_bare: Whether events that bring no passages and were submitted elsewhere are left
                to a worker that can search the knowledge base.
            on_lost: Called with the number of reports that were lost, from whichever thread.
            queries_come: Whether this process answers queries just now. The worker then rests
                after each event, so that at most one query in fifty meets an attribution.
            max_attempts: How many attempts fail before the event has failed for good.
            max_starts: How often an event is begun at most. A worker that was killed has not
                failed, but an event that kills every worker must not do so for ever.
            lease_s: Seconds after which the event of a worker that died is claimed anew; renewed
                when a third of it is over.
            poll_s: Seconds between two looks for events of other processes.
            max_unsaved: How many events are held in memory until the store has them.
            max_unsaved_bytes: How many bytes their texts may take.

        Raises:
            InvalidInputError: A number is not positive.
        """
        for name, value in (
            ("max_attempts", max_attempts),
            ("max_starts", max_starts),
            ("lease_s", lease_s),
            ("poll_s", poll_s),
            ("max_unsaved", max_unsaved),
            ("max_unsaved_bytes", max_unsaved_bytes),
        ):
            if not value > 0:
                raise InvalidInputError(f"{name} must be positive, not {value}; leave it out")
        self._leaves_bare = leaves_bare
        self._queries_come = queries_come
        self._poll_s = poll_s
        self._submissions = Submissions(
            store,
            max_unsaved=max_unsaved,
            max_bytes=max_unsaved_bytes,
            poll_s=poll_s,
            on_lost=on_lost,
        )
        self._saver = Saver(store, self._submissions)
        self._attempts = Attempts(
            store,
            attribute,
            on_done=on_done,
            on_settled=self._submissions.settle,
            max_attempts=max_attempts,
            max_starts=max_starts,
            lease_s=lease_s,
        )
        self._make_threads()
        follow_forks(self)

    @property
    def lost(self) -> int:
        """How many reports were lost.

        The queue was full, the worker was closed, or the store refused them.
        """
        return self._submissions.lost

    @property
    def unsaved(self) -> int:
        """How many submitted events are not yet in the store."""
        return self._submissions.unsaved

    @property
    def threads(self) -> list[threading.Thread]:
        """What runs for it."""
        return list(self._threads.values())

    def submit(self, event: Event) -> bool:
        """Take over an event and return at once; never waits for the store, never raises.

        Returns:
            False if the event is lost already.
        """
        if not self._submissions.take(event):
            return False
        try:
            self.start()
        except RuntimeError as error:  # no more threads, or the interpreter is going down
            logger.warning("event %s is persisted at exit at the latest: %s", event.id, error)
        self._work_to_save.set()
        return True

    def start(self) -> None:
        """Start the threads unless they run already or the worker is closed."""
        started = False
        with self._starting:
            for name, work in (("save", self._save_all), ("attribute", self._attribute_all)):
                thread = self._threads.get(name)
                if not self._submissions.closed and (thread is None or not thread.is_alive()):
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
            EventLostError: The event was submitted here, and lost.
            EventNotFoundError: The event was neither submitted here nor is it in the store.
            StoreError: The store fails.
        """
        self.start()
        return self._submissions.wait(event_id, timeout)

    def wait_saved(self, event_id: str, timeout: float) -> bool:
        """Block until the store has a submitted event; False when the time is up before.

        Raises:
            EventLostError: The event was lost.
        """
        return self._submissions.wait_saved(event_id, timeout)

    def drain(self, timeout: float | None = None) -> bool:
        """Block until every event submitted here is done or failed; False if the time is up.

        Raises:
            StoreError: The store fails.
        """
        deadline = Deadline(timeout)
        while (event_id := self._submissions.oldest()) is not None:
            if not self._wait_unless_dropped(event_id, deadline.left()):
                return False
            self._submissions.forget(event_id)
        return True

    def close(self, timeout: float | None = 10.0) -> bool:
        """Persist what is not yet persisted, let a running attribution end, stop the threads.

        Events that are still open stay in the store for the next worker.

        Returns:
            True when all events are in the store and all threads have ended within `timeout`.
        """
        deadline = Deadline(timeout)
        self._submissions.close()
        with self._starting:
            threads = dict(self._threads)
        self._stop.set()
        self._work_to_save.set()
        self._work_to_do.set()
        self._saver.finish(deadline.left())
        for thread in threads.values():
            if thread is not threading.current_thread():
                thread.join(deadline.left())
        running = any(thread.is_alive() for thread in threads.values())
        return not running and not self._submissions.unsaved

    def run_once(self) -> bool:
        """Claim one event and attribute it in the caller's thread; False if there is none.

        Raises:
            StoreError: The store fails.
        """
        event = self._claim()
        if event is None:
            return False
        self._attempts.make(event, self._stop)
        return True

    def run_forever(self, stop: threading.Event) -> None:
        """Attribute events in the caller's thread until `stop` is set."""
        self._attribute_until(stop, stop.wait)

    def _make_threads(self) -> None:
        self._starting = threading.RLock()  # a signal may submit while this thread starts them
        self._stop = threading.Event()
        self._work_to_save = threading.Event()
        self._work_to_do = threading.Event()
        self._threads: dict[str, threading.Thread] = {}

    def _save_all(self) -> None:
        self._saver.save_until(self._stop, self._work_to_save, self._work_to_do.set)

    def _attribute_all(self) -> None:
        def idle(seconds: float) -> None:
            self._work_to_do.wait(seconds)
            self._work_to_do.clear()

        # A new thread that goes to work at once keeps its starter, a `submit`, from going on.
        idle(self._poll_s)
        self._attribute_until(self._stop, idle)

    def _attribute_until(self, stop: threading.Event, idle: Callable[[float], object]) -> None:
        backoff = Backoff()
        while not stop.is_set():
            try:
                event = self._claim()
                if event is None:
                    self._submissions.forget_settled()
            except Exception as error:  # whatever the store raises, the worker must live on
                if not backoff.failing:
                    logger.warning("no events can be claimed, the store fails: %s", error)
                backoff.pause(stop)
                continue
            backoff.succeeded()
            began = time.thread_time()
            # After a failed attempt too: what failed now would likely fail again at once.
            if event is None or not self._attempts.make(event, stop):
                idle(self._poll_s)
            if self._queries_come():
                stop.wait(rest_s(time.thread_time() - began))

    def _claim(self) -> Event | None:
        return self._attempts.claim(self._submissions.bare_ids() if self._leaves_bare else None)

    def _wait_unless_dropped(self, event_id: str, timeout: float | None) -> bool:
        try:
            return self.wait(event_id, timeout)
        except EventNotFoundError:
            return True

    def _before_fork(self) -> None:
        """Nothing to do: the child starts from an empty queue, the parent keeps its own."""

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._submissions.reset()
            self._make_threads()
