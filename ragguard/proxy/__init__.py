"""Small language models that score text under a context, and which of them is used by default."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ragguard.arguments import require_method
from ragguard.errors import ProxyError
from ragguard.proxy.base import MixedProxy, Proxy, Scores
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.lexical import LexicalProxy
from ragguard.proxy.manifest import MODELS, cache_folder, export_folder
from ragguard.proxy.onnx import OnnxProxy

__all__ = [
    "LexicalProxy",
    "MixedProxy",
    "OnnxGenerator",
    "OnnxProxy",
    "Proxy",
    "Scores",
    "as_proxy",
    "default",
    "default_folder",
    "require_proxy",
]

VARIABLE = "RAGGUARD_PROXY"
"""The environment variable that names the proxy: a model, the folder of an export, or "lexical"."""

LEXICAL = "lexical"

SHARE = 0.2
"""Weight of a model beside the lexical proxy, where nobody has named one."""

_MANIFEST = "manifest.json"


def as_proxy(proxy: Proxy | str | os.PathLike[str] | None) -> Proxy:
    """Return a proxy as it is, and what `default` makes of a name, a folder or None."""
    if proxy is None or isinstance(proxy, (str, os.PathLike)):
        return default(proxy)
    require_method("proxy", proxy, "score(contexts, query, response)")
    return proxy


def require_proxy(proxy: Proxy | str | os.PathLike[str]) -> None:
    """Check that `as_proxy` would find a proxy, without loading it.

    Raises:
        InvalidInputError: It is an object that scores nothing.
        ProxyError: There is no such export.
    """
    if not isinstance(proxy, (str, os.PathLike)):
        as_proxy(proxy)
    elif (folder := default_folder(proxy)) is not None:
        _manifest(folder)


def _manifest(folder: Path) -> Path:
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        raise ProxyError(
            f"{folder} holds no {_MANIFEST}; pass a folder that `ragguard proxy export` wrote, or "
            f"a name: {', '.join((*MODELS, LEXICAL))}"
        )
    return manifest


def default(folder: str | os.PathLike[str] | None = None) -> Proxy:
    """Return the proxy that is used when none is given.

    That is an `OnnxProxy` on the folder that is named, here or by the environment; a `MixedProxy`
    of `LexicalProxy` and this user's export of a model, if there is one; else `LexicalProxy`. A
    folder is loaded once and shared from then on, until its manifest changes.

    Args:
        folder: An exported proxy, a model's name ("smollm2") or "lexical", in place of what the
            environment names.

    Raises:
        MissingExtraError: A folder was named, but onnxruntime or tokenizers is not installed.
        ProxyError: The folder is damaged or missing: a proxy that was asked for is never replaced
            silently.
    """
    variable = os.environ.get(VARIABLE)
    try:
        found = default_folder(folder)
        if found is None:
            return LexicalProxy()
        model = _loaded(found, _manifest(found).stat().st_mtime_ns)
        return model if folder or variable else MixedProxy(LexicalProxy(), model, SHARE)
    except ProxyError as error:
        if folder or not variable:
            raise
        raise ProxyError(
            f"the environment variable {VARIABLE} names {variable}: {error}, or unset the variable"
        ) from error


def default_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder that `default` loads, or None if it takes `LexicalProxy` alone.

    In this order: the argument, the environment variable RAGGUARD_PROXY, and, if ONNX Runtime is
    installed, this user's export of a model (`ragguard proxy get`).

    Raises:
        ProxyError: A model was named that this user has not exported.
    """
    named = folder or os.environ.get(VARIABLE)
    if named == LEXICAL:
        return None
    if named:
        return export_folder(named)
    if all(find_spec(package) for package in ("onnxruntime", "tokenizers")):
        exports = map(cache_folder, MODELS)
        return next((folder for folder in exports if (folder / _MANIFEST).is_file()), None)
    return None


@lru_cache(maxsize=2)
def _loaded(folder: Path, changed: int) -> OnnxProxy:  # noqa: ARG001
    return OnnxProxy(folder)
