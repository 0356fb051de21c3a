"""The answer is found in whatever a chain or an agent returns."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import QUERY, Reports, run
from ragguard.errors import InvalidInputError

from langchain_ragguard import RAGGuardFeedback, RAGGuardRetriever
from langchain_ragguard.run_log import answer_in

SAID = "In 1790."
BLOCKS = [
    {"type": "reasoning", "reasoning": "The text says so."},
    {"type": "text", "text": "In "},
    "1790.",
    {"type": "tool_use", "name": "search", "input": {}},
]
AGENT = [
    HumanMessage(QUERY),
    AIMessage("Let me look."),
    AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1"}]),
    ToolMessage("Some passage.", tool_call_id="1"),
    AIMessage(SAID),
]
ANSWERS = {
    "text": SAID,
    "message": AIMessage(SAID),
    "chunk": AIMessageChunk(content=SAID),
    "blocks": AIMessage(BLOCKS),
    "answer": {"context": [Document(page_content="x")], "input": QUERY, "answer": SAID},
    "answer message": {"context": [], "answer": AIMessage(SAID)},
    "output": {"input": QUERY, "output": SAID},
    "result": {"query": QUERY, "result": SAID, "source_documents": []},
    "response": {"question": QUERY, "response": SAID},
    "generation": {"question": QUERY, "generation": SAID},
    "agent": {"messages": AGENT},
    "agent that searched last": {"messages": [*AGENT, HumanMessage("And?"), AIMessage("")]},
    "structured": {"messages": AGENT, "structured_response": object()},
    "messages": AGENT,
}
UNTOLD = {
    "number": 1790,
    "none": None,
    "nothing said": AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1"}]),
    "empty": {},
    "other keys": {"context": SAID, "question": QUERY},
    "answer is a number": {"answer": 1790},
    "no model spoke": {"messages": [HumanMessage(QUERY)]},
    "documents": [Document(page_content=SAID)],
}


@pytest.mark.parametrize("returned", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is_found(returned: Any) -> None:
    assert answer_in(returned) == SAID


@pytest.mark.parametrize("returned", UNTOLD.values(), ids=UNTOLD)
def test_what_is_no_answer_is_not_taken_for_one(returned: Any) -> None:
    assert answer_in(returned) is None


def ran(returned: Any, store: InMemoryVectorStore, guard: Reports) -> tuple[Any, Any]:
    retriever = RAGGuardRetriever(base=store.as_retriever(), guard=guard, k=3)
    feedback = RAGGuardFeedback(guard)
    return feedback, run(retriever | (lambda found: returned), feedback)


@pytest.mark.parametrize("name", ["answer", "agent", "blocks"])
def test_a_thumbs_down_reports_it(name: str, store: InMemoryVectorStore) -> None:
    guard = Reports()
    feedback, run_id = ran(ANSWERS[name], store, guard)
    assert feedback.report(run_id) == "event-1"
    ((query, response, passages, _),) = guard.received
    assert (query, response, len(passages)) == (QUERY, SAID, 3)


@pytest.mark.parametrize(
    ("name", "told"),
    [("other keys", "a dict with 'context', 'question'"), ("number", "an object of type int")],
)
def test_an_answer_that_cannot_be_told_is_asked_for(
    name: str, told: str, store: InMemoryVectorStore
) -> None:
    guard = Reports()
    feedback, run_id = ran(UNTOLD[name], store, guard)
    with pytest.raises(InvalidInputError, match=f"from {told}; pass what the user read as resp"):
        feedback.report(run_id)
    feedback.report(run_id, SAID)
    ((query, response, passages, _),) = guard.received
    assert (query, response, len(passages)) == (QUERY, SAID, 3)
