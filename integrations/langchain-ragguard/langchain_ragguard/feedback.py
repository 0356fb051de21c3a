"""From "this answer is wrong" to the guard's attribution, by the run id of the chain."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from ragguard import Guard
from ragguard.arguments import require_text, require_whole
from ragguard.background.reports import MAX_PASSAGES
from ragguard.errors import InvalidInputError
from ragguard.recent_passages import light

from langchain_ragguard.passages import as_passage
from langchain_ragguard.run_log import RunLog, answer_in, kind_of


class RAGGuardFeedback(BaseCallbackHandler):
    """Remembers what each run of a chain retrieved and answered, until a user complains.

    Pass it in `config={"callbacks": [feedback], "run_id": run_id}`, as for LangSmith feedback,
    and report with the same `run_id`. Documents are those of the outermost retrievers of the run:
    what the generator saw. Safe to share between threads and event loops.

    Runs take 64 MB together at most. Whose they are, `"metadata": {"tenant": ..., "user_id": ...}`
    in the config may say; of whoever has most, the oldest are forgotten first.

    Args:
        guard: Where complaints are reported.
        max_runs: How many runs are remembered at most.

    Raises:
        InvalidInputError: `guard` is none, or `max_runs` is no whole number of at least 1.
    """

    run_inline = True  # the events of one run must arrive in their order

    def __init__(self, guard: Guard, *, max_runs: int = 1000) -> None:
        if not isinstance(guard, Guard):
            raise InvalidInputError(
                f"guard must be a Guard, not a {type(guard).__name__}; pass that of the retriever"
            )
        self._guard = guard
        self._log = RunLog(require_whole("max_runs", max_runs))
        self._lock = threading.Lock()

    def report(
        self,
        run_id: UUID | str,
        response: str | None = None,
        *,
        reporter: str | None = None,
        tenant: str | None = None,
    ) -> str:
        """Report the answer of a run as wrong and return the id of the event.

        Args:
            run_id: The id of the outermost run.
            response: What the user saw; None takes what the chain returned: a text, a message, a
                list of messages, or an object that holds one of these as its "answer", "output",
                "result", "response", "generation", "text" or "messages".
            reporter: Who complained.
            tenant: Whose run it was; None is the default tenant.

        Raises:
            InvalidInputError: `run_id` is no UUID, or the run is not remembered, retrieved
                nothing, or its answer cannot be told and no `response` is given; `response` is no
                text, or `tenant` no name.
        """
        root = _as_uuid(run_id)
        with self._lock:
            run = self._log.find(root)
            if run is None or run.query is None:
                raise InvalidInputError(
                    f"no retrieval is remembered for run {run_id}; pass config="
                    '{"callbacks": [feedback], "run_id": run_id} and report with that run_id'
                )
            query, passages, returned = run.query, list(run.passages), run.returned
            response = run.response if response is None else response
        if response is None:
            raise InvalidInputError(
                f"the answer of run {run_id} cannot be told from {returned}; pass what the user "
                "read as response="
            )
        return self._guard.report(
            query,
            require_text("response", response),
            passages=passages,
            reporter=reporter,
            tenant=tenant,
        )

    def on_chain_start(
        self,
        *_: Any,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note which run the step belongs to."""
        with self._lock, self._log.step(run_id, parent_run_id, metadata):
            pass

    on_tool_start = on_chain_start  # an agent retrieves inside of a tool

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note the query of the run's first retrieval."""
        with self._lock, self._log.step(run_id, parent_run_id, metadata) as run:
            run.steps[run_id] = True
            run.query = query if run.query is None else run.query

    def on_retriever_end(
        self,
        documents: Sequence[Document],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep the documents, unless another retriever still works on them."""
        found = [light(as_passage(document)) for document in documents]
        with self._lock, self._log.step(run_id, parent_run_id) as run:
            if parent_run_id is None or not run.steps[parent_run_id]:
                run.passages = [*run.passages, *found][: MAX_PASSAGES + 1]  # one more is told of

    def on_chain_end(
        self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Keep the answer of the outermost run."""
        if parent_run_id is not None:
            return
        with self._lock, self._log.step(run_id, None) as run:
            run.response, run.returned = answer_in(outputs), kind_of(outputs)


def _as_uuid(run_id: UUID | str) -> UUID:
    try:
        return UUID(str(run_id))
    except ValueError as error:
        raise InvalidInputError(
            f"run_id must be a UUID or its text, not {run_id!r}; pass the run_id of the config"
        ) from error
