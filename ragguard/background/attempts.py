"""Attempts at events: one is claimed, attributed under its lease, and stored or given back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from ragguard.attribution.result import Attribution
from ragguard.audit.records import AuditStore, Event
from ragguard.background.sharing import shared_interpreter
from ragguard.background.waiting import insist
from ragguard.errors import InvalidInputError, RagguardError

__all__ = ["Attempts"]

logger = logging.getLogger(__name__)


class Attempts:
    """Claims events and attributes them. Holds nothing of an event once its attempt is over.

    Args:
        store: Where events and attributions are kept.
        attribute: Attributes one event; whatever it raises counts as a failed attempt, and an
            `InvalidInputError` as the last one.
        on_done: Called with every attribution before it is stored.
        on_settled: Called with the id of every event that is done or failed for good.
        max_attempts: How many attempts fail before the event has failed for good.
        max_starts: How often an event is begun at most, those attempts included whose worker died.
        lease_s: Seconds for which an event is claimed; renewed while its attribution runs. For as
            long a failing store is tried again.
    """

    def __init__(
        self,
        store: AuditStore,
        attribute: Callable[[Event], Attribution],
        *,
        on_done: Callable[[Event, Attribution], None] | None,
        on_settled: Callable[[str], None],
        max_attempts: int,
        max_starts: int,
        lease_s: float,
    ) -> None:
        self._store = store
        self._attribute = attribute
        self._on_done = on_done
        self._on_settled = on_settled
        self._max_attempts = max_attempts
        self._max_starts = max_starts
        self._lease_s = lease_s

    def claim(self, bare: Collection[str] | None = None) -> Event | None:
        """Claim the oldest open event; None if there is none.

        Args:
            bare: Leaves events without passages alone, but for those with these ids; None: none.

        Raises:
            StoreError: The store fails.
        """
        return self._store.claim_event(lease_s=self._lease_s, passageless=bare)

    def make(self, event: Event, stop: threading.Event) -> bool:
        """Attribute a claimed event; False when the attempt failed, True when it is settled.

        Args:
            event: As `claim` returned it.
            stop: Once it is set, a failing store is not tried again.
        """
        if event.attempts > self._max_starts:
            reason = event.error or "the process died or was stopped each time"
            given_up = f"given up after {self._max_starts} starts: {reason}"
            return self._fail(event, given_up, stop, hopeless=True)
        try:
            with self._lease_kept(event):
                with shared_interpreter():
                    attribution = self._attribute(event)
                if self._is_taken_over(event):
                    return _give_way(event)
                if self._on_done is not None:
                    on_done = self._on_done
                    insist(lambda: on_done(event, attribution), stop, seconds=self._lease_s)
                # An attribution may have cost minutes: it waits for a store that is down.
                if not insist(
                    lambda: self._store.finish_event(event.id, attribution, attempt=event.attempts),
                    stop,
                    seconds=self._lease_s,
                ):
                    return _give_way(event)
        except Exception as error:
            # What was handed over stays wrong, however often it is tried.
            hopeless = isinstance(error, InvalidInputError)
            return self._fail(event, f"{type(error).__name__}: {error}", stop, hopeless=hopeless)
        except BaseException:  # Ctrl-C: the next worker need not wait for the lease to end
            self._fail(event, "the worker was interrupted", stop, counts=False)
            raise
        self._on_settled(event.id)
        return True

    def _fail(
        self,
        event: Event,
        error: str,
        stop: threading.Event,
        *,
        hopeless: bool = False,
        counts: bool = True,
    ) -> bool:
        failures = event.failures + int(counts)
        final = hopeless or failures >= self._max_attempts
        logger.warning(
            "attempt %d to attribute event %s failed, with %d of %d failures: %s",
            event.attempts,
            event.id,
            failures,
            self._max_attempts,
            error,
        )
        try:
            changed = insist(
                lambda: self._store.fail_event(
                    event.id, error, final=final, attempt=event.attempts, counts=counts
                ),
                stop,
                seconds=self._lease_s,
            )
        except RagguardError as failure:
            logger.error("event %s stays claimed until its lease ends: %s", event.id, failure)
        else:
            if not changed:
                return _give_way(event)
            if final:
                self._on_settled(event.id)
        return False

    @contextmanager
    def _lease_kept(self, event: Event) -> Iterator[None]:
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self._lease_s / 3):
                try:
                    if not self._still_holds(event):
                        return
                except Exception as error:
                    logger.warning("the lease of event %s is not renewed: %s", event.id, error)

        thread = threading.Thread(target=renew, name="ragguard-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _still_holds(self, event: Event) -> bool:
        return self._store.renew_lease(event.id, lease_s=self._lease_s, attempt=event.attempts)

    def _is_taken_over(self, event: Event) -> bool:
        try:
            return not self._still_holds(event)
        except Exception as error:  # what is written at the end is fenced as well
            logger.warning("the lease of event %s is not renewed: %s", event.id, error)
            return False


def _give_way(event: Event) -> bool:
    # This process stood still for longer than a lease, such as a machine that was suspended.
    logger.warning(
        "attempt %d to attribute event %s came too late: another worker has taken over",
        event.attempts,
        event.id,
    )
    return True
