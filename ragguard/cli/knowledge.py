"""The knowledge base that `--knowledge-base` names, where passages can be taken out of it."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from inspect import iscoroutine
from pathlib import Path

from ragguard.errors import InvalidInputError
from ragguard.knowledge.json_lines import JsonLinesFile
from ragguard.repair import Removable, as_removable

_NAME = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


def opened_knowledge(given: str) -> Removable:
    """Return a file of passages, or what MODULE:NAME is, which may be a function that returns it.

    Modules are looked for in the current folder as well.

    Raises:
        InvalidInputError: There is no such file or name, it fails, or it is no knowledge base.
    """
    if Path(given).exists() or not _NAME.fullmatch(given):
        file = JsonLinesFile(given)
        file.find([""])  # a bad line is better told now than when somebody decides
        return file
    module, _, name = given.partition(":")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as Python itself does it
    try:
        found = getattr(import_module(module), name)
        source = found() if callable(found) else found
        if iscoroutine(source):
            source.close()  # nobody waits for it
            raise TypeError("it is a coroutine function")
    except (Exception, SystemExit) as error:
        raise InvalidInputError(
            f"--knowledge-base {given} failed: {type(error).__name__}: {error}; pass a file, or "
            "MODULE:NAME of a vector store or of a function that returns one"
        ) from error
    return as_removable(source)
