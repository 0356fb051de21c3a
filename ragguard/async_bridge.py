"""Between synchronous and asynchronous code: an event loop, and threads, of one's own.

Neither survives a fork, so the child begins with others.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from ragguard.errors import StoreError
from ragguard.fork import follow_forks

_THREADS = 4
_MOST_WAITING = 10_000  # with their texts, while the store hangs


class BackgroundLoop:
    """One long-lived event loop, for asynchronous clients that are asked from synchronous code.

    An asynchronous client keeps connections that belong to the loop they were opened on, so a new
    loop for every call would break its second call. Whoever waits for a loop must not run on it:
    what may wait for each other, such as a model and the search that it calls, needs two.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin()
        follow_forks(self)

    def _begin(self) -> None:
        self._running: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def resolved(self, value: Any) -> Any:
        """Return `value`, or what it comes to on this loop if it can be awaited."""
        if not inspect.isawaitable(value):
            return value

        async def awaited() -> Any:
            return await value

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop()).result()

    def _loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._running is None:
                loop = asyncio.new_event_loop()
                threading.Thread(target=loop.run_forever, name=self._name, daemon=True).start()
                self._running = loop
            return self._running

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._begin()


class StoreThreads:
    """A few threads for coroutines that ask a store: one that hangs takes none of asyncio's."""

    def __init__(self) -> None:
        self._begin()
        follow_forks(self)

    def _begin(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "ragguard-answered")

    @property
    def threads(self) -> list[threading.Thread]:
        """What runs for it."""
        return list(self._pool._threads)

    async def run(self, work: Callable[..., object], *args: Any, **options: Any) -> None:
        """Do some work in one of the threads, as `asyncio.to_thread` does in those of asyncio.

        Raises `StoreError` where too much waits for them already.
        """
        if self._pool._work_queue.qsize() >= _MOST_WAITING:
            raise StoreError(
                f"{_MOST_WAITING:,} answers wait for the audit store, and this one is left out; "
                "the store hangs or is too slow: `ragguard info --store` asks it"
            )
        work = partial(copy_context().run, work, *args, **options)
        await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self, timeout: float) -> None:
        """Finish what was begun, for so many seconds at most; later work gets new threads."""
        pool, end = self._pool, time.monotonic() + timeout
        self._begin()
        pool.shutdown(wait=False)
        for thread in list(pool._threads):
            thread.join(max(0.0, end - time.monotonic()))

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._begin()
