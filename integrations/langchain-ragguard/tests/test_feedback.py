from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import QUERY, Reports, WordEmbeddings, run, texts
from ragguard import Guard
from ragguard.audit.memory import MemoryStore
from ragguard.errors import InvalidInputError

from langchain_ragguard import RAGGuardFeedback, RAGGuardRetriever


@pytest.fixture
def guard() -> Reports:
    return Reports()


@pytest.fixture
def retriever(store: InMemoryVectorStore, guard: Reports) -> RAGGuardRetriever:
    return RAGGuardRetriever(base=store.as_retriever(), guard=guard, k=3)


@pytest.fixture
def chain(retriever: RAGGuardRetriever) -> Runnable[str, str]:
    return (
        {
            "context": retriever | (lambda found: "\n".join(texts(found))),
            "question": RunnablePassthrough(),
        }
        | ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
        | FakeListChatModel(responses=["In 1790."])
        | StrOutputParser()
    )


async def test_a_thumbs_down_reports_what_the_run_saw(
    chain: Runnable[str, str], retriever: RAGGuardRetriever, guard: Reports
) -> None:
    feedback = RAGGuardFeedback(guard)
    seen = retriever.invoke(QUERY)

    first, second = run(chain, feedback), uuid4()
    await chain.ainvoke(QUERY, {"callbacks": [feedback], "run_id": second})

    assert feedback.report(first, reporter="user-7") == "event-1"
    assert feedback.report(str(second)) == "event-2"
    for (query, response, passages, reporter), expected in zip(
        guard.received, ("user-7", None), strict=True
    ):
        assert (query, response, reporter) == (QUERY, "In 1790.", expected)
        assert [passage.text for passage in passages] == texts(seen)
        assert [passage.id for passage in passages] == [document.id for document in seen]
        assert [dict(passage.metadata) for passage in passages] == [d.metadata for d in seen]


def test_streamed_runs_are_remembered(chain: Runnable[str, str], guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard)
    run_id = uuid4()
    answer = "".join(chain.stream(QUERY, {"callbacks": [feedback], "run_id": run_id}))
    feedback.report(run_id)
    assert guard.received[0][1] == answer == "In 1790."


def test_concurrent_runs_are_told_apart(chain: Runnable[str, str], guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard)
    questions = [QUERY, "Who kept the lamp?", "Where is the ferry?"]
    run_ids = [uuid4() for _ in questions]
    chain.batch(questions, [{"callbacks": [feedback], "run_id": one} for one in run_ids])
    for run_id in run_ids:
        feedback.report(run_id)
    assert [query for query, *_ in guard.received] == questions
    assert [len(passages) for _, _, passages, _ in guard.received] == [3, 3, 3]


def test_all_outermost_retrievals_of_a_run_count(
    retriever: RAGGuardRetriever, guard: Reports
) -> None:
    feedback = RAGGuardFeedback(guard)

    def research(question: str, config: Any) -> str:
        retriever.invoke(question, config)
        retriever.invoke("Where is the ferry?", config)
        return "In 1790."

    feedback.report(run(RunnableLambda(research), feedback))
    query, _, passages, _ = guard.received[0]
    assert query == QUERY
    assert len(passages) == 6


def test_a_retrieval_inside_a_tool_counts(retriever: RAGGuardRetriever, guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard)

    @tool
    def search(question: str) -> str:
        """Search the archive."""
        return "\n".join(texts(retriever.invoke(question)))

    def agent(question: str) -> str:
        search.invoke({"question": question})
        return "In 1790."

    feedback.report(run(RunnableLambda(agent), feedback))
    assert guard.received[0][0] == QUERY
    assert len(guard.received[0][2]) == 3


def test_a_message_is_read_and_a_given_response_wins(
    retriever: RAGGuardRetriever, guard: Reports
) -> None:
    feedback = RAGGuardFeedback(guard)
    chain = (
        retriever
        | (lambda found: "\n".join(texts(found)))
        | FakeListChatModel(responses=["In 1790."])
    )
    run_id = run(chain, feedback)
    feedback.report(run_id)
    feedback.report(run_id, "It was built in 1790.")
    told = [response for _, response, _, _ in guard.received]
    assert told == ["In 1790.", "It was built in 1790."]


def test_what_cannot_be_reported_says_why(retriever: RAGGuardRetriever, guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard)
    with pytest.raises(InvalidInputError, match="run_id"):
        feedback.report(uuid4())

    run_id = run(retriever | (lambda found: {"documents": found}), feedback)
    with pytest.raises(InvalidInputError, match="response="):
        feedback.report(run_id)
    assert feedback.report(run_id, "In 1790.") == "event-1"

    for max_runs in (0, "3", None, 1.5, True):
        with pytest.raises(InvalidInputError, match="max_runs must be a whole number"):
            RAGGuardFeedback(guard, max_runs=max_runs)


