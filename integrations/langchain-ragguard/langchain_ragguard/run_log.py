"""What each run of a chain retrieved and answered."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import UUID

from langchain_core.documents import Document

__all__ = ["Run", "RunLog"]


@dataclass
class Run:
    """One outermost run.

    Attributes:
        query: The query of its first retrieval.
        response: Its answer, if that can be told from what it returned.
        returned: What it returned, in words.
        documents: What its outermost retrievers returned: what the generator saw.
        retrievals: The ids of its retriever runs.
        members: The ids of all its steps that were seen.
    """

    query: str | None = None
    response: str | None = None
    returned: str = "a run that has not ended"
    documents: list[Document] = field(default_factory=list)
    retrievals: set[UUID] = field(default_factory=set)
    members: set[UUID] = field(default_factory=set)


class RunLog:
    """The newest `max_runs` outermost runs; the caller holds a lock."""

    def __init__(self, max_runs: int) -> None:
        self._max_runs = max_runs
        self._runs: OrderedDict[UUID, Run] = OrderedDict()
        self._root_of: dict[UUID, UUID] = {}

    def find(self, root: UUID) -> Run | None:
        """Return the outermost run with that id, or None."""
        return self._runs.get(root)

    def enter(self, run_id: UUID, parent_run_id: UUID | None) -> Run:
        """Return the outermost run that a step belongs to."""
        root = self._root_of.get(run_id)
        if root is None:
            parent = run_id if parent_run_id is None else parent_run_id
            root = self._root_of.setdefault(parent, parent)
            self._root_of[run_id] = root
        run = self._runs.setdefault(root, Run())
        run.members |= {root, run_id}
        while len(self._runs) > self._max_runs:
            _, oldest = self._runs.popitem(last=False)
            for member in oldest.members:
                self._root_of.pop(member, None)
        return run
