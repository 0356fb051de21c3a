from __future__ import annotations

from typing import Any

import pytest
from lighthouse import FACTS, QUERY, WordEmbedding, nodes, quarantine
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from ragguard import Guard

from llama_index.postprocessor.ragguard import RAGGuardPostprocessor, RAGGuardVerdictEvent

HEARD: list[Any] = []


class Listening(BaseEventHandler):
    @classmethod
    def class_name(cls) -> str:
        return "Listening"

    def handle(self, event: Any, **kwargs: Any) -> Any:
        HEARD.append(event)


@pytest.fixture
def heard() -> Any:
    root = get_dispatcher()
    HEARD.clear()
    root.add_event_handler(Listening())
    yield HEARD
    root.event_handlers.pop()


async def test_every_verdict_is_an_event_without_texts(heard: list[Any]) -> None:
    guard = Guard(embedder=WordEmbedding(), store=quarantine())
    postprocessor = RAGGuardPostprocessor(guard=guard)
    kept = postprocessor.postprocess_nodes(nodes(), query_str=QUERY)
    await postprocessor.apostprocess_nodes(nodes(), query_str=QUERY)
    events = [one for one in heard if isinstance(one, RAGGuardVerdictEvent)]
    assert len(events) == 2
    for event in events:
        assert event.verdict["ragguard.dropped"] == event.verdict["ragguard.quarantined"] == 2
        assert event.verdict["ragguard.kept"] == len(kept) == len(FACTS)
        assert len(event.dropped_ids) == 2
        written = event.model_dump()
        assert written["class_name"] == "RAGGuardVerdictEvent"
        assert "lighthouse" not in repr(written)
