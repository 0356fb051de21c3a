"""How a guard and its store are, for a health check."""

from __future__ import annotations

from dataclasses import dataclass

from ragguard.audit.counting import VerdictCounter
from ragguard.audit.records import AuditStore
from ragguard.audit.verdict_log import VerdictLog
from ragguard.audit.watch import QuarantineWatch
from ragguard.background import Worker
from ragguard.calibrator import Calibrator

__all__ = ["Health", "health_of"]


@dataclass(frozen=True)
class Health:
    """How a guard and its store are. Asking for it waits for neither.

    Attributes:
        store: The store's `repr`; of a URL without passwords.
        reachable: Whether the last look at the store succeeded, and is not older than 30 s.
        store_age_s: Seconds since the store last answered; what was quarantined or released
            elsewhere since then is not known here.
        store_error: Why the last look failed, or None.
        quarantined: How many texts the filter drops wherever they are retrieved, of all tenants.
        queries_unwritten: How many queries are not yet in the counters of the store.
        events_waiting: How many reports wait in memory for the store.
        reports_lost: How many reports of this guard were lost.
        calibration: Where the measure of clean traffic comes from, and what it promises.
        threads: Names of the guard's threads that run; each starts when it is first needed.
    """

    store: str
    reachable: bool
    store_age_s: float
    store_error: str | None
    quarantined: int
    queries_unwritten: int
    events_waiting: int
    reports_lost: int
    calibration: str
    threads: tuple[str, ...]


def health_of(
    store: AuditStore,
    quarantine: QuarantineWatch,
    counter: VerdictCounter,
    log: VerdictLog,
    worker: Worker,
    calibrator: Calibrator,
) -> Health:
    """Return what the parts of one guard know of themselves and of the store."""
    running = [*quarantine.threads, *counter.threads, *log.threads, *worker.threads]
    return Health(
        store=repr(store),
        reachable=quarantine.reachable,
        store_age_s=quarantine.age_s,
        store_error=quarantine.error,
        quarantined=quarantine.size,
        queries_unwritten=counter.unwritten,
        events_waiting=worker.outbox.unsaved,
        reports_lost=worker.outbox.lost,
        calibration=calibrator.described,
        threads=tuple(thread.name for thread in running if thread.is_alive()),
    )
