"""Defences of sections and single commands; their calls are apart, so that they can be timed."""

import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import inf
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.defences.ours import passages_of
from benchmarks.retrieval import OVER_FETCH, RetrievedSet
from ragguard import Guard, Verdict

PACKAGE = "ragdefender"
MULTI_HOP = frozenset({"hotpotqa"})  # datasets whose questions take two passages to answer
Task = Literal["single_hop", "multi_hop"]


@dataclass(frozen=True)
class Outcome:
    """What a defence did with a set of which the generator gets k."""

    fired: bool  # it dropped, or wanted to drop, at least one passage
    dropped: NDArray[np.bool_]  # of shape (min(k, n),): dropped from the first k
    kept: tuple[int, ...]  # positions of the passages that reach the generator, at most k
    marked: bool = False  # it kept a passage, and marked it as unusual


@dataclass(frozen=True)
class Defence:
    """A defence.

    `bind` prepares the call on a set, given k; a clock runs around the call alone.
    """

    name: str  # its row in the tables
    bind: Callable[[RetrievedSet, int], Callable[[], Any]]
    outcome: Callable[[Any, int], Outcome]  # reads what the call answered, given k
    over_fetch: int = 1  # how many times k passages the set has at most


def _from_drops(drops: Sequence[bool], k: int) -> Outcome:
    kept = [position for position, drop in enumerate(drops) if not drop]
    return Outcome(any(drops), np.array(drops[:k], dtype=bool), tuple(kept[:k]))


NONE = Defence("none", lambda found, k: lambda: [False] * min(k, len(found.texts)), _from_drops)
"""Everything that was retrieved reaches the generator."""


def guarded(name: str, guard: Guard, over_fetch: int = 1) -> Defence:
    """Return a guard as a defence; it is given the passages with their embeddings."""

    def bind(found: RetrievedSet, k: int) -> Callable[[], Verdict]:
        passages = passages_of(found)
        return lambda: guard.filter(found.question, passages, k=k)

    return Defence(name, bind, _of_verdict, over_fetch)


def _of_verdict(verdict: Verdict, k: int) -> Outcome:
    found = _from_drops([evidence.flagged for evidence in verdict.evidence], k)
    kept = tuple(int(passage.id) for passage in verdict.kept)
    return replace(found, fired=verdict.attacked, kept=kept, marked=bool(verdict.marked))


def packaged(task: Task) -> Defence:
    """Return the published package on given embeddings, so that only its own work is timed."""
    from ragdefender import RAGDefender  # type: ignore[import-untyped, unused-ignore]
    from torch import from_numpy

    model = SimpleNamespace(rows=None)
    model.encode = lambda *_, **__: model.rows  # computed before
    defender = RAGDefender(embedder=model, device="cpu")

    def bind(found: RetrievedSet, k: int) -> Callable[[], tuple[int, list[int]]]:
        shown = found.first(k)
        texts, rows = list(shown.texts), from_numpy(np.ascontiguousarray(shown.embeddings))

        def call() -> tuple[int, list[int]]:
            model.rows = rows
            _, removed = defender.defend(shown.question, texts, task_type=task, return_indices=True)
            return len(texts), removed

        return call

    def outcome(answer: tuple[int, list[int]], k: int) -> Outcome:
        given, removed = answer
        gone = set(removed)
        return _from_drops([position in gone for position in range(given)], k)

    return Defence(f"package {task}", bind, outcome)


def package_version() -> str | None:
    """Return the version of the published package, or None if it or its torch is missing."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec(PACKAGE) is None:
        return None
    return importlib.metadata.version(PACKAGE)


def all_defences(stack: ExitStack, *, package: bool = True) -> list[Defence]:
    """Return all defences, with the package if asked for and installed; guards end with `stack`."""
    # However long a set takes: what is asked is what becomes of it, and how long that takes.
    ours, over_fetched, *paper = map(
        stack.enter_context,
        (
            *(Guard(on_error="raise", max_ms=inf) for _ in range(2)),
            Guard.ragdefender(strategy="clustering", on_error="raise"),
            Guard.ragdefender(strategy="concentration", on_error="raise"),
        ),
    )
    defences = [
        NONE,
        guarded("ragguard", ours),
        guarded(f"ragguard {OVER_FETCH}x", over_fetched, OVER_FETCH),
        guarded("paper clustering", paper[0]),
        guarded("paper concentration", paper[1]),
    ]
    if package and package_version() is not None:
        defences += [packaged("single_hop"), packaged("multi_hop")]
    return defences
