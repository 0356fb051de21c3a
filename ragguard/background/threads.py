"""What the threads of a worker share: the interpreter with queries, deadlines, pauses after faults.

One thread runs at a time, and Python lets a thread that computes go on for 5 ms before another gets
its turn: seven times what a query needs. So work in the background takes shorter turns, and rests.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ragguard.errors import StoreError

_TURN_S = 0.0001
# About one query in a hundred then meets an attribution, and waits for a turn or two: the 99th
# percentile of queries stays (`benchmarks/results/floods.json`).
_SHARE = 0.01
_LONGEST_REST_S = 1.0  # what computes for long, as a model does, does so without the interpreter
_FIRST_RETRY_S = 0.1
_LAST_RETRY_S = 10.0

_T = TypeVar("_T")

_lock = threading.Lock()
_working = 0
_usual_s = sys.getswitchinterval()


def rest_s(used_s: float) -> float:
    """Return how long to rest after so many seconds of processor time, while queries come."""
    return min(used_s * (1.0 / _SHARE - 1.0), _LONGEST_REST_S)


@contextmanager
def shared_interpreter() -> Iterator[None]:
    """Let threads of the process take shorter turns until the last such block ends."""
    global _working, _usual_s
    with _lock:
        _working += 1
        if _working == 1:
            _usual_s = sys.getswitchinterval()
            sys.setswitchinterval(min(_usual_s, _TURN_S))
    try:
        yield
    finally:
        with _lock:
            _working -= 1
            if _working == 0:
                sys.setswitchinterval(_usual_s)


def _forget() -> None:
    """In the child of a fork, where none of the threads that work goes on."""
    global _lock, _working
    _lock = threading.Lock()
    if _working:
        _working = 0
        sys.setswitchinterval(_usual_s)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Deadline:
    """A moment so many seconds from now, on the monotonic clock; None for one that never comes."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Return the seconds until it, 0.0 once it is past, or None if it never comes."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())


class Backoff:
    """The pauses between tries that fail in a row, each twice as long as the one before."""

    def __init__(self) -> None:
        self.pause_s = _FIRST_RETRY_S  # of the next pause
        self.failing = False  # true from the first pause on

    def pause(self, stop: threading.Event) -> None:
        """Wait before the next try, unless `stop` is set or is set meanwhile."""
        stop.wait(self.pause_s)
        self.pause_s = min(2 * self.pause_s, _LAST_RETRY_S)
        self.failing = True


def insist(
    stop: threading.Event, seconds: float, action: Callable[..., _T], *args: Any, **options: Any
) -> _T:
    """Repeat `action` while the store fails, and return what it returns.

    Raises:
        StoreError: The store still fails after `seconds`, or when `stop` is set.
    """
    deadline = time.monotonic() + seconds
    backoff = Backoff()
    while True:
        try:
            return action(*args, **options)
        except StoreError:
            if stop.is_set() or time.monotonic() + backoff.pause_s > deadline:
                raise
        backoff.pause(stop)


def running(
    thread: threading.Thread | None, work: Callable[[], None], name: str
) -> threading.Thread:
    """Return the thread, or a new one of that work where it has not begun or has died.

    Raises:
        RuntimeError: There are no more threads, or the interpreter is going down.
    """
    if thread is None or not thread.is_alive():
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
    return thread
