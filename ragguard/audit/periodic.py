"""What a thread does again and again, off the inline path: it asks the store, or writes to it."""

from __future__ import annotations

import logging
import threading
import weakref
from abc import ABC, abstractmethod

from ragguard.fork import follow_forks

logger = logging.getLogger(__name__)

WRITE_S = 1.0
"""Seconds between two writes of a `Writer`."""


class Repeater(ABC):
    """Takes a step again and again in a thread that starts when there is something to do.

    The thread is a daemon, and ends with its object. After a fork the parent goes on; the child
    begins anew, since what was pending would else be done twice.
    """

    def __init__(self, name: str, interval_s: float) -> None:
        self._name = name
        self._interval_s = interval_s
        self._lock = threading.Lock()  # of what is pending
        self._stop = threading.Event()
        self._begin()
        follow_forks(self)

    @abstractmethod
    def _step(self) -> None:
        """Do it once. Never raises."""

    def _begin(self) -> None:
        """Have nothing pending."""
        self._thread: threading.Thread | None = None
        self._stepping = threading.Lock()  # held while the store is waited for; never by a query

    def _start(self) -> None:
        """Have the thread, unless all was closed; called with the lock held."""
        if self._thread is None and not self._stop.is_set():
            work = (weakref.ref(self), self._stop, self._interval_s)
            thread = threading.Thread(target=_repeat, args=work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads, or the interpreter goes down
                logger.warning("%s does not run for now: %s", self._name, error)
            else:
                self._thread = thread

    @property
    def threads(self) -> list[threading.Thread]:
        """What runs for it."""
        return [] if self._thread is None else [self._thread]

    def stop(self) -> None:
        """Have the last step taken, and do not wait for it."""
        self._stop.set()

    def _before_fork(self) -> None:
        self._lock.acquire()

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            closed, self._stop = self._stop.is_set(), threading.Event()
            self._begin()
            if closed:
                self._stop.set()
        self._lock.release()


def _repeat(of: weakref.ref[Repeater], stop: threading.Event, interval_s: float) -> None:
    stopped = False
    while not stopped:
        stopped = stop.wait(interval_s)
        if (found := of()) is None:
            return
        found._step()
        del found


class Writer(Repeater):
    """Brings what is pending to the store again and again."""

    def _begin(self) -> None:
        super()._begin()
        self.error: str | None = None  # why the last write failed

    def _fails(self, what: str, error: Exception) -> None:
        if self.error is None:  # once: a store that is down must not fill the log
            logger.warning(
                "%s cannot be written and wait in memory; mend the store before this process "
                "ends, trying again later: %s",
                *(what, error),
            )
        self.error = str(error)

    @abstractmethod
    def flush(self) -> None:
        """Write what is pending; what a failing store does not take is kept. Never raises."""

    def close(self, timeout: float | None = 10.0) -> None:
        """Write the last of it and stop, in `timeout` seconds at most.

        A thread writes: a store that hangs holds up nobody else.
        """
        self._stop.set()
        thread = self._thread
        if thread is None or not thread.is_alive():
            thread = threading.Thread(target=self.flush, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter goes down
                self.flush()
                return
        if thread is not threading.current_thread():
            thread.join(timeout)

    def _step(self) -> None:
        self.flush()
