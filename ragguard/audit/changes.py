"""Tells those who follow a quarantine, in this process, that it was changed in this process."""

from __future__ import annotations

import threading
import weakref
from typing import Protocol

from ragguard.fork import follow_forks

__all__ = ["Follower", "announce", "follow"]


class Follower(Protocol):
    """Follows the quarantine of one store."""

    @property
    def place(self) -> str:
        """Where the store is, as its `place` says it."""

    def reload(self) -> None:
        """Look at the quarantine now; never raises."""


class _Followers:
    def __init__(self) -> None:
        self._followers: weakref.WeakSet[Follower] = weakref.WeakSet()
        self._lock = threading.Lock()
        follow_forks(self)

    def add(self, follower: Follower) -> None:
        with self._lock:
            self._followers.add(follower)

    def of(self, place: str) -> list[Follower]:
        with self._lock:
            return [follower for follower in self._followers if follower.place == place]

    def _before_fork(self) -> None:
        self._lock.acquire()

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._lock = threading.Lock()
        else:
            self._lock.release()


_followers = _Followers()


def follow(follower: Follower) -> None:
    """Have `follower.reload` called after every change at its place, for as long as it lives."""
    _followers.add(follower)


def announce(place: str) -> None:
    """Say that the quarantine at `place` has changed, and return when all followers know it."""
    for follower in _followers.of(place):
        follower.reload()
