"""Threads for coroutines that wait for the store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from ragguard.background.threads import Deadline
from ragguard.fork import follow_forks

_THREADS = 4


class StoreThreads:
    """A few threads of its own, so that a store that hangs takes none of asyncio's from queries.

    The threads do not survive a fork, so the child starts its own.
    """

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
        """Do some work in one of the threads, as `asyncio.to_thread` does in those of asyncio."""
        work = partial(copy_context().run, work, *args, **options)
        await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self, timeout: float | None) -> None:
        """Finish what was begun, for so many seconds at most; later work gets new threads."""
        pool, deadline = self._pool, Deadline(timeout)
        self._begin()
        pool.shutdown(wait=False)
        for thread in list(pool._threads):
            thread.join(deadline.left())

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._begin()
