"""What each run of a chain retrieved and answered."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from langchain_core.messages import AIMessage, BaseMessage
from ragguard import Passage
from ragguard.attribution.model_calls import read_answer
from ragguard.lru import FairLRU
from ragguard.recent_passages import passages_bytes

_KEYS = ("answer", "output", "result", "response", "generation", "text", "messages")
_MOST_BYTES = 64_000_000  # of all runs together
_MOST_STEPS, _STEP_BYTES = 1_000, 500


@dataclass(eq=False)
class Run:
    """One outermost run.

    Attributes:
        key: Whose it is, and its id.
        query: The query of its first retrieval.
        response: Its answer, if that can be told from what it returned.
        returned: What it returned, in words.
        passages: What its outermost retrievers returned first: what the generator saw.
        steps: The ids of its newest steps, and whether they retrieve.
    """

    key: tuple[str, UUID]
    query: str | None = None
    response: str | None = None
    returned: str = "a run that has not ended"
    passages: list[Passage] = field(default_factory=list)
    steps: dict[UUID, bool] = field(default_factory=dict)

    def bytes(self) -> int:
        """Return about what it takes in memory."""
        texts = sum(map(sys.getsizeof, (self.query, self.response, self.returned, self.key[0])))
        return 1_000 + texts + _STEP_BYTES * len(self.steps) + passages_bytes(self.passages)


class RunLog:
    """The newest outermost runs, whoever has most losing the oldest; the caller holds a lock."""

    def __init__(self, max_runs: int) -> None:
        self._least = _MOST_BYTES // max_runs  # what a run weighs, so that no more of them fit
        self._runs: FairLRU[UUID, Run] = FairLRU(_MOST_BYTES)
        self._run_of: WeakValueDictionary[UUID, Run] = WeakValueDictionary()  # of each step

    def find(self, root: UUID) -> Run | None:
        """Return the outermost run with that id, or None."""
        run = self._run_of.get(root)
        return run if run is not None and run.key[1] == root else None

    @contextmanager
    def step(
        self, run_id: UUID, parent_run_id: UUID | None, metadata: Mapping[str, Any] | None = None
    ) -> Iterator[Run]:
        """Yield the outermost run that a step belongs to, and keep what it has become."""
        parent = run_id if parent_run_id is None else parent_run_id
        run = self._run_of.get(run_id) or self._run_of.get(parent)
        run = run or Run((_owner(metadata or {}), parent))
        for step in (run.key[1], parent, run_id):
            self._run_of[step] = run
            run.steps[step] = run.steps.pop(step, False)  # the newest stand last
        while len(run.steps) > _MOST_STEPS:
            oldest = next(iter(run.steps))
            del run.steps[oldest], self._run_of[oldest]
        yield run
        self._runs.put(run.key, run, max(self._least, run.bytes()))


def _owner(metadata: Mapping[str, Any]) -> str:
    """Return whose run it is, as far as the application says."""
    return "\n".join(str(metadata.get(name, ""))[:200] for name in ("tenant", "user_id"))


def answer_in(returned: Any) -> str | None:
    """Return the text that a user read, or None if it cannot be told.

    Known are a text, a message, an object with one of the usual keys ("answer", "output",
    "result", "response", "generation", "text"), and messages, of which the last one by the model
    with any text counts: what agents return under "messages".
    """
    if isinstance(returned, (str, BaseMessage)):
        return read_answer(returned)[0] or None
    if isinstance(returned, Mapping):
        found = (answer_in(returned[key]) for key in _KEYS if key in returned)
        return next((text for text in found if text is not None), None)
    if isinstance(returned, (list, tuple)):
        texts = (answer_in(item) for item in reversed(returned) if isinstance(item, AIMessage))
        return next(filter(None, texts), None)
    return None


def kind_of(returned: Any) -> str:
    """Return in words what a chain returned, for an error."""
    if isinstance(returned, Mapping):
        return f"a dict with {', '.join(map(repr, returned)) or 'no keys':.500}"
    return f"an object of type {type(returned).__name__}"
