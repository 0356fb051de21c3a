"""One long-lived event loop for asynchronous clients that are asked from synchronous code."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_in_background"]

_T = TypeVar("_T")

_background: tuple[int, asyncio.AbstractEventLoop] | None = None
_background_lock = threading.Lock()


def run_in_background(work: Coroutine[Any, Any, _T]) -> _T:
    """Run `work` to its end on one long-lived loop and return its result.

    An asynchronous client keeps connections that belong to the loop they were opened on, so a new
    loop for every call would break its second call. The loop's thread does not survive a fork,
    hence one loop per process.
    """
    global _background
    with _background_lock:
        if _background is None or _background[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(
                target=loop.run_forever, name="ragguard-model-loop", daemon=True
            ).start()
            _background = (os.getpid(), loop)
        loop = _background[1]
    return asyncio.run_coroutine_threadsafe(work, loop).result()
