"""A question-answering service that filters on every query and takes reports of wrong answers.

SERVICE_TOKENS="ann:her-secret,operator:his-secret" uvicorn fastapi_service:app --app-dir examples
python examples/fastapi_service.py  (sends itself a few requests instead)

A report acts on what everybody is answered next, so it takes a token, it must be of an answer that
was given, and what shows no mark of an attack waits for the operator.
"""

import logging
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

from ragguard import Guard, Passage
from ragguard.background import Policy
from ragguard.demo.corpus import load_corpus, poison
from ragguard.demo.reader import ExtractiveReader
from ragguard.errors import (
    AttributionPendingError,
    AttributionTimeoutError,
    EventFailedError,
    EventNotFoundError,
    StoreError,
)
from ragguard.knowledge.memory import KnowledgeBase

logger = logging.getLogger(__name__)

corpus = load_corpus()
target = next(question for question in corpus.questions if question.id == "q10")
knowledge_base = KnowledgeBase([*corpus.passages, *poison(target, "statement", form="plain")])
reader = ExtractiveReader(passage.text for passage in corpus.passages)
guard = Guard(retrieve=knowledge_base.retrieve, policy=Policy("auto", answered_only=True))


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    guard.close()


app = FastAPI(title="Skerrin questions", lifespan=lifespan)


def user(bearer: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> str:
    """Return whose token it is; use your own login in its place."""
    for pair in os.environ.get("SERVICE_TOKENS", "").split(","):
        name, _, token = pair.partition(":")
        if token and secrets.compare_digest(token.encode(), bearer.credentials.encode()):
            return name
    raise HTTPException(401, "no such token")


User = Annotated[str, Depends(user)]


def operator(name: User) -> str:
    if name != "operator":
        raise HTTPException(403, "only the operator decides")
    return name


Operator = Annotated[str, Depends(operator)]


# In seconds. Whoever waits holds a thread.
Wait = Annotated[float | None, Query(ge=0.0, le=60.0, allow_inf_nan=False)]


class Report(BaseModel):
    """An answer that a user says is wrong."""

    question: str
    answer: str


unrecorded = 0


async def record(question: str, text: str, passages: Sequence[Passage]) -> None:
    global unrecorded
    try:
        await guard.aanswered(question, text, passages=passages)
    except StoreError as error:  # also where too many wait for it
        if not unrecorded:
            logger.warning("no report of such answers will count; mend the store: %s", error)
        unrecorded += 1
    else:
        if unrecorded:
            logger.warning("answers are recorded again; %d were not", unrecorded)
        unrecorded = 0


@app.get("/answer")
async def answer(question: str, afterwards: BackgroundTasks) -> dict[str, object]:
    # afilter judges off the event loop, so one slow query does not hold up the others.
    verdict = await guard.afilter(question, knowledge_base.retrieve(question, 10), k=5)
    text = reader.answer(question, verdict.kept)
    afterwards.add_task(record, question, text, verdict.kept)  # a query waits for no store
    return {
        "answer": text,
        "sources": [passage.id for passage in verdict.kept],
        "dropped": [passage.id for passage in verdict.dropped],
    }


@app.post("/reports", status_code=202)
def report(wrong: Report, who: User) -> dict[str, str]:
    # Returns at once: the attribution runs in the background.
    return {"event": guard.report(wrong.question, wrong.answer, reporter=who)}


@app.get("/reports/{event_id}")
def outcome(event_id: str, _: User, wait: Wait = None) -> dict[str, object]:
    try:
        found = guard.attribution(event_id, timeout=wait)
    except (AttributionPendingError, AttributionTimeoutError):
        return {"cause": None, "accused": []}
    except EventFailedError as error:
        raise HTTPException(409, str(error)) from error
    except EventNotFoundError as error:  # also one that was lost
        raise HTTPException(404, str(error)) from error
    return {"cause": found.cause, "accused": [passage.id for passage in found.accused]}


@app.get("/proposals")
def proposals(_: Operator) -> list[dict[str, object]]:
    shown = ("key", "passage_id", "text", "reason", "reporters")
    return [{name: getattr(entry, name) for name in shown} for entry in guard.proposals()]


@app.post("/proposals/{key}/confirm")
def confirm(key: str, who: Operator) -> dict[str, str]:
    # The entry, not its key: a page that somebody planted may have that for its id.
    for entry in guard.store.quarantine(keys=[key]):
        return {"status": guard.confirm(entry, actor=who).status}
    raise HTTPException(404, "no such proposal")


def main() -> None:
    from fastapi.testclient import TestClient

    os.environ["SERVICE_TOKENS"] = "ann:a-secret,operator:another"
    ann, boss = ({"Authorization": f"Bearer {token}"} for token in ("a-secret", "another"))
    with TestClient(app) as client:
        query = {"question": target.text}
        first = client.get("/answer", params=query).json()
        print("answer:", first["answer"])
        wrong = {**query, "answer": first["answer"]}
        print("report by a stranger:", client.post("/reports", json=wrong).status_code)
        event = client.post("/reports", json=wrong, headers=ann).json()["event"]
        found = client.get(f"/reports/{event}", params={"wait": 60}, headers=ann)
        print("report:", found.json())
        for entry in client.get("/proposals", headers=boss).json():
            client.post(f"/proposals/{entry['key']}/confirm", headers=boss)
            print("confirmed:", entry["passage_id"])
        print("answer now:", client.get("/answer", params=query).json()["answer"])


if __name__ == "__main__":
    main()
