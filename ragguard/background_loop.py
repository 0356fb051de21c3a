"""Event loops for asynchronous clients that are asked from synchronous code."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

from ragguard.fork import follow_forks


class BackgroundLoop:
    """One long-lived event loop in a thread of its own, made when it is first needed.

    An asynchronous client keeps connections that belong to the loop they were opened on, so a new
    loop for every call would break its second call. The loop's thread does not survive a fork, so
    the child makes one of its own. Whoever waits for a loop must not run on it: what may wait for
    each other, such as a model and the search that it calls, needs two.
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
