"""The lease of a claimed event: renewed while it is worked on, and fenced by its attempt.

The number of the attempt is the fencing token: what a worker writes after another one has claimed
the event anew changes nothing.
"""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

from ragguard.audit.records import AuditStore, Event

__all__ = ["Lease"]

logger = logging.getLogger(__name__)


class Lease:
    """Keeps a claim until the end of a `with` block; a thread renews it.

    Args:
        store: Where the event was claimed.
        event: As `AuditStore.claim_event` returned it.
        seconds: For how long it is claimed; renewed when a third of it is over.
    """

    def __init__(self, store: AuditStore, event: Event, seconds: float) -> None:
        self._store = store
        self._event = event
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="ragguard-lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def is_lost(self) -> bool:
        """Return whether another worker is known to have claimed the event."""
        try:
            return not self._store.renew_lease(
                self._event.id, lease_s=self._seconds, attempt=self._event.attempts
            )
        except Exception as error:  # what is written at the end is fenced as well
            logger.warning("the lease of event %s is not renewed: %s", self._event.id, error)
            return False

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / 3) and not self.is_lost():
            pass
