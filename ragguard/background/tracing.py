"""From a flagged event to its attribution, and from an attribution to quarantine."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from ragguard.attribution.attribution import Attribution, Attributor, Retrieve
from ragguard.audit.fork import follow_forks
from ragguard.audit.records import AuditStore, Event, QuarantineEntry
from ragguard.passage import Passage, content_key

__all__ = ["RecentPassages", "quarantine_responsible", "trace"]


class RecentPassages:
    """What the generator saw for the most recent queries. Safe to share between threads.

    Args:
        capacity: How many queries are remembered; the oldest go first.
    """

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._passages: OrderedDict[str, tuple[Passage, ...]] = OrderedDict()
        self._lock = threading.Lock()
        follow_forks(self)

    def remember(self, query: str, passages: Sequence[Passage]) -> None:
        """Keep the passages under the query, in place of what was kept before."""
        with self._lock:
            self._passages[query] = tuple(passages)
            self._passages.move_to_end(query)
            while len(self._passages) > self._capacity:
                self._passages.popitem(last=False)

    def recall(self, query: str) -> tuple[Passage, ...]:
        """Return what was kept under the query, or nothing."""
        with self._lock:
            return self._passages.get(query, ())

    def _before_fork(self) -> None:
        """Nothing to do: the child makes its own lock."""

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._lock = threading.Lock()


def trace(event: Event, attributor: Attributor, retrieve: Retrieve | None) -> Attribution:
    """Attribute one event over the knowledge base, or, without one, over the event's passages."""
    if retrieve is None:
        if not event.passages:
            return Attribution(
                query=event.query,
                response=event.response,
                method="none",
                responsible=[],
                scores=[],
                scope_size=0,
                cause="unclear",
                reason=(
                    "there is nothing to search: report the passages that the generator saw, or "
                    "give the guard a `retrieve` over the knowledge base"
                ),
            )
        passages = event.passages

        def retrieve(query: str, limit: int) -> Sequence[Passage]:  # noqa: ARG001
            return passages[:limit]

    return attributor.attribute(event.query, event.response, retrieve)


def quarantine_responsible(store: AuditStore, event: Event, attribution: Attribution) -> int:
    """Put the responsible passages into quarantine and return how many were not there before.

    Raises:
        StoreError: The store fails.
    """
    entries = [
        QuarantineEntry(
            key=content_key(passage.text),
            passage_id=passage.id,
            text=passage.text,
            reason=attribution.reason,
            event_id=event.id,
        )
        for passage in attribution.responsible
    ]
    return store.add_quarantine(entries) if entries else 0
