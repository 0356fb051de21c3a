"""Asynchronous sources, asked from the threads that attribution runs in."""

from __future__ import annotations

from typing import Any

from ragguard.background_loop import BackgroundLoop

__all__ = ["ask", "settled"]

_LOOP = BackgroundLoop("ragguard-knowledge-loop")


def settled(value: Any) -> Any:
    """Return `value`, or what it comes to if it can be awaited.

    All of a process's sources are awaited on one loop of its own: an asynchronous client keeps
    connections that belong to the loop they were opened on. A client that another loop uses as well
    will not do; give attribution one of its own.
    """
    return _LOOP.resolved(value)


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
