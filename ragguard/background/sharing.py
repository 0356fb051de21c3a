"""Shares the interpreter with queries while work goes on in the background."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["rest_s", "shared_interpreter"]

# One thread runs at a time, and Python lets a thread that computes go on for 5 ms before another
# gets its turn: seven times what a query needs.
_TURN_S = 0.0001
# About one query in a hundred then meets an attribution, and waits for a turn or two: fewer queries
# than one in a hundred become slow by it, and their 99th percentile stays (`benchmarks.floods`).
_SHARE = 0.01
_LONGEST_REST_S = 1.0  # what computes for long, as a model does, does so without the interpreter

_lock = threading.Lock()
_working = 0
_usual_s = sys.getswitchinterval()


def rest_s(used_s: float) -> float:
    """Return how long to rest after so many seconds of processor time, while queries come."""
    return min(used_s * (1.0 / _SHARE - 1.0), _LONGEST_REST_S)


@contextmanager
def shared_interpreter() -> Iterator[None]:
    """Let threads take shorter turns, in the whole process, until the end of the block.

    Python's own interval is set back by the last block that ends; one that is shorter stays.
    """
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
