"""Caches for what is read again and again: the least recently used go first, by bytes."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress
from typing import Any, Generic, TypeVar

from ragguard.fork import follow_forks

_LEAST_ENTRIES = 256
_FEW = 64

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRU(Generic[K, V]):
    """A mapping that holds at most so many bytes. Safe to share between threads and over forks.

    Args:
        max_bytes: Of all entries together; an entry that is larger by itself is not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._most = max_bytes // _LEAST_ENTRIES  # of what is worked out
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()  # with what it weighs
        self._bytes = 0
        self._lock = threading.Lock()
        follow_forks(self)

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        try:  # noqa: SIM105 - `suppress` would cost more than all the rest
            self._entries.move_to_end(key)
        except KeyError:  # another thread has just let it go
            pass
        return entry[0]

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def held(self) -> list[K]:
        """Return the keys that are held now."""
        with self._lock:
            return list(self._entries)

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of about `size` bytes, key included, as `put_all` does."""
        self.put_all([(key, value, size)])

    def put_all(self, entries: Iterable[tuple[K, V, int]]) -> None:
        """Keep values, each with its bytes, and let go of the least recently used until all fit."""
        with self._lock:
            for key, value, size in entries:
                old = self._entries.pop(key, None)
                if old is not None:
                    self._count(key, -old[1])
                if size > self._max_bytes:
                    continue
                self._entries[key] = value, size
                self._count(key, size)
            if self._bytes > self._max_bytes:
                self._let_go()

    def _let_go(self) -> None:
        while self._bytes > self._max_bytes:
            key, (_, gone) = self._entries.popitem(last=False)
            self._count(key, -gone)

    def _count(self, key: K, size: int) -> None:  # noqa: ARG002 - `FairLRU` asks whose it is
        self._bytes += size

    def answers(
        self,
        keys: Sequence[K],
        work_out: Callable[[Sequence[K]], Sequence[V]],
        weigh: Callable[[K, V], int],
    ) -> list[V]:
        """Return the values of keys; those that are not here are worked out together, and kept.

        `weigh` returns the bytes of an entry, key included. One of more than a 256th of all is not
        kept, so that a few large ones do not push out all others.
        """
        held = list(map(self._entries.get, keys))
        move_to_end = self._entries.move_to_end
        for key in compress(keys, held):
            try:  # noqa: SIM105 - this runs ten times a query
                move_to_end(key)
            except KeyError:
                pass
        if all(held):
            return [entry[0] for entry in held if entry]
        new = [key for key, entry in zip(keys, held, strict=True) if entry is None]
        found = work_out(new)
        sizes = list(map(weigh, new, found))
        kept = [size <= self._most for size in sizes]
        self.put_all(compress(zip(new, found, sizes, strict=True), kept))
        fresh = iter(found)
        return [next(fresh) if entry is None else entry[0] for entry in held]

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._entries.clear()
            self._recount()

    def _recount(self) -> None:
        self._bytes = sum(size for _, size in self._entries.values())

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._lock = threading.Lock()
            self._recount()  # another thread may have been in the middle of a change


class FairLRU(LRU[tuple[str, K], V]):
    """An `LRU` of several owners, whom the first part of a key names: none pushes out another.

    Whoever holds more than all may, if all are to fit, loses the least recently used of it
    (max-min fairness, Bertsekas and Gallager 1992). To find out takes a look at every owner, so a
    sixteenth goes at a time; of a single owner, and of few entries, only what must.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._held: dict[str, int] = {}  # bytes

    def holds_of(self, owner: str) -> bool:
        """Return whether anything of an owner is held."""
        return owner in self._held

    def _let_go(self) -> None:
        if len(self._held) < 2:
            super()._let_go()
            return
        low = self._max_bytes * (15 if len(self._entries) > _FEW else 16) // 16
        share = fair_share(sorted(self._held.values()), low)
        for key in list(self._entries):
            if self._bytes <= low:
                break
            if self._held.get(key[0], 0) > share:
                self._count(key, -self._entries.pop(key)[1])

    def _count(self, key: tuple[str, K], size: int) -> None:
        self._bytes += size
        self._held[key[0]] = self._held.get(key[0], 0) + size
        if not self._held[key[0]]:
            del self._held[key[0]]

    def _recount(self) -> None:
        self._bytes, self._held = 0, {}
        for key, (_, size) in self._entries.items():
            self._count(key, size)


def fair_share(held: Sequence[int], most: float) -> float:
    """Return what each may hold at most if all together are to hold so much.

    >>> fair_share([1, 2, 30, 40], 23)
    10.0
    """
    for number, one in enumerate(held):
        if one * (len(held) - number) > most:
            return most / (len(held) - number)
        most -= one
    return float("inf")


class Remembered(LRU[K, V]):
    """A function of several arguments at once that remembers its answers, as `LRU.answers` does."""

    def __init__(
        self,
        work_out: Callable[[Sequence[K]], Sequence[V]],
        *,
        max_bytes: int,
        weigh: Callable[[K, V], int],
    ) -> None:
        super().__init__(max_bytes)
        self._work_out = work_out
        self._weigh = weigh
        _remembering.add(self)

    def __call__(self, keys: Sequence[K]) -> list[V]:
        """Return what the function returns."""
        return self.answers(keys, self._work_out, self._weigh)


_remembering: weakref.WeakSet[Remembered[Any, Any]] = weakref.WeakSet()
_forgetting: list[Callable[[], None]] = []


def on_forget(clear: Callable[[], None]) -> None:
    """Have `forget_all` call the function that clears a cache of another kind."""
    _forgetting.append(clear)


def forget_all() -> None:
    """Forget everything that is remembered of texts; a benchmark of first readings needs it."""
    for clear in (*_forgetting, *[one.clear for one in _remembering]):
        clear()
