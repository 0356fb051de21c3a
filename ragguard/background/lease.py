"""The claim on an event: a thread renews it while the event is attributed."""

from __future__ import annotations

import logging
import threading
import time
from typing import Self

from ragguard.audit.records import AuditStore, Event
from ragguard.background.threads import Deadline
from ragguard.errors import RagguardError

logger = logging.getLogger(__name__)


class Lease:
    """Holds an event that was claimed until the `with` block ends, for `max_run_s` at most."""

    def __init__(
        self, store: AuditStore, event: Event, *, lease_s: float, max_run_s: float
    ) -> None:
        self._store, self._event = store, event
        self._lease_s, self._max_run_s = lease_s, max_run_s
        self._since = time.monotonic()
        self._ended = threading.Event()
        self._given_back: str | None = None  # why
        self._failing = False  # the store, at the last try to renew it
        self._thread = threading.Thread(target=self._renew, name="ragguard-lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def held_s(self) -> float:
        """Seconds for which it is held by now; 0.0 once it is not, as in the child of a fork."""
        return time.monotonic() - self._since if self._thread.is_alive() else 0.0

    def is_lost(self) -> bool:
        """Return whether somebody else has the event, or may have it; else renew the claim."""
        if self._given_back is not None:
            return True
        event = self._event
        try:
            renewed = self._store.renew_lease(
                event.id, lease_s=self._lease_s, attempt=event.attempts
            )
        except Exception as error:  # what is written at the end is fenced as well
            if not self._failing:
                logger.warning("the lease of event %s is not renewed: %s", event.id, error)
            self._failing = True
            return False
        self._failing = False
        return not renewed

    def give_back(self, timeout: float) -> None:
        """Let another worker claim the event at once, though the block goes on.

        What the block still writes is fenced by the number of its attempt. The store may be slow:
        this waits for it for `timeout` seconds.
        """
        if self._ended.is_set():
            return
        self._given_back = f"its worker was closed {self.held_s:.1f} s after it had begun"
        logger.warning(
            "event %s is given back: %s, and its attribution has not ended; give the model a "
            "time-out",
            *(self._event.id, self._given_back),
        )
        self._ended.set()
        self._thread.join(timeout)

    def _renew(self) -> None:
        event, limit = self._event, Deadline(self._max_run_s)
        while not self._ended.wait(self._lease_s / 3) and not self.is_lost():
            if not limit.left():
                logger.error(
                    "event %s has been attributed for %g s: another worker may take it; give the "
                    "model a time-out, since nothing else is attributed here meanwhile",
                    *(event.id, self._max_run_s),
                )
                break
        self._ended.wait()
        if (why := self._given_back) is not None:
            try:
                self._store.fail_event(
                    event.id, why, final=False, attempt=event.attempts, counts=False
                )
            except RagguardError as error:
                logger.error("event %s stays claimed until its lease ends: %s", event.id, error)
