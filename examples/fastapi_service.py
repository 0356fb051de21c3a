"""A question-answering service that filters on every query and takes reports of wrong answers.

uvicorn fastapi_service:app --app-dir examples
python examples/fastapi_service.py  (sends itself a few requests instead)
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from ragguard import Guard
from ragguard.demo.corpus import load_corpus, poison
from ragguard.demo.reader import ExtractiveReader
from ragguard.errors import (
    AttributionPendingError,
    AttributionTimeoutError,
    EventNotFoundError,
)
from ragguard.knowledge.memory import KnowledgeBase

corpus = load_corpus()
target = next(question for question in corpus.questions if question.id == "q10")
knowledge_base = KnowledgeBase([*corpus.passages, *poison(target, "statement", form="plain")])
reader = ExtractiveReader(passage.text for passage in corpus.passages)
guard = Guard(retrieve=knowledge_base.retrieve)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    guard.close()


app = FastAPI(title="Skerrin questions", lifespan=lifespan)


class Report(BaseModel):
    """An answer that a user says is wrong."""

    question: str
    answer: str


@app.get("/answer")
async def answer(question: str) -> dict[str, object]:
    # afilter judges off the event loop, so one slow query does not hold up the others.
    verdict = await guard.afilter(question, knowledge_base.retrieve(question, 10), k=5)
    return {
        "answer": reader.answer(question, verdict.kept).text,
        "sources": [passage.id for passage in verdict.kept],
        "dropped": [passage.id for passage in verdict.dropped],
    }


@app.post("/reports", status_code=202)
def report(wrong: Report) -> dict[str, str]:
    # Returns at once: the attribution runs in the background.
    return {"event": guard.report(wrong.question, wrong.answer, reporter="web")}


@app.get("/reports/{event_id}")
def outcome(event_id: str, wait: float | None = None) -> dict[str, object]:
    try:
        found = guard.attribution(event_id, timeout=wait)
    except (AttributionPendingError, AttributionTimeoutError):
        return {"cause": None, "responsible": []}
    except EventNotFoundError as error:
        raise HTTPException(404, str(error)) from error
    return {"cause": found.cause, "responsible": [passage.id for passage in found.responsible]}


def main() -> None:
    from fastapi.testclient import TestClient

    with TestClient(app) as client:
        query = {"question": target.text}
        first = client.get("/answer", params=query).json()
        print("answer:", first["answer"])
        event = client.post("/reports", json={**query, "answer": first["answer"]}).json()["event"]
        print("report:", client.get(f"/reports/{event}", params={"wait": 60}).json())
        print("answer now:", client.get("/answer", params=query).json()["answer"])


if __name__ == "__main__":
    main()