def test_what_is_no_guard_or_no_answer_says_so(
    chain: Runnable[str, str], retriever: RAGGuardRetriever, guard: Reports
) -> None:
    for other in (None, retriever, Guard):
        with pytest.raises(InvalidInputError, match="guard must be a Guard"):
            RAGGuardFeedback(other)
    feedback = RAGGuardFeedback(guard)
    run_id = run(chain, feedback)
    for answer in (5, AIMessage("In 1790.")):
        with pytest.raises(InvalidInputError, match="response must be a str"):
            feedback.report(run_id, answer)


@pytest.mark.parametrize("run_id", ["nope", "", None, 5])
def test_what_is_no_run_id_says_so(guard: Reports, run_id: Any) -> None:
    with pytest.raises(InvalidInputError, match="run_id must be a UUID"):
        RAGGuardFeedback(guard).report(run_id)


def test_the_oldest_runs_are_forgotten(chain: Runnable[str, str], guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard, max_runs=2)
    run_ids = [run(chain, feedback) for _ in range(3)]
    with pytest.raises(InvalidInputError, match="remembered"):
        feedback.report(run_ids[0])
    assert feedback.report(run_ids[1])
    assert feedback.report(run_ids[2])
    assert len(feedback._log._run_of) < 40


def retrieved(feedback: RAGGuardFeedback, size: int = 1, **metadata: str) -> UUID:
    """Let a run retrieve a document of that size, and return its id."""
    run_id, retrieval = uuid4(), uuid4()
    feedback.on_chain_start({}, {}, run_id=run_id, metadata=metadata)
    feedback.on_retriever_start({}, QUERY, run_id=retrieval, parent_run_id=run_id)
    found = [Document(page_content="x" * size)]
    feedback.on_retriever_end(found, run_id=retrieval, parent_run_id=run_id)
    return run_id


@pytest.mark.parametrize("whose", ["tenant", "user_id"])
def test_nobody_pushes_out_the_runs_of_another(guard: Reports, whose: str) -> None:
    feedback = RAGGuardFeedback(guard, max_runs=4)
    quiet = retrieved(feedback, **{whose: "ann"})
    loud = [retrieved(feedback, **{whose: "bo"}) for _ in range(9)]
    for run_id in (quiet, *loud[-3:]):
        assert feedback.report(run_id, "wrong")
    with pytest.raises(InvalidInputError, match="remembered"):
        feedback.report(loud[-4], "wrong")


def test_large_runs_are_forgotten_by_what_they_take(guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard)
    run_ids = [retrieved(feedback, 10_000_000) for _ in range(7)]
    with pytest.raises(InvalidInputError, match="remembered"):
        feedback.report(run_ids[0], "wrong")
    for run_id in run_ids[1:]:
        assert feedback.report(run_id, "wrong")


def test_of_a_long_run_its_first_passages_and_its_newest_steps_are_kept(guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard)
    run_id, agent = retrieved(feedback), uuid4()
    feedback.on_chain_start({}, {}, run_id=agent, parent_run_id=run_id)
    for number in range(3_000):
        step = uuid4()
        feedback.on_retriever_start({}, QUERY, run_id=step, parent_run_id=agent)
        feedback.on_retriever_end([Document(page_content=str(number))], run_id=step)
    assert len(feedback._log._run_of) <= 1_000
    feedback.report(run_id, "wrong")
    texts = [passage.text for passage in guard.received[0][2]]
    assert texts == ["x", *map(str, range(50))]  # of which the event takes 50, and says so


def test_a_complaint_reaches_the_audit_store(store: InMemoryVectorStore) -> None:
    audit = MemoryStore()
    guard = Guard(embedder=WordEmbeddings(), store=audit)
    feedback = RAGGuardFeedback(guard)
    retriever = RAGGuardRetriever(base=store.as_retriever(), guard=guard, k=2)
    run_id = run(retriever | (lambda found: found[0].page_content), feedback)
    event_id = feedback.report(run_id, reporter="user-7")
    guard.close()
    event = audit.event(event_id)
    seen = texts(retriever.invoke(QUERY))
    assert (event.query, event.response, event.reporter) == (QUERY, seen[0], "user-7")
    assert [passage.text for passage in event.passages] == seen


def test_documents_of_a_run_are_kept_as_they_were(guard: Reports) -> None:
    feedback = RAGGuardFeedback(guard)
    run_id = uuid4()
    documents = [Document(page_content="same"), Document(page_content="same")]
    feedback.on_retriever_start({}, QUERY, run_id=run_id)
    feedback.on_retriever_end(documents, run_id=run_id)
    feedback.report(run_id, "wrong")
    assert [passage.text for passage in guard.received[0][2]] == ["same", "same"]
