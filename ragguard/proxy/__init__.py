"""Small language models that score text under a context, and which of them is used by default."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragguard.errors import ProxyError
from ragguard.proxy.base import Proxy, Scores
from ragguard.proxy.lexical import LexicalProxy

if TYPE_CHECKING:
    from ragguard.proxy.onnx import OnnxProxy

__all__ = ["LexicalProxy", "OnnxProxy", "Proxy", "Scores", "default"]

VARIABLE = "RAGGUARD_PROXY"
"""The environment variable that names the folder of an exported proxy."""

_MANIFEST = "manifest.json"
_BUNDLED = Path(__file__).parent / "model"


def default(folder: str | os.PathLike[str] | None = None) -> Proxy:
    """Return the proxy that is used when none is given.

    That is an `OnnxProxy` on `default_folder`, if there is one, else `LexicalProxy`. A folder is
    loaded once and shared from then on, until its manifest changes.

    Args:
        folder: An exported proxy, in place of the one that the environment names.

    Raises:
        MissingExtraError: A folder was named, but onnxruntime or tokenizers is not installed.
        ProxyError: The folder is damaged: a proxy that was asked for is never replaced silently.
    """
    found = default_folder(folder)
    if found is None:
        return LexicalProxy()
    manifest = found / _MANIFEST
    try:
        return _loaded(found, manifest.stat().st_mtime_ns if manifest.is_file() else 0)
    except ProxyError as error:
        if folder or not os.environ.get(VARIABLE):
            raise
        raise ProxyError(
            f"the environment variable {VARIABLE} names {found}: {error}, or unset the variable"
        ) from error


def default_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder that `default` loads, or None if it returns `LexicalProxy`.

    In this order: the argument, the environment variable RAGGUARD_PROXY, and a proxy among the
    package's own data, if ONNX Runtime is installed.
    """
    named = folder or os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    ready = all(find_spec(package) for package in ("onnxruntime", "tokenizers"))
    return _BUNDLED if ready and (_BUNDLED / _MANIFEST).is_file() else None


@lru_cache(maxsize=2)
def _loaded(folder: Path, changed: int) -> OnnxProxy:  # noqa: ARG001
    from ragguard.proxy.onnx import OnnxProxy

    return OnnxProxy(folder)


def __getattr__(name: str) -> Any:
    # What belongs to an extra is loaded when it is first asked for.
    if name == "OnnxProxy":
        from ragguard.proxy.onnx import OnnxProxy

        return OnnxProxy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
