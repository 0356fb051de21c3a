"""Tries again: within a deadline, after ever longer pauses; also what a thread died of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from ragguard.errors import StoreError

__all__ = ["Backoff", "Deadline", "insist", "running"]

_FIRST_RETRY_S = 0.1
_LAST_RETRY_S = 10.0

_T = TypeVar("_T")


class Deadline:
    """A moment from now, on the monotonic clock.

    Args:
        seconds: How far away it is; None for one that never comes.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Return the seconds until it, 0.0 once it is past, or None if it never comes."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())


class Backoff:
    """The pauses between tries that fail in a row, each twice as long as the one before.

    Attributes:
        pause_s: Seconds of the next pause.
        failing: True from the first pause until a try succeeds.
    """

    pause_s: float
    failing: bool

    def __init__(self) -> None:
        self.succeeded()

    def succeeded(self) -> None:
        """Begin with a short pause again."""
        self.pause_s = _FIRST_RETRY_S
        self.failing = False

    def pause(self, stop: threading.Event) -> None:
        """Wait before the next try, unless `stop` is set or is set meanwhile."""
        stop.wait(self.pause_s)
        self.pause_s = min(2 * self.pause_s, _LAST_RETRY_S)
        self.failing = True


def insist(action: Callable[[], _T], stop: threading.Event, *, seconds: float) -> _T:
    """Repeat `action` while the store fails, and return what it returns.

    Raises:
        StoreError: The store still fails after `seconds`, or when `stop` is set.
    """
    deadline = time.monotonic() + seconds
    backoff = Backoff()
    while True:
        try:
            return action()
        except StoreError:
            if stop.is_set() or time.monotonic() + backoff.pause_s > deadline:
                raise
        backoff.pause(stop)


def running(
    thread: threading.Thread | None, work: Callable[[], None], name: str
) -> threading.Thread:
    """Return the thread, or another one of that work where it has not begun or has died.

    Raises:
        RuntimeError: There are no more threads, or the interpreter is going down.
    """
    if thread is None or not thread.is_alive():
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
    return thread
