"""The child process of `Apart`: `python -m ragguard.attribution.child MODULE:NAME`.

It reads pickled requests from its standard input and writes pickled answers, and ends with its
parent, whose death closes that input. Both ends are this package; texts of strangers are data.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from typing import Any, BinaryIO

from ragguard.attribution.result import Attributor
from ragguard.passage import Passage

__all__ = ["main"]

_NICE = 5  # what serves queries goes first


def main() -> None:
    """Attribute what comes in until nothing more does."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints must not get in between
    if hasattr(os, "nice"):
        os.nice(_NICE)
    module, _, name = sys.argv[1].partition(":")
    attributor: Attributor = getattr(importlib.import_module(module), name)()
    while True:
        try:
            query, response = pickle.load(requests)  # noqa: S301 - from the parent
        except EOFError:
            return
        _send(answers, _answer(attributor, query, response, requests, answers))


def _answer(
    attributor: Attributor, query: str, response: str, requests: BinaryIO, answers: BinaryIO
) -> tuple[str, Any]:
    def retrieve(query: str, limit: int) -> list[Passage]:
        _send(answers, ("retrieve", (query, limit)))
        found = pickle.load(requests)  # noqa: S301 - from the parent
        if found is None:
            raise _Stopped
        passages: list[Passage] = found
        return passages

    try:
        return "done", attributor.attribute(query, response, retrieve)
    except _Stopped:
        return "stopped", None
    except Exception as error:  # told to the parent, where it counts as a failed attempt
        return "failed", (type(error).__name__, str(error))


def _send(answers: BinaryIO, message: tuple[str, Any]) -> None:
    pickle.dump(message, answers)
    answers.flush()


class _Stopped(Exception):  # noqa: N818 - no error: the parent's retriever has raised one
    pass


if __name__ == "__main__":
    main()
