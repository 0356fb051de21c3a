"""What LlamaIndex's instrumentation is told of every verdict."""

from __future__ import annotations

from typing import Any

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent

from ragguard import Verdict
from ragguard.telemetry import attributes

__all__ = ["RAGGuardVerdictEvent", "tell"]

_dispatcher = get_dispatcher(__name__)


class RAGGuardVerdictEvent(BaseEvent):
    """What the guard decided about retrieved nodes: counts, names and ids, never texts.

    Attributes:
        verdict: By the names of `ragguard.telemetry.attributes`.
        dropped_ids: Of the nodes that were taken out.
    """

    verdict: dict[str, Any]
    dropped_ids: list[str]

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex serialises this class under."""
        return "RAGGuardVerdictEvent"


def tell(verdict: Verdict) -> None:
    """Send the event of a verdict to whoever listens."""
    dropped = [passage.id for passage in verdict.dropped]
    _dispatcher.event(RAGGuardVerdictEvent(verdict=attributes(verdict), dropped_ids=dropped))
