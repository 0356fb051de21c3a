"""Attributes in a process of its own, so that queries do not share the interpreter with it.

The child is `python -m ragguard.attribution.child_process MODULE:NAME`. It reads pickled requests
from its standard input and writes pickled answers, and ends with its parent, whose death closes
that input. Texts of strangers are data.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ragguard.arguments import require_positive
from ragguard.attribution.result import Attribution, Attributor, Retrieve
from ragguard.attribution.search import search_of
from ragguard.errors import InvalidInputError, RagguardError, RetrievalError
from ragguard.fork import follow_forks
from ragguard.passage import Passage

_Child = subprocess.Popen[bytes]
_LAST_WORDS_S = 1.0  # from the last answer of a child to its own end


class Apart(Attributor):
    """An attributor whose work is done by a child process; searching stays in this one.

    Python runs one thread at a time, so an attribution in a thread makes queries wait for it. The
    child costs the memory of another interpreter and has a lower priority. It is started with the
    first attribution and again after it has ended, so that a text that kills it does not kill the
    service. Vectors of passages stay here, since the child may embed with another model; so do
    metadata, and the attribution holds the very passages that `retrieve` returned.

    Safe to share between threads and across forks; one attribution runs at a time.

    Args:
        make: "module:name" of what makes the attributor in the child, called without arguments.
        timeout_s: Seconds after which an attribution that has not ended is cut off.

    Raises:
        InvalidInputError: `make` is not of that form, or `timeout_s` no positive number
            of at most a million.
    """

    def __init__(
        self, make: str = "ragguard.attribution:RAGOrigin", *, timeout_s: float = 300.0
    ) -> None:
        if not isinstance(make, str) or not all(make.partition(":")):
            raise InvalidInputError(f"make must be 'module:name', not {make!r}")
        require_positive(timeout_s=timeout_s)
        self._make = make
        self._timeout_s = timeout_s
        self._child: _Child | None = None
        self._lock = threading.Lock()
        follow_forks(self)

    def attribute(self, query: str, response: str, retrieve: Retrieve) -> Attribution:
        """Return the attribution of a response, as `Attributor.attribute`.

        Raises:
            InvalidInputError: As `Attributor.attribute`.
            RagguardError: The search or the attributor failed, or the child ended or was cut off.
        """
        search = search_of(query, response, retrieve)
        with self._lock:
            child = self._running()
            cut = threading.Timer(self._timeout_s, child.kill)
            cut.daemon = True
            cut.start()
            try:
                found = _converse(child, query, response, search)
            except (EOFError, OSError, pickle.UnpicklingError) as error:
                raise RagguardError(
                    f"the process that attributes has ended with {_end_of(child)}, after "
                    f"{self._timeout_s:g} s at most; the next attribution starts another one"
                ) from error
            except BaseException:  # such as Ctrl-C: what is on its way would be taken for another's
                child.kill()
                raise
            finally:
                cut.cancel()
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """End the child; another attribution would start a new one."""
        with self._lock:
            if self._child is not None:
                _end(self._child, os.getpid())
                self._child = None

    def _running(self) -> _Child:
        if self._child is None or self._child.poll() is not None:
            path = os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)
            self._child = subprocess.Popen(  # noqa: S603 - this interpreter and this package
                [sys.executable, "-m", "ragguard.attribution.child_process", self._make],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )
            weakref.finalize(self, _end, self._child, os.getpid())
        return self._child

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._lock = threading.Lock()
            self._child = None


def _converse(
    child: _Child, query: str, response: str, search: Retrieve
) -> Attribution | Exception:
    """Return what the child found, or what failed: there, or in the search here."""
    given: dict[tuple[str, str], Passage] = {}
    # As plain strings: the child may not know the class of another kind.
    _send(child.stdin, (str.__str__(query), str.__str__(response)))
    while True:
        kind, content = _received(child.stdout)
        if kind == "done":
            return _with_passages(content, given)
        if kind == "failed":
            name, message = content
            hopeless = name == InvalidInputError.__name__
            return (InvalidInputError if hopeless else RagguardError)(f"{name}: {message}")
        try:
            found = list(search(*content))
        except Exception as error:
            _send(child.stdin, None)
            _received(child.stdout)  # says that it has stopped
            return error
        given |= {(passage.id, passage.text): passage for passage in found}
        # Without metadata, which may hold what cannot travel, and without vectors: the child embeds
        # with whatever embedder its attributor has.
        _send(child.stdin, [Passage(p.text, id=p.id, score=p.score) for p in found])


def _send(pipe: IO[bytes] | None, message: object) -> None:
    assert pipe is not None  # it was asked for
    pickle.dump(message, pipe)
    pipe.flush()


def _received(pipe: IO[bytes] | None) -> Any:
    assert pipe is not None
    return pickle.load(pipe)  # noqa: S301 - our own child's, or our parent's


def _with_passages(
    attribution: Attribution, given: Mapping[tuple[str, str], Passage]
) -> Attribution:
    """Return the attribution with the passages that the caller's retriever gave."""

    def own(passage: Passage) -> Passage:
        return given.get((passage.id, passage.text), passage)

    return replace(
        attribution,
        responsible=[own(passage) for passage in attribution.responsible],
        scores=[replace(score, passage=own(score.passage)) for score in attribution.scores],
    )


def _end_of(child: _Child) -> int:
    """Return what the child, which answers no more, ends with: by itself, or else it is killed."""
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_LAST_WORDS_S)
    finally:  # after Ctrl-C, too: what is on its way would be taken for another's
        child.kill()
    return child.wait()


def _end(child: _Child, parent: int) -> None:
    if os.getpid() == parent:  # and not in a fork, whose memory is a copy of the parent's
        with contextlib.suppress(OSError), child:  # what closes its pipes, and waits
            child.kill()


_NICE = 5  # what serves queries goes first


def _serve(make: str) -> None:
    """Attribute, in the child, what comes in from the parent until nothing more does."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints must not get in between
    if hasattr(os, "nice"):
        os.nice(_NICE)

    def retrieve(query: str, limit: int) -> list[Passage]:
        _send(answers, ("retrieve", (query, limit)))
        found: list[Passage] | None = _received(requests)
        if found is None:
            raise RetrievalError("the search of the parent failed, which knows why")
        return found

    module, _, name = make.partition(":")
    attributor: Attributor | None = None
    while True:
        try:
            query, response = _received(requests)
        except EOFError:
            return
        answer: tuple[str, Any]
        try:
            if attributor is None:
                attributor = getattr(importlib.import_module(module), name)()
            answer = "done", attributor.attribute(query, response, retrieve)
        except Exception as error:  # told to the parent, where it counts as a failed attempt
            answer = "failed", (type(error).__name__, str(error))
        _send(answers, answer)


if __name__ == "__main__":
    _serve(sys.argv[1])
