"""What is written off the inline path: a thread brings it to the store about once a second."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

from ragguard.audit.watch import repeated
from ragguard.fork import follow_forks

__all__ = ["Writer"]

logger = logging.getLogger(__name__)


class Writer(ABC):
    """Has `flush` called about once a second, by a thread that starts when there is something.

    The thread is a daemon, and ends with its object. After a fork the parent goes on; the child
    begins anew, since what was pending would else be written twice.

    Args:
        name: The thread's.
        interval_s: Seconds between two writes.
    """

    def __init__(self, name: str, interval_s: float) -> None:
        self._name = name
        self._interval_s = interval_s
        self._lock = threading.Lock()  # of what is pending
        self._stop = threading.Event()
        self._begin()
        follow_forks(self)

    @abstractmethod
    def flush(self) -> None:
        """Write what is pending; what a failing store does not take is kept. Never raises."""

    @abstractmethod
    def _forget(self) -> None:
        """Have nothing pending."""

    def _begin(self) -> None:
        self._flushing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._forget()

    def _start(self) -> None:
        """Have the thread, unless all was closed; called with the lock held."""
        if self._thread is None and not self._stop.is_set():
            try:
                self._thread = repeated(self.flush, self._stop, self._interval_s, self._name)
            except RuntimeError as error:  # no more threads, or the interpreter goes down
                logger.warning("%s does not run for now: %s", self._name, error)

    @property
    def threads(self) -> list[threading.Thread]:
        """What runs for it."""
        return [] if self._thread is None else [self._thread]

    def stop(self) -> None:
        """Have the last of it written, and do not wait for it."""
        self._stop.set()

    def close(self, timeout: float | None = 10.0) -> None:
        """Write the last of it and stop, in `timeout` seconds at most.

        The thread writes: a store that hangs holds up nobody else.
        """
        self._stop.set()
        thread = self._thread
        if thread is None or not thread.is_alive():
            self.flush()
        elif thread is not threading.current_thread():
            thread.join(timeout)

    def _before_fork(self) -> None:
        self._lock.acquire()

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            closed, self._stop = self._stop.is_set(), threading.Event()
            self._begin()
            if closed:
                self._stop.set()
        self._lock.release()
