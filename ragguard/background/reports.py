"""Flagged responses: from a report to its attribution, and from there to quarantine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from types import NoneType

from ragguard.attribution.result import Attribution, Attributor, Retrieve
from ragguard.audit.records import AuditStore
from ragguard.audit.watch import QuarantineWatch
from ragguard.background.attribute_event import EventAttributor
from ragguard.background.claims import MAX_PASSAGES, as_event
from ragguard.background.worker import Worker
from ragguard.embedding.adapt import Embedder
from ragguard.errors import (
    AttributionPendingError,
    AttributionTimeoutError,
    EventFailedError,
    InvalidInputError,
    StoreError,
)
from ragguard.passage import Passage, as_passages
from ragguard.recent import RecentPassages

__all__ = ["Reports"]

logger = logging.getLogger(__name__)

_DURABLE_S = 10.0


class Reports:
    """Takes flagged responses, has a worker attribute them, and quarantines what is responsible.

    Args:
        store: Keeps the events and their attributions.
        seen: What the generator saw, for reports that do not say it.
        quarantine: Follows the store; looks at once when something came in.
        embedder: Of the `RAGOrigin` that is made where there is no attributor.
        retrieve: Searches the whole knowledge base; None: the passages of the event are searched.
        attributor: Finds the responsible passages; None means `RAGOrigin` with the best proxy,
            made when the first event is attributed.
        on_lost: Called with the number of reports that were lost.
    """

    def __init__(
        self,
        store: AuditStore,
        *,
        seen: RecentPassages,
        quarantine: QuarantineWatch,
        embedder: Embedder,
        retrieve: Retrieve | None,
        attributor: Attributor | None,
        on_lost: Callable[[int], None] | None = None,
    ) -> None:
        self._store = store
        self._seen = seen
        self._quarantine = quarantine
        self._worker = Worker(
            store,
            EventAttributor(
                store, retrieve, attributor=attributor, embedder=embedder, watch=quarantine
            ),
            on_lost=on_lost,
            queries_come=seen.is_fresh,
            # Another process may be able to search for them; what is in memory is nobody else's.
            skip_without_passages=retrieve is None and getattr(store, "shared", True),
        )

    def take(
        self,
        query: str,
        response: str,
        passages: Sequence[str | Passage] | None,
        reporter: str | None,
        wait: bool | float = False,
    ) -> str:
        """Hand an event to the worker and return its id; `Guard.report` says the rest."""
        if not isinstance(wait, (bool, int, float)) or wait < 0:
            raise InvalidInputError(f"wait must be True, False or seconds, not {wait!r}")
        seen: Sequence[Passage] = self._seen.recall(str(query))
        unreadable: Exception | None = None
        if passages is not None:
            try:
                # No more than the event may have, and one to tell that there were more.
                some = passages if isinstance(passages, str) else islice(passages, MAX_PASSAGES + 1)
                seen = as_passages(some)
            except Exception as error:  # a lazy sequence may raise anything
                unreadable = error
        event = as_event(
            str(query),
            str(response),
            seen,
            None if reporter is None else str(reporter),
            quarantine_version=self._quarantine.version,
        )
        if unreadable is not None:
            logger.warning("event %s goes without the reported passages: %s", event.id, unreadable)
        self._worker.submit(event)
        if wait is not False:
            seconds = _DURABLE_S if wait is True else wait
            if not self._worker.outbox.wait_saved(event.id, seconds):
                raise StoreError(
                    f"event {event.id} was not in the audit store after {seconds:g} s; it waits in "
                    "memory, and is stored once the store answers if this process lives"
                )
        return event.id

    def attribution(self, event_id: str, timeout: float | None) -> Attribution:
        """Return the attribution of an event; `Guard.attribution` says the rest."""
        if not isinstance(timeout, (int, float, NoneType)):
            raise InvalidInputError(f"timeout must be seconds or None, not {timeout!r}")
        if not self._worker.wait(event_id, timeout if timeout is not None else 0.0):
            if timeout is None:
                raise AttributionPendingError(
                    f"event {event_id} is not attributed yet; pass timeout= to wait for it"
                )
            raise AttributionTimeoutError(
                f"event {event_id} was not attributed within {timeout:g} s; "
                "ask again later, or start `ragguard worker --knowledge-base` on the store"
            )
        found = self._store.attribution(event_id)
        if found is None:
            raise EventFailedError(
                f"event {event_id} could not be attributed: {self._store.event(event_id).error}"
            )
        return found

    @property
    def waiting(self) -> int:
        """How many events wait in memory for the store."""
        return self._worker.outbox.unsaved

    @property
    def lost(self) -> int:
        """How many reports were lost."""
        return self._worker.outbox.lost

    @property
    def threads(self) -> list[threading.Thread]:
        """What runs in the background."""
        return self._worker.threads

    def close(self, timeout: float | None = 10.0) -> None:
        """Persist what is not yet persisted and stop the worker; open events stay in the store."""
        self._worker.close(timeout)
