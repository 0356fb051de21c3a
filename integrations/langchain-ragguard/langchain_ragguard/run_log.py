"""What each run of a chain retrieved and answered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage

__all__ = ["Run", "RunLog", "answer_in", "kind_of"]

_KEYS = ("answer", "output", "result", "response", "generation", "text", "messages")


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


def answer_in(returned: Any) -> str | None:
    """Return the text that a user read, or None if it cannot be told.

    Known are a text, a message, an object with one of the usual keys ("answer", "output",
    "result", "response", "generation", "text"), and messages, of which the last one by the model
    with any text counts: what agents return under "messages".
    """
    if isinstance(returned, str):
        return returned or None
    if isinstance(returned, BaseMessage):
        return _text_of(returned) or None
    if isinstance(returned, Mapping):
        found = (answer_in(returned[key]) for key in _KEYS if key in returned)
        return next((text for text in found if text is not None), None)
    if isinstance(returned, (list, tuple)):
        texts = (_text_of(item) for item in reversed(returned) if isinstance(item, AIMessage))
        return next((text for text in texts if text), None)
    return None


def kind_of(returned: Any) -> str:
    """Return in words what a chain returned, for an error."""
    if isinstance(returned, Mapping):
        return f"a dict with {', '.join(map(repr, returned)) or 'no keys'}"
    return f"an object of type {type(returned).__name__}"


def _text_of(message: BaseMessage) -> str:
    """Return a message's text; of content in blocks, that of its text blocks."""
    if isinstance(message.content, str):
        return message.content
    blocks = [{"text": block} if isinstance(block, str) else block for block in message.content]
    return "".join(
        block["text"]
        for block in blocks
        if block.get("type", "text") == "text" and isinstance(block.get("text"), str)
    )
