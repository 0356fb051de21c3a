"""One outage: what a guard's queries, its reports and its quarantine feel of it."""

from __future__ import annotations

import logging
import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragguard import Guard
from ragguard.audit import QuarantineEntry, open_store
from ragguard.content import content_key

__all__ = ["PASSAGES", "QUESTION", "REPORTS", "Felt", "Outage", "nothing"]

QUESTION = "When was the lighthouse of Marrow Bay built?"
PASSAGES = (
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "The tide turns at noon in early spring.",
    "Gulls nest on the northern cliffs.",
    "The lighthouse keeper kept geese.",
)
REPORTS = 20

_WARM_UP = 200
_PATIENCE_S = 40.0
_CLOSE_S = 60.0


@dataclass(frozen=True)
class Felt:
    """What was felt of one outage.

    Attributes:
        store: "SQLite" or "PostgreSQL".
        fault: What failed.
        queries: How many queries were answered in all.
        p99_ms: Their time, 99th percentile, in milliseconds.
        max_ms: The longest.
        seen_s: Seconds from a quarantine elsewhere, or from the end of an outage that keeps others
            out as well, to the first query that drops the passage; None if none did in time.
        filed: How many responses were reported during the outage, 20 at most.
        stored: How many of them were in the store in the end.
        close_s: Seconds that closing the guard took, or None if it was not back after 60.
    """

    store: str
    fault: str
    queries: int
    p99_ms: float
    max_ms: float
    seen_s: float | None
    filed: int
    stored: int
    close_s: float | None


def nothing(*_: object) -> None:
    """Begin or end nothing."""


@dataclass(frozen=True)
class Outage:
    """A fault of a store, and how to bring it about.

    Attributes:
        store: "SQLite" or "PostgreSQL".
        fault: What fails, in words.
        url: Where the guard finds the store.
        direct: Where others find it.
        begin: Begins the fault; gets the guard.
        end: Ends it.
        seconds: How long it lasts.
        for_all: Whether it keeps other processes out as well, so that nothing can be quarantined.
        close_in_it: Whether the guard is closed before it ends.
    """

    store: str
    fault: str
    url: str
    direct: str
    begin: Callable[[Guard], object] = nothing
    end: Callable[[], object] = nothing
    seconds: float = 2.0
    for_all: bool = False
    close_in_it: bool = False

    def felt(self) -> Felt:
        """Answer queries without pause through the outage and until the quarantine is seen."""
        guard, other = Guard(store=self.url), _Elsewhere(self.direct)
        asking = _Asking(guard)
        for _ in range(_WARM_UP):
            asking.ask()
        asking.times.clear()
        self.begin(guard)
        started = time.monotonic()
        if not self.for_all:
            other.quarantine(PASSAGES[0])
        seen_s = asking.until_dropped(started, self.seconds)
        asking.until(started + self.seconds)
        if self.close_in_it:
            close_s = _timed_close(guard)
            self.end()
        else:
            self.end()
            if self.for_all:
                started = time.monotonic()
                other.quarantine(PASSAGES[0])
            if seen_s is None:
                seen_s = asking.until_dropped(started, _PATIENCE_S)
            deadline = time.monotonic() + _PATIENCE_S
            while self._stored(asking.ids) < len(asking.ids) and time.monotonic() < deadline:
                time.sleep(0.1)
            close_s = _timed_close(guard)
        times = 1e3 * np.array(asking.times)
        stored = self._stored(asking.ids)
        other.close()
        return Felt(
            store=self.store,
            fault=self.fault,
            queries=len(times),
            p99_ms=float(np.percentile(times, 99)),
            max_ms=float(times.max()),
            seen_s=seen_s,
            filed=len(asking.ids),
            stored=stored,
            close_s=close_s,
        )

    def _stored(self, ids: Sequence[str]) -> int:
        store = open_store(self.direct)
        found = {event.id for event in store.events(limit=100)}
        store.close()
        return len(found & set(ids))


class _Asking:
    """Asks a guard the same question again and again, and reports its answer now and then."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.times: list[float] = []
        self.ids: list[str] = []

    def ask(self) -> bool:
        started = time.perf_counter()
        verdict = self._guard.filter(QUESTION, PASSAGES)
        self.times.append(time.perf_counter() - started)
        return bool(verdict.dropped)

    def until_dropped(self, started: float, seconds: float) -> float | None:
        """Return the seconds from `started` to the first answer that drops a passage."""
        while (passed := time.monotonic() - started) < seconds:
            if self.ask():
                return time.monotonic() - started
            self._report(passed)
        return None

    def until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0:
            self.ask()
            self._report(left)

    def _report(self, seconds: float) -> None:
        # About ten a second, so that they fall into the outage.
        if len(self.ids) < REPORTS and int(seconds * 10) != self._last:
            self._last = int(seconds * 10)
            question = f"{QUESTION} ({len(self.ids)})"
            self.ids.append(self._guard.report(question, "1911", passages=PASSAGES))

    _last = -1


class _Elsewhere:
    """Another process on the same store, which quarantines texts."""

    def __init__(self, url: str) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, far = spawn.Pipe()
        self._process = spawn.Process(target=_quarantine_on_demand, args=(url, far), daemon=True)
        self._process.start()
        self._pipe.recv()

    def quarantine(self, text: str) -> None:
        self._pipe.send(text)
        self._pipe.recv()

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join()


def _quarantine_on_demand(url: str, pipe: Any) -> None:
    logging.getLogger("ragguard").setLevel(logging.CRITICAL)
    store = open_store(url)
    pipe.send("ready")
    while (text := pipe.recv()) is not None:
        store.add_quarantine([QuarantineEntry(content_key(text), "p", text, "r")])
        pipe.send("done")
    store.close()


def _timed_close(guard: Guard) -> float | None:
    began = time.monotonic()
    closing = threading.Thread(target=guard.close, daemon=True)
    closing.start()
    closing.join(_CLOSE_S)
    return None if closing.is_alive() else time.monotonic() - began
