"""Which proxy is used when none is given."""

from __future__ import annotations

from ragguard.proxy.lexical import LexicalProxy
from ragguard.proxy.scores import Proxy

__all__ = ["default"]


def default() -> Proxy:
    """Return the best proxy that is installed."""
    return LexicalProxy()
