"""What a text costs a guard that has read nothing yet: processor time, memory, a standstill."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import process_time

from ragguard import Guard, Verdict
from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.content import content_key
from ragguard.lru import forget_all

__all__ = ["NO_LIMIT", "QUESTIONS", "SOMETHING", "milliseconds", "peak_bytes", "standstill_ms"]

QUESTIONS = (
    "Who built the old pier of Keelworth after the great storm?",
    "keelworth pier",
    "When was the lighthouse on the northern rocks of the island first lit, and who was its keeper "
    "in the year of the great storm, when the harbour wall gave way and the ferry was lost?",
)
"""What honest users ask."""

NO_LIMIT = 1e9
"""Milliseconds; with less, what is left unread would not be measured."""

SOMETHING = "The pier of Keelworth was sold to the Marrow company for a barrel of herring."
"""What is in quarantine, where something is; no hostile text says it."""


@contextmanager
def _new_guard(*, quarantine: bool, hurried: bool) -> Iterator[Guard]:
    store = MemoryStore()
    if quarantine:
        store.add_quarantine(
            [QuarantineEntry(content_key(SOMETHING), "pier", SOMETHING, "a hostile text's company")]
        )
    with Guard(store=store, max_ms=50.0 if hurried else NO_LIMIT) as guard:
        guard.filter("", ["a"])  # starts what a guard starts once
        forget_all()
        yield guard


def milliseconds(
    query: str, texts: Sequence[str], *, quarantine: bool, repeats: int, enough: float = 1000.0
) -> tuple[float, Verdict]:
    """Return the processor time of the fastest of several first readings, and the verdict.

    Args:
        query: The question.
        texts: The passages.
        quarantine: Whether something is in quarantine, so that every passage needs a key.
        repeats: How often it is measured, each time by a new guard.
        enough: Milliseconds after which it is not measured again.
    """
    best = float("inf")
    for _ in range(repeats):
        with _new_guard(quarantine=quarantine, hurried=False) as guard:
            start = process_time()
            verdict = guard.filter(query, texts)
            took = 1000 * (process_time() - start)
        best = min(best, took)
        if took > enough:
            break
    return best, verdict


def peak_bytes(query: str, texts: Sequence[str], *, quarantine: bool) -> int:
    """Return by how much the memory of Python grows at most while a set is judged."""
    with _new_guard(quarantine=quarantine, hurried=False) as guard:
        tracemalloc.start()
        try:
            guard.filter(query, texts)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def standstill_ms(query: str, texts: Sequence[str], *, quarantine: bool) -> float:
    """Return for how long a loop stood still at most while `afilter` judged.

    A coroutine beside it asks for a turn without a pause. What counts is the processor time of the
    process from one turn to the next, since other processes stop a loop as well. The guard is as
    it comes, with its limit of time.
    """
    return asyncio.run(_standstill(query, texts, quarantine))


async def _standstill(query: str, texts: Sequence[str], quarantine: bool) -> float:
    longest, done = 0.0, asyncio.Event()

    async def tick() -> None:
        nonlocal longest
        last = process_time()
        while not done.is_set():
            await asyncio.sleep(0)
            now = process_time()
            longest, last = max(longest, now - last), now

    with _new_guard(quarantine=quarantine, hurried=True) as guard:
        ticking = asyncio.create_task(tick())
        await asyncio.sleep(0)
        await guard.afilter(query, texts)
        done.set()
        await ticking
    return 1000 * longest
