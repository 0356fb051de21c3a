"""The background worker: takes flagged events off the caller's hands and attributes them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from ragguard.arguments import require_positive
from ragguard.attribution.result import Attribution
from ragguard.audit.records import AuditStore, Event
from ragguard.audit.verdict_counter import VerdictCounter
from ragguard.background.lease import Lease
from ragguard.background.outbox import Outbox
from ragguard.background.threads import (
    Backoff,
    Deadline,
    insist,
    rest_s,
    running,
    shared_interpreter,
)
from ragguard.errors import InvalidInputError, RagguardError

logger = logging.getLogger(__name__)

_GIVE_BACK_S = 1.0


class EventProcessor(Protocol):
    """What a worker does with an event: `EventAttributor`, or what looks on meanwhile."""

    def attribute(self, event: Event) -> Attribution:
        """Return the event's attribution; `InvalidInputError` ends it, others fail an attempt."""

    def quarantine(self, event: Event, attribution: Attribution) -> object:
        """Quarantine or propose what is responsible; once must be as good as twice."""


@dataclass(eq=False, repr=False)
class Worker:
    """Persists submitted events and attributes every open event of the store, one at a time.

    Its threads start with the first `submit`, `wait` or `start`. A number that is not positive
    raises `InvalidInputError`.

    Two daemon threads do the work, so that an event is safe in the store even while a long
    attribution runs: one persists what `submit` took, which is in `outbox`, the other claims and
    attributes. Any number of workers, in any number of processes, may share a store: an event is
    claimed by one at a time, and its lease is renewed while its attribution runs, for `max_run_s`.

    For one event the order is: attribute, quarantine, store the attribution, wake the waiters. A
    worker that is killed anywhere before the third step leaves the event to be claimed again. One
    that stands still for longer than its lease and finds the event taken over changes nothing: the
    number of the attempt is the fencing token of what it writes.
    """

    store: AuditStore  # of events and attributions; of a tenant's, its own are attributed
    processor: EventProcessor
    _: KW_ONLY
    attributes: bool = True  # False: it persists events, and leaves them to other workers
    # True: of events without passages it takes those that were submitted to it. The others are for
    # workers that can search a knowledge base.
    skip_without_passages: bool = False
    counter: VerdictCounter | None = None  # of the reports that were lost
    queries_come: Callable[[], bool] = lambda: False  # to this process: it rests after each event
    on_idle: Callable[[], object] = lambda: None  # called when there is no event to attribute
    max_attempts: int = 3  # that fail before the event has failed for good
    # Seconds that an event waits after its first failure, its second ...; the last is for all more.
    retry_s: tuple[float, ...] = (10.0, 60.0)
    max_starts: int = 10  # of an event, until it is tried again: one may kill every worker
    # Seconds after which the event of a worker that died is claimed anew; renewed when a third of
    # it is over. For as long a failing store is tried again.
    lease_s: float = 60.0
    # Seconds after which an attempt has its lease renewed no more: its model may never answer.
    max_run_s: float = 1800.0
    poll_s: float = 0.5  # seconds between two looks for events of other processes
    max_unsaved: int = 1000  # events held in memory until the store has them

    def __post_init__(self) -> None:
        for name in ("max_attempts", "max_starts", "max_unsaved", "lease_s", "max_run_s", "poll_s"):
            require_positive(**{name: getattr(self, name)})
        for seconds in self.retry_s or (0.0,):
            require_positive(retry_s=seconds)
        self.outbox = Outbox(self.store, self.max_unsaved, self.counter, attributes=self.attributes)
        self._thread: threading.Thread | None = None
        self._lease: Lease | None = None  # of the latest attempt

    @property
    def threads(self) -> list[threading.Thread]:
        """What runs for it: in the child of a fork nothing, until something is started there."""
        return [one for one in (self.outbox.thread, self._thread) if one and one.is_alive()]

    @property
    def attributing_s(self) -> float:
        """Seconds for which an attempt has run by now; 0.0 if none runs."""
        return 0.0 if self._lease is None else self._lease.held_s

    def submit(self, event: Event) -> bool:
        """Take over an event, without waiting or raising; False if the event is lost already."""
        if not self.outbox.put(event):
            return False
        try:
            self.start()
        except RuntimeError as error:  # no more threads, or the interpreter is going down
            logger.warning("event %s is persisted at exit at the latest: %s", event.id, error)
        self.outbox.work.set()
        return True

    def start(self) -> None:
        """Start the threads unless they run already or the worker is closed."""
        self.outbox.start()
        with self.outbox.starting:
            before = self._thread
            if self.attributes and not self.outbox.closed:
                self._thread = running(before, self._attribute_all, "ragguard-attribute")
        if self._thread is not before:
            self.outbox.saved.set()

    def wake(self) -> None:
        """Start the threads, and let them look for open events at once."""
        self.start()
        self.outbox.saved.set()

    def wait(self, event_id: str, timeout: float | None = None, *, tenant: str = "") -> bool:
        """Start the threads, and wait for a tenant's event as `Outbox.wait` does."""
        self.start()
        return self.outbox.wait((tenant, event_id), timeout, poll_s=self.poll_s)

    def close(self, timeout: float | None = 10.0) -> bool:
        """Persist what is not yet persisted, let a running attribution end, stop the threads.

        True when all events are in the store, where open ones stay for the next worker, and all
        threads have ended within `timeout`. An attribution that runs on has its event given back to
        the store, in a second more, and changes nothing any more.
        """
        deadline = Deadline(timeout)
        self.outbox.close(deadline.left())
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(deadline.left())
                if thread is self._thread and thread.is_alive() and self._lease is not None:
                    self._lease.give_back(_GIVE_BACK_S)
        return not self.outbox.unsaved and not self.threads

    def run_once(self) -> bool:
        """Claim one event and attribute it in the caller's thread; False if there is none."""
        event = self._claim()
        if event is None:
            return False
        self._attempt(event, self.outbox.stop)
        return True

    def run_forever(self, stop: threading.Event) -> None:
        """Attribute events in the caller's thread until `stop` is set."""
        self._attribute_until(stop, stop.wait)

    def _attribute_all(self) -> None:
        def idle(seconds: float) -> None:
            self.outbox.saved.wait(seconds)
            self.outbox.saved.clear()

        # A new thread that goes to work at once keeps its starter, a `submit`, from going on.
        idle(self.poll_s)
        self._attribute_until(self.outbox.stop, idle)

    def _attribute_until(self, stop: threading.Event, idle: Callable[[float], object]) -> None:
        backoff = Backoff()
        while not stop.is_set():
            try:
                event = self._claim()
                if event is None:
                    self.outbox.forget_settled()
                    self.on_idle()
            except Exception as error:  # whatever the store raises, the worker must live on
                if not backoff.failing:
                    logger.warning("no events can be claimed, the store fails: %s", error)
                backoff.pause(stop)
                continue
            backoff = Backoff()
            if event is None:
                idle(self.poll_s)
                continue
            began = time.thread_time()
            if not self._attempt(event, stop):
                idle(self.poll_s)  # where one has failed, the next would likely fail as well
            if self.queries_come():
                stop.wait(rest_s(time.thread_time() - began))

    def _claim(self) -> Event | None:
        if not self.attributes:
            return None
        passageless = self.outbox.passageless() if self.skip_without_passages else None
        return self.store.claim_event(lease_s=self.lease_s, passageless=passageless)

    def _attempt(self, event: Event, stop: threading.Event) -> bool:
        """Attribute a claimed event; False when that failed, True when the event is settled."""
        if event.attempts - event.attempts_before > self.max_starts:
            reason = event.error or "the process died, hung or was stopped each time"
            given_up = f"given up after {self.max_starts} starts: {reason}"
            return self._fail(event, given_up, stop, hopeless=True)
        try:
            held = Lease(self.store, event, lease_s=self.lease_s, max_run_s=self.max_run_s)
            with held as lease, shared_interpreter():
                self._lease = lease
                found = self.processor.attribute(event)
                if lease.is_lost():
                    return _give_way(event)
                # An attribution may have cost minutes: it waits for a store that is down.
                insist(stop, self.lease_s, self.processor.quarantine, event, found)
                finish, attempt = self.store.finish_event, event.attempts
                if not insist(stop, self.lease_s, finish, event.id, found, attempt=attempt):
                    return _give_way(event)
        except Exception as error:
            # What was handed over stays wrong, however often it is tried.
            hopeless = isinstance(error, InvalidInputError)
            return self._fail(event, f"{type(error).__name__}: {error}", stop, hopeless=hopeless)
        except BaseException:  # Ctrl-C: the next worker need not wait for the lease to end
            why = "the worker was interrupted"
            logger.warning("event %s is given back: %s", event.id, why)
            self._set_back(event, why, stop, final=False, counts=False)
            raise
        self.outbox.settle(event)
        return True

    def _fail(
        self, event: Event, error: str, stop: threading.Event, *, hopeless: bool = False
    ) -> bool:
        failures = event.failures + 1
        final = hopeless or failures >= self.max_attempts
        wait_s = self.retry_s[min(failures, len(self.retry_s)) - 1]
        if final:
            logger.warning(
                "event %s has failed for good, at attempt %d: %s; once that is mended, have it "
                "tried again with `retry` or `ragguard events retry`",
                *(event.id, event.attempts, error),
            )
        else:
            logger.warning(
                "attempt %d to attribute event %s failed, with %d of %d failures: %s; the next "
                "begins in %g s",
                *(event.attempts, event.id, failures, self.max_attempts, error, wait_s),
            )
        return self._set_back(event, error, stop, final=final, wait_s=wait_s)

    def _set_back(
        self, event: Event, error: str, stop: threading.Event, *, final: bool, **how: float
    ) -> bool:
        how |= {"final": final, "attempt": event.attempts}
        try:
            changed = insist(stop, self.lease_s, self.store.fail_event, event.id, error, **how)
        except RagguardError as failure:
            logger.error("event %s stays claimed until its lease ends: %s", event.id, failure)
            return False
        if not changed:
            return _give_way(event)
        if final:
            self.outbox.settle(event)
        return False


def _give_way(event: Event) -> bool:
    logger.warning(
        "attempt %d to attribute event %s came too late: it was given back or undone, or another "
        "worker has it",
        *(event.attempts, event.id),
    )
    return True
