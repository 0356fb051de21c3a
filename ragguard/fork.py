"""Keeps objects that own locks, threads or connections usable on both sides of `os.fork`."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

_T = TypeVar("_T")


class ForkAware(Protocol):
    """Wants to know when the process forks.

    One that holds what must not be copied as it is, such as a lock that is taken, has a method
    `_before_fork` as well.
    """

    def _after_fork(self, *, in_child: bool) -> None:
        """Go on, in the parent or, with a single thread left, in the child."""


class WorkedOutOnce(Generic[_T]):
    """A `functools.cached_property` without its lock, which a fork may find taken (Python 3.11)."""

    def __init__(self, work: Callable[[Any], _T]) -> None:
        self._work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object | None, kind: type | None = None) -> _T:
        if owner is None:
            raise AttributeError(self._name)
        found: _T = self._work(owner)
        owner.__dict__[self._name] = found
        return found


_aware: weakref.WeakSet[ForkAware] = weakref.WeakSet()
_one_fork_at_a_time = threading.Lock()
_forking: list[ForkAware] = []


def follow_forks(owner: ForkAware) -> None:
    """Call the hooks of `owner` around every fork, for as long as it is alive."""
    _aware.add(owner)


def _before() -> None:
    _one_fork_at_a_time.acquire()
    # Strong references: the hooks after the fork must reach the very objects of this list.
    _forking[:] = list(_aware)
    for owner in _forking:
        if before := getattr(owner, "_before_fork", None):
            before()


def _after(*, in_child: bool) -> None:
    for owner in _forking:
        owner._after_fork(in_child=in_child)
    _forking.clear()
    _one_fork_at_a_time.release()  # in the child, too, the thread goes on that has taken it


if hasattr(os, "register_at_fork"):
    parent, child = partial(_after, in_child=False), partial(_after, in_child=True)
    os.register_at_fork(before=_before, after_in_parent=parent, after_in_child=child)
