"""Rows of a cell of attribution: which passages behind a wrong answer are held responsible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any

from benchmarks.cells import Cell
from benchmarks.datasets import Dataset, Record
from benchmarks.metrics.matching import place
from benchmarks.misgeneration import Event, KnowledgeBase, outcome
from benchmarks.plugins import AttributorPlugin, Setting, find
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder


def blame_rows(
    cell: Cell, data: Dataset, planted: Sequence[tuple[Record, list[str]]]
) -> list[dict[str, Any]]:
    """Return one row an event.

    The knowledge base of an event is every hit of every question and what was planted for this
    one, ranked by the built-in embedder. A question is an event if a planted text that says the
    false answer is among the first k; that answer is reported. Counts are over the texts in scope,
    as in the papers; planted texts that the search did not reach are `out_of_scope`.
    """
    plugin: AttributorPlugin = find("attributors", cell.method)
    attributor = plugin.make(Setting(data, HashedEmbedder(), (), cell.k, cell.seed))
    base = _base(tuple(text for record in data.records for text in record.hits))
    rows = []
    for record, texts in planted:
        ranked = base.ranked(record.question, texts)
        first = [passage.text for passage in ranked[: cell.k]]
        if not record.incorrect or not any(
            place(text, record.incorrect) is not None for text in first if text in texts
        ):
            continue
        start = perf_counter()
        event = Event(record.question, record.incorrect[0], ranked, frozenset(texts))
        found = attributor.attribute(event.question, event.wrong, event.retrieve)
        took = perf_counter() - start
        rows.append(
            {
                "question": record.id,
                **outcome(event, found),
                "calls": int(found.details.get("calls", 0)),
                "ms": round(1000 * took, 2),
            }
        )
    return rows


@lru_cache(maxsize=2)
def _base(texts: tuple[str, ...]) -> KnowledgeBase:
    """Return the texts, those of the same words once, embedded; a process keeps two datasets."""
    return KnowledgeBase(list({content_key(text): text for text in texts}.values()))
