"""The audit store in a SQL database: SQLite in a file, PostgreSQL by URL, through the same code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ragguard.attribution.result import Attribution
from ragguard.audit import sql_events, sql_quarantine, sql_verdicts
from ragguard.audit.changes import announce
from ragguard.audit.database import Database
from ragguard.audit.encoding import from_json, to_json
from ragguard.audit.records import (
    Event,
    EventStatus,
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    ScoredQuery,
    checked_status,
)
from ragguard.audit.sql_schema import prepare
from ragguard.errors import StoreError

__all__ = ["SqlStore"]

_POLL_S = 5.0


class SqlStore:
    """The audit store in SQLite or PostgreSQL; safe to share between threads and across forks.

    Texts come back exactly as they were given, on both databases. Of a passage the text, id,
    score and metadata are kept, not the embedding. Metadata is kept as JSON: a value that JSON
    cannot hold comes back as its `str()`, a tuple as a list, and keys come back as strings.

    SQLite runs in WAL mode with `synchronous=NORMAL`: a killed process loses nothing, a power
    failure at most the last moments. Leases are measured on the database's own clock.

    Attributes:
        path: Absolute path of the SQLite file, or None for PostgreSQL.
        place: The URL without secrets: the same for all stores of a process on one database.
    """

    path: Path | None
    place: str

    def __init__(self, url: str) -> None:
        """Open the store and create its tables where they are missing.

        Args:
            url: A path, `sqlite:///path`, `postgresql://...` or `postgresql+psycopg://...`.

        Raises:
            InvalidInputError: `url` names neither a SQLite file nor a PostgreSQL database.
            MissingExtraError: The driver for PostgreSQL is not installed.
            StoreError: The server cannot be reached, the file cannot be written, or the tables
                were made by a newer version of ragguard.
        """
        self._database = Database(url)
        # What the filter drops is asked for ten times a second, on a connection of its own: no
        # other read stands in the way, however long.
        self._polls = Database(url, statement_s=_POLL_S)
        self.path = self._database.path
        self.place = self._database.name
        try:
            self._database.open(prepare)
            self._polls.open(prepare)
        except StoreError:
            self.close()
            raise

    def add_event(self, event: Event) -> None:
        """See `AuditStore.add_event`."""
        with self._database.write() as session:
            sql_events.add_events(session, [event])

    def add_events(self, events: Sequence[Event]) -> None:
        """See `AuditStore.add_events`."""
        if not events:
            return
        with self._database.write() as session:
            sql_events.add_events(session, events)

    def event(self, event_id: str) -> Event:
        """See `AuditStore.event`."""
        with self._database.read() as session:
            return sql_events.one_event(session, event_id)

    def events(self, *, status: EventStatus | None = None, limit: int = 100) -> list[Event]:
        """See `AuditStore.events`."""
        with self._database.read() as session:
            return sql_events.newest_events(session, status, limit)

    def claim_event(self, *, lease_s: float, bare: Collection[str] | None = None) -> Event | None:
        """See `AuditStore.claim_event`."""
        with self._database.read() as session:
            # An idle worker polls: it must not take the write lock for nothing.
            if not sql_events.is_any_claimable(session, bare):
                return None
        with self._database.write() as session:
            return sql_events.claim_next(session, lease_s, bare)

    def renew_lease(self, event_id: str, *, lease_s: float, attempt: int | None = None) -> bool:
        """See `AuditStore.renew_lease`."""
        with self._database.write() as session:
            return sql_events.renew_lease(session, event_id, lease_s, attempt)

    def finish_event(
        self, event_id: str, attribution: Attribution, *, attempt: int | None = None
    ) -> bool:
        """See `AuditStore.finish_event`."""
        body = to_json(attribution.to_dict())
        with self._database.write() as session:
            return sql_events.finish_event(session, event_id, body, attempt)

    def fail_event(
        self,
        event_id: str,
        error: str,
        *,
        final: bool,
        attempt: int | None = None,
        counts: bool = True,
    ) -> bool:
        """See `AuditStore.fail_event`."""
        with self._database.write() as session:
            return sql_events.fail_event(
                session, event_id, error, final=final, attempt=attempt, counts=counts
            )

    def attribution(self, event_id: str) -> Attribution | None:
        """See `AuditStore.attribution`."""
        with self._database.read() as session:
            body = sql_events.attribution_body(session, event_id)
        return None if body is None else Attribution.from_dict(from_json(body))

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        """See `AuditStore.add_quarantine`."""
        if not entries:
            return 0
        with self._database.write() as session:
            added = sql_quarantine.add_entries(session, entries)
        announce(self.place)
        return added

    def set_quarantine_status(
        self, key: str, status: QuarantineStatus, *, actor: str | None = None
    ) -> QuarantineEntry:
        """See `AuditStore.set_quarantine_status`."""
        checked_status(status)
        with self._database.write() as session:
            changed = sql_quarantine.set_status(session, key, status, actor)
        announce(self.place)
        return changed

    def quarantine(self, *, status: QuarantineStatus | None = None) -> list[QuarantineEntry]:
        """See `AuditStore.quarantine`."""
        with self._database.read() as session:
            return sql_quarantine.newest_entries(session, status)

    def quarantine_keys(self) -> frozenset[str]:
        """See `AuditStore.quarantine_keys`."""
        with self._database.read() as session:
            return sql_quarantine.held_keys(session)

    def quarantine_version(self) -> int:
        """See `AuditStore.quarantine_version`."""
        with self._polls.read() as session:
            return sql_quarantine.version(session)

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        """See `AuditStore.quarantine_changes`."""
        with self._polls.read() as session:
            return sql_quarantine.changes(session, since)

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """See `AuditStore.add_counts`."""
        if not counts:
            return
        with self._database.write() as session:
            sql_verdicts.add_counts(session, counts)

    def counts(self) -> dict[str, int]:
        """See `AuditStore.counts`."""
        with self._database.read() as session:
            return sql_verdicts.all_counts(session)

    def add_scores(self, scored: Sequence[ScoredQuery], *, sample: int, recent: int) -> None:
        """See `AuditStore.add_scores`."""
        if not scored:
            return
        with self._database.write() as session:
            sql_verdicts.add_scores(session, scored, sample=sample, recent=recent)

    def scores(self) -> list[ScoredQuery]:
        """See `AuditStore.scores`."""
        with self._database.read() as session:
            return sql_verdicts.all_scores(session)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._database.name!r})"

    def close(self) -> None:
        """See `AuditStore.close`."""
        self._database.close()
        self._polls.close()
