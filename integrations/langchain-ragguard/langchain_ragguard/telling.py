"""Tells a chain's run what the guard decided: as metadata, and as a custom event."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from langchain_core.callbacks import (
    AsyncCallbackManager,
    BaseCallbackHandler,
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

__all__ = ["EVENT", "Run", "atell", "tell"]

EVENT = "ragguard.verdict"
"""The name of the custom event."""

Run = BaseRunManager | Callbacks
"""Whose callbacks are told: those of a run, or, within one, what it hands on."""

logger = logging.getLogger(__name__)


def tell(verdict: Verdict, run: Run) -> None:
    """Tell a run about a verdict; outside of one there is nobody to tell."""
    run_id, handlers = _told(run)
    if run_id is not None and handlers:
        try:
            data = _noted(verdict, run_id, handlers)
            manager = CallbackManager(handlers, parent_run_id=run_id)
            dispatch_custom_event(EVENT, data, config={"callbacks": manager, **_named(run)})
        except Exception:  # of a handler that raises; the application keeps its documents
            logger.exception("a handler of %s failed", EVENT)


async def atell(verdict: Verdict, run: Run) -> None:
    """Do what `tell` does, for asynchronous handlers too."""
    run_id, handlers = _told(run)
    if run_id is not None and handlers:
        try:
            data = _noted(verdict, run_id, handlers)
            manager = AsyncCallbackManager(handlers, parent_run_id=run_id)
            named = _named(run)
            await adispatch_custom_event(EVENT, data, config={"callbacks": manager, **named})
        except Exception:
            logger.exception("a handler of %s failed", EVENT)


def _told(run: Run) -> tuple[UUID | None, list[BaseCallbackHandler]]:
    if isinstance(run, BaseRunManager):
        return run.run_id, run.handlers
    return (run.parent_run_id, run.handlers) if isinstance(run, BaseCallbackManager) else (None, [])


def _named(run: Run) -> RunnableConfig:
    """Return the tags and metadata by which a handler tells whose run it is."""
    return RunnableConfig(
        tags=[*getattr(run, "tags", ())], metadata={**getattr(run, "metadata", {})}
    )


def _noted(verdict: Verdict, run_id: UUID, handlers: list[BaseCallbackHandler]) -> dict[str, Any]:
    """Add the verdict to the run's metadata where a tracer keeps one; return the event's data."""
    found = attributes(verdict)
    for handler in handlers:
        kept = handler.run_map.get(str(run_id)) if isinstance(handler, BaseTracer) else None
        if kept is not None and isinstance(kept.extra, dict):
            kept.extra.setdefault("metadata", {}).update(found)
    return {**found, "ragguard.dropped_ids": [passage.id for passage in verdict.dropped]}
