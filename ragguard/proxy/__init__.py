"""Small language models that score text under a context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragguard.proxy.base import Proxy, Scores
from ragguard.proxy.default import default
from ragguard.proxy.lexical import LexicalProxy

if TYPE_CHECKING:
    from ragguard.proxy.onnx import OnnxProxy

__all__ = ["LexicalProxy", "OnnxProxy", "Proxy", "Scores", "default"]


def __getattr__(name: str) -> Any:
    # What belongs to an extra is loaded when it is first asked for.
    if name == "OnnxProxy":
        from ragguard.proxy.onnx import OnnxProxy

        return OnnxProxy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
