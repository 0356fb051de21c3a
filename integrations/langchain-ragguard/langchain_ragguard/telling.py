"""Tells a chain's run what the guard decided: as metadata, and as a custom event."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManager,
    BaseCallbackManager,
    BaseRunManager,
    CallbackManager,
    Callbacks,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers.base import BaseTracer
from ragguard import Verdict
from ragguard.telemetry import attributes

EVENT = "ragguard.verdict"
"""The name of the custom event."""

Run = BaseRunManager | Callbacks
"""Whose callbacks are told: those of a run, or, within one, what it hands on."""

logger = logging.getLogger(__name__)


def tell(verdict: Verdict, run: Run) -> None:
    """Tell a run about a verdict; outside of one there is nobody to tell."""
    with _failures_logged():
        if (event := _event(verdict, run, CallbackManager)) is not None:
            dispatch_custom_event(EVENT, **event)


async def atell(verdict: Verdict, run: Run) -> None:
    """Do what `tell` does, for asynchronous handlers too."""
    with _failures_logged():
        if (event := _event(verdict, run, AsyncCallbackManager)) is not None:
            await adispatch_custom_event(EVENT, **event)


@contextmanager
def _failures_logged() -> Iterator[None]:
    try:
        yield
    except Exception:  # of a handler that raises; the application keeps its documents
        logger.exception("a handler of %s failed", EVENT)


def _event(verdict: Verdict, run: Run, manager: type[BaseCallbackManager]) -> dict[str, Any] | None:
    """Return the event's data, and whose it is; add the verdict to metadata that a tracer keeps."""
    if not isinstance(run, (BaseRunManager, BaseCallbackManager)):
        return None
    run_id = run.run_id if isinstance(run, BaseRunManager) else run.parent_run_id
    if run_id is None or not run.handlers:
        return None
    found = attributes(verdict)
    for handler in run.handlers:
        kept = handler.run_map.get(str(run_id)) if isinstance(handler, BaseTracer) else None
        if kept is not None and isinstance(kept.extra, dict):
            kept.extra.setdefault("metadata", {}).update(found)
    # By its tags and metadata a handler tells whose run it is.
    config = RunnableConfig(
        callbacks=manager(run.handlers, parent_run_id=run_id),
        tags=[*run.tags],
        metadata={**run.metadata},
    )
    dropped = [passage.id for passage in verdict.dropped]
    return {"data": {**found, "ragguard.dropped_ids": dropped}, "config": config}
