"""Asynchronous sources, asked from the threads that attribution runs in."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable
from typing import Any

__all__ = ["ask", "settled"]

_loop: tuple[int, asyncio.AbstractEventLoop] | None = None
_lock = threading.Lock()


def settled(value: Any) -> Any:
    """Return `value`, or what it comes to if it can be awaited.

    All of a process's sources are awaited on one loop of its own: an asynchronous client keeps
    connections that belong to the loop they were opened on. A client that another loop uses as well
    will not do; give attribution one of its own.
    """
    if not inspect.isawaitable(value):
        return value
    return asyncio.run_coroutine_threadsafe(_awaited(value), _running_loop()).result()


def ask(source: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a method of a framework's object, or its asynchronous twin where it has that alone.

    Raises:
        NotImplementedError: It has neither.
    """
    for name in (method, f"a{method}"):
        function = getattr(source, name, None)
        if callable(function):
            try:
                return settled(function(*args, **options))
            except NotImplementedError:
                continue
    raise NotImplementedError(f"{type(source).__name__} has no {method} and no a{method}")


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        # The loop's thread does not survive a fork, hence one loop per process.
        if _loop is None or _loop[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(
                target=loop.run_forever, name="ragguard-knowledge-loop", daemon=True
            ).start()
            _loop = (os.getpid(), loop)
        return _loop[1]
