"""The defences under test, behind one interface: a retrieved set in, what reaches the model out."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval import OVER_FETCH, RetrievedSet
from ragguard import Guard, Passage

PACKAGE = "ragdefender"
_TASKS: tuple[Literal["single_hop", "multi_hop"], ...] = ("single_hop", "multi_hop")


@dataclass(frozen=True)
class Outcome:
    """What a defence did with a set of which the generator gets k.

    Attributes:
        fired: It dropped, or wanted to drop, at least one passage.
        dropped: bool array of shape (min(k, n),): dropped from the first k.
        kept: Positions of the passages that reach the generator, at most k.
        marked: It kept a passage, and marked it as unusual.
    """

    fired: bool
    dropped: NDArray[np.bool_]
    kept: tuple[int, ...]
    marked: bool = False


class Defence(Protocol):
    """A defence. `bind` and `outcome` are apart so that a clock can run around the call alone."""

    @property
    def name(self) -> str:
        """Its row in the tables."""
        ...

    @property
    def over_fetch(self) -> int:
        """How many times k it is given."""
        ...

    def bind(self, retrieved: RetrievedSet, k: int) -> Callable[[], Any]:
        """Prepare the call on a set; `retrieved` has at most `over_fetch * k` passages."""
        ...

    def outcome(self, answer: Any, k: int) -> Outcome:
        """Read what the call answered."""
        ...


def _from_drops(drops: Sequence[bool], k: int) -> Outcome:
    kept = [position for position, drop in enumerate(drops) if not drop]
    return Outcome(any(drops), np.array(drops[:k], dtype=bool), tuple(kept[:k]))


class NoDefence:
    """Everything that was retrieved reaches the generator."""

    name = "none"
    over_fetch = 1

    def bind(self, retrieved: RetrievedSet, k: int) -> Callable[[], list[bool]]:
        """Prepare the call on a set."""
        drops = [False] * min(k, len(retrieved.texts))
        return lambda: drops

    def outcome(self, answer: list[bool], k: int) -> Outcome:
        """Read what the call answered."""
        return _from_drops(answer, k)


class GuardDefence:
    """A guard, given the passages with their embeddings.

    Args:
        name: Its row in the tables.
        guard: The guard.
        over_fetch: How many times k it is given.
    """

    def __init__(self, name: str, guard: Guard, over_fetch: int = 1) -> None:
        self.name = name
        self.over_fetch = over_fetch
        self._guard = guard

    def bind(self, retrieved: RetrievedSet, k: int) -> Callable[[], Any]:
        """Prepare the call on a set."""
        passages = [
            Passage(text, id=str(position), embedding=row)
            for position, (text, row) in enumerate(
                zip(retrieved.texts, retrieved.embeddings, strict=True)
            )
        ]
        return lambda: self._guard.filter(retrieved.question, passages, k=k)

    def outcome(self, answer: Any, k: int) -> Outcome:
        """Read what the call answered."""
        drops = [evidence.flagged for evidence in answer.evidence]
        found = _from_drops(drops, k)
        kept = tuple(int(passage.id) for passage in answer.kept)
        return Outcome(answer.attacked, found.dropped, kept, marked=bool(answer.marked))


class _GivenEmbeddings:
    """Stands in for the package's model: answers embeddings that were computed before."""

    def __init__(self) -> None:
        self.rows: Any = None

    def encode(self, texts: Sequence[str], convert_to_tensor: bool = True) -> Any:
        del texts, convert_to_tensor
        return self.rows


class PackageDefence:
    """The published `ragdefender` package on given embeddings, so only its own work is timed.

    Args:
        task: The package's task type.
    """

    over_fetch = 1

    def __init__(self, task: Literal["single_hop", "multi_hop"]) -> None:
        from ragdefender import RAGDefender  # type: ignore[import-untyped, unused-ignore]

        self.name = f"package {task}"
        self._task = task
        self._model = _GivenEmbeddings()
        self._defender = RAGDefender(embedder=self._model, device="cpu")

    def bind(self, retrieved: RetrievedSet, k: int) -> Callable[[], tuple[int, list[int]]]:
        """Prepare the call on a set."""
        import torch

        shown = retrieved.first(k)
        texts, rows = list(shown.texts), torch.from_numpy(np.ascontiguousarray(shown.embeddings))

        def call() -> tuple[int, list[int]]:
            self._model.rows = rows
            _, removed = self._defender.defend(
                shown.question, texts, task_type=self._task, return_indices=True
            )
            return len(texts), removed

        return call

    def outcome(self, answer: tuple[int, list[int]], k: int) -> Outcome:
        """Read what the call answered."""
        given, removed = answer
        gone = set(removed)
        return _from_drops([position in gone for position in range(given)], k)


def package_version() -> str | None:
    """Return the version of the published package, or None if it or its torch is missing."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec(PACKAGE) is None:
        return None
    return importlib.metadata.version(PACKAGE)


def all_defences(stack: ExitStack, *, package: bool = True) -> list[Defence]:
    """Return every defence that is installed.

    Args:
        stack: Closes the guards.
        package: False leaves the published package out even if it is installed.
    """

    def guard(made: Guard) -> Guard:
        return stack.enter_context(made)

    defences: list[Defence] = [
        NoDefence(),
        # However long a set takes: what is asked is what becomes of it, and how long that takes.
        GuardDefence("ragguard", guard(Guard(on_error="raise", max_ms=inf))),
        GuardDefence(
            f"ragguard {OVER_FETCH}x", guard(Guard(on_error="raise", max_ms=inf)), OVER_FETCH
        ),
        GuardDefence(
            "paper clustering", guard(Guard.ragdefender(strategy="clustering", on_error="raise"))
        ),
        GuardDefence(
            "paper concentration",
            guard(Guard.ragdefender(strategy="concentration", on_error="raise")),
        ),
    ]
    if package and package_version() is not None:
        defences += [PackageDefence(task) for task in _TASKS]
    return defences
