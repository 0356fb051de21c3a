"""The parts of a guard: made from its settings, joined, closed, and made anew for a copy."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, get_args

from ragguard.arguments import (
    require_bool,
    require_callable,
    require_choice,
    require_method,
    require_number,
    require_share,
)
from ragguard.async_bridge import StoreThreads
from ragguard.audit import QuarantineWatch, ScoredQuery, open_store
from ragguard.audit.decisions import Decisions
from ragguard.audit.memory import MemoryStore
from ragguard.audit.records import Access
from ragguard.audit.trail import note_quietly
from ragguard.audit.verdict_counter import VerdictCounter
from ragguard.audit.verdict_log import VerdictLog
from ragguard.background import Worker
from ragguard.background.attribute_event import EventAttributor
from ragguard.background.policy import as_policy, trust_change
from ragguard.background.threads import Deadline
from ragguard.calibrator import Calibrator
from ragguard.embedding import CachedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.filtering import Filtering, OnError
from ragguard.inline.calibration_file import as_calibration
from ragguard.inline.decision import Strategy
from ragguard.recent_passages import RecentPassages
from ragguard.trust import as_trust
from ragguard.verdict import Mode

# For the threads. To give back what is being attributed may take 1 more, and to close a SQLite
# store 2.
_CLOSE_S = 7.0
_RETIRE_S, _PAUSE_S = 60.0, 0.05

_access: ContextVar[Access] = ContextVar("_access", default="make")


@dataclass(frozen=True)
class Health:
    """How a guard and its store are. Asking for it waits for neither.

    Attributes:
        store: The store's `repr`; of a URL without passwords.
        reachable: Whether the last look at the store succeeded, and is not older than 30 s.
        store_age_s: Seconds since the store last answered; what was quarantined or released
            elsewhere since then is not known here.
        store_error: Why the last look failed, or None.
        write_error: Why counts, rows of verdicts or reports could not be written last, or None.
        quarantined: How many texts the filter drops wherever they are retrieved, of all tenants.
        queries_unwritten: How many queries are not yet in the counters of the store.
        verdicts_waiting: How many rows of verdicts wait in memory for the store.
        events_waiting: How many reports do.
        reports_lost: How many reports of this guard were lost.
        calibration: Where the measure of clean traffic comes from, and what it promises.
        threads: Names of the guard's threads that run; each starts when it is first needed.
        attributing_s: Seconds for which the attribution that this guard runs has run by now; 0.0 if
            it runs none. After half an hour another worker may take the event.
    """

    store: str
    reachable: bool
    store_age_s: float
    store_error: str | None
    write_error: str | None
    quarantined: int
    queries_unwritten: int
    verdicts_waiting: int
    events_waiting: int
    reports_lost: int
    calibration: str
    threads: tuple[str, ...]
    attributing_s: float


class Parts:
    """What a guard is made of; takes the arguments of `Guard`, checks them, and raises its errors.

    `settings` are the arguments as they were given. `filtering` is the inline half, `worker` the
    background half; `answering` is where coroutines wait for the store.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings, given = settings, SimpleNamespace(**settings)
        trust = as_trust(given.trust)
        require_choice("strategy", given.strategy, get_args(Strategy))
        require_choice("mode", given.mode, get_args(Mode))
        require_choice("on_error", given.on_error, get_args(OnError))
        alpha = require_share("alpha", given.alpha)
        mark_alpha = given.mark_alpha
        if mark_alpha is not None:
            mark_alpha = require_number("mark_alpha", mark_alpha)
            if not alpha <= mark_alpha < 1.0:
                raise InvalidInputError(
                    f"mark_alpha must be at least alpha={alpha:g} and below 1, not {mark_alpha:g}; "
                    "leave it out for 5 alpha, or pass alpha to mark nothing"
                )
        max_ms = require_number("max_ms", given.max_ms)
        if not max_ms > 0.0:
            raise InvalidInputError(f"max_ms must be positive, not {max_ms:g}; try 50")
        require_bool(record_texts=given.record_texts, attribute=given.attribute)
        if given.on_verdict is not None:
            require_callable(on_verdict=given.on_verdict)
        if given.attributor is not None:
            require_method("attributor", given.attributor, "attribute(query, response, retrieve)")
        if given.proxy is not None:
            if given.attributor is not None:
                raise InvalidInputError(
                    "an attributor has a proxy of its own; pass it there: RAGOrigin(proxy=...)"
                )
            # Not above: a guard that only filters needs no proxy.
            from ragguard.proxy import require_proxy

            require_proxy(given.proxy)
        self.embedder = CachedEmbedder.of(given.embedder)
        retrieve = given.retrieve
        if retrieve is not None:
            # Not above: it imports every kind of knowledge base, and a filter needs none.
            from ragguard.attribution.search import as_retrieve

            retrieve = as_retrieve(retrieve)
        self.calibrator = Calibrator(
            self.embedder,
            strategy=given.strategy,
            alpha=alpha,
            mark_alpha=mark_alpha,
            calibration=as_calibration(given.calibration),
            trust=trust,
        )
        self._owns_store = given.store is None or isinstance(given.store, (str, os.PathLike))
        self.store = open_store(given.store, access=_access.get())
        shared = bool(getattr(self.store, "shared", True))
        if not (given.attribute or shared):
            raise InvalidInputError(
                "attribute=False leaves reports to `ragguard worker`, which cannot see a store in "
                "memory; pass store= with a path or URL on which a worker runs"
            )
        policy = as_policy(given.policy, shared=shared)
        self.quarantine = QuarantineWatch(self.store)
        self.counter = VerdictCounter(self.store, on_scored=self._watch_drift)
        self.log = VerdictLog(self.store, self.counter, with_texts=given.record_texts)
        self.seen = RecentPassages()
        self.filtering = Filtering(
            self.calibrator,
            self.embedder,
            quarantine=self.quarantine,
            seen=self.seen,
            counter=self.counter,
            log=self.log,
            on_verdict=given.on_verdict,
            mode=given.mode,
            on_error=given.on_error,
            max_ms=max_ms,
            trust=trust,
        )
        self.worker = Worker(
            self.store,
            EventAttributor(
                self.store,
                retrieve,
                attributor=given.attributor,
                proxy=given.proxy,
                embedder=self.embedder,
                policy=policy,
                trust=trust,
                gate=self.calibrator.gate,
                seen=self.seen,
            ),
            counter=self.counter,
            queries_come=self.seen.is_fresh,
            attributes=given.attribute,
            # Another process may be able to search; what is in memory is nobody else's.
            skip_without_passages=retrieve is None and shared,
        )
        self.answering = StoreThreads()
        # What was not chosen is noted once it does something.
        if given.policy is not None and given.attribute:
            note_quietly(self.store, policy.change)
        if trust is not None:
            note_quietly(self.store, trust_change(trust))
        if given.calibration is not None:
            self.note_calibration()

    def note_calibration(self) -> None:
        """Have the trail tell which calibration is in force."""
        note_quietly(self.store, self.calibrator.change)

    def decisions(self, tenant: str | None) -> Decisions:
        """Return what a person decides by, for a tenant."""
        return Decisions(self.store.of_tenant(tenant))

    def health(self) -> Health:
        """Return how they are."""
        watch, outbox = self.quarantine, self.worker.outbox
        parts = (watch, self.counter, self.log, self.worker, self.answering)
        failed = [one.error for one in (self.counter, self.log, outbox) if one.error is not None]
        return Health(
            store=repr(self.store),
            reachable=watch.reachable,
            store_age_s=watch.age_s,
            store_error=watch.error,
            write_error=failed[0] if failed else None,
            quarantined=watch.size,
            queries_unwritten=self.counter.unwritten,
            verdicts_waiting=self.log.unwritten,
            events_waiting=outbox.unsaved,
            reports_lost=outbox.lost,
            calibration=self.calibrator.described,
            threads=tuple(one.name for part in parts for one in part.threads if one.is_alive()),
            attributing_s=self.worker.attributing_s,
        )

    def close(self) -> None:
        """Write what is pending, and stop all threads."""
        deadline = Deadline(_CLOSE_S)
        self.quarantine.close()
        self.counter.stop()
        self.log.stop()
        self.worker.close(deadline.left())
        self.answering.close(deadline.left() or 0.0)
        self.log.close(deadline.left())
        self.counter.close(deadline.left())
        if self._owns_store:
            self.store.close()

    def retire(self) -> None:
        """Close what no guard holds any more, in a thread, once what was reported is attributed."""
        # What only filters has threads that end by themselves.
        if self.worker.threads and not self.worker.outbox.closed:
            with suppress(RuntimeError):  # no more threads, or the interpreter goes down
                threading.Thread(target=self._end, name="ragguard-retire", daemon=True).start()

    def _end(self) -> None:
        deadline = Deadline(_RETIRE_S)
        with suppress(Exception):  # whatever the store raises: events that it has stay open
            while deadline.left() and (self.worker.outbox.unsaved or self.worker.run_once()):
                if self.worker.outbox.unsaved:
                    time.sleep(_PAUSE_S)
        self.close()

    def copied(self) -> dict[str, Any]:
        """Return the settings for a copy, which adopts the calibration and shares what is given."""
        in_memory = isinstance(self.store, MemoryStore)
        store = self.store if in_memory else self.settings["store"]
        return {**self.settings, "store": store, "calibration": self.calibrator.adopted}

    def pickled(self) -> dict[str, Any]:
        """Return the settings for a copy in another process, which opens the store for itself.

        Raises:
            InvalidInputError: The store, or what else it was made with, cannot be pickled.
        """
        settings = self.copied()
        for name, value in settings.items():
            try:
                pickle.dumps(value)
            except Exception as error:  # whatever it is made of
                kind = type(value).__name__
                raise InvalidInputError(
                    f"a guard on a {kind} object cannot be pickled ({error}); make "
                    "it with the store's URL, Guard(store=URL), which the copy opens for itself"
                    if name == "store"
                    else f"a guard with such a {name} cannot be pickled ({error}); make it with "
                    f"another than this {kind}, or make the guard in the process that needs it"
                ) from error
        return settings

    def _watch_drift(self, scored: Sequence[ScoredQuery]) -> None:
        # Bound to the parts, which so outlive their guard until garbage is collected: time for the
        # counter's thread to write what a guard that nobody closed has counted last.
        self.calibrator.watch(scored)


def remade(kind: type[Any], settings: Mapping[str, Any], gated: bool) -> Any:
    """Return a guard of the class `kind` with these settings, and with a gate or without.

    It opens a store that is there: nobody means to make an empty one by a copy.
    """
    before = _access.set("keep")
    try:
        return kind(**settings) if gated else kind.ragdefender(**settings)
    finally:
        _access.reset(before)
