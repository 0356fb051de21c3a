"""The audit store in a SQL database: SQLite in a file, PostgreSQL by URL, through the same code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, inspect, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from ragguard.attribution.attribution import Attribution
from ragguard.audit.database import Database
from ragguard.audit.encoding import from_json, to_json
from ragguard.audit.models import (
    SCHEMA_VERSION,
    AttributionRow,
    Base,
    CounterRow,
    EventRow,
    MetaRow,
    PassageRow,
    QuarantineRow,
    ScoreRow,
    epoch_now,
)
from ragguard.audit.records import (
    Event,
    EventStatus,
    QuarantineEntry,
    QuarantineStatus,
    ScoredQuery,
    checked_status,
)
from ragguard.errors import EventNotFoundError, QuarantineNotFoundError, StoreError

__all__ = ["SqlStore"]

_SCHEMA_LOCK = 0x7261676775617264  # any fixed number: PostgreSQL's advisory locks have no names
_SCORES_LOCK = _SCHEMA_LOCK + 1
_CLAIMABLE_AT: Mapping[str, float] = {"pending": 0.0, "running": 0.0}


class SqlStore:
    """The audit store in SQLite or PostgreSQL; safe to share between threads and across forks.

    Texts come back exactly as they were given, on both databases. Of a passage the text, id,
    score and metadata are kept, not the embedding. Metadata is kept as JSON: a value that JSON
    cannot hold comes back as its `str()`, a tuple as a list, and keys come back as strings.

    SQLite runs in WAL mode with `synchronous=NORMAL`: a killed process loses nothing, a power
    failure at most the last moments. Leases are measured on the database's own clock.

    Attributes:
        path: Absolute path of the SQLite file, or None for PostgreSQL.
    """

    path: Path | None

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
        self.path = self._database.path
        self._insert: Any = sqlite.insert if self._database.on_sqlite else postgresql.insert
        try:
            self._prepare()
        except StoreError:
            self._database.close()
            raise

    def add_event(self, event: Event) -> None:
        """See `AuditStore.add_event`."""
        row = {
            "id": event.id,
            "query": event.query,
            "response": event.response,
            "reporter": event.reporter,
            "status": event.status,
            "created_at": event.created_at,
            "attempts": event.attempts,
            "error": event.error,
            "claimable_at": _CLAIMABLE_AT.get(event.status),
        }
        added = (
            self._insert(EventRow)
            .values(row)
            .on_conflict_do_nothing(index_elements=[EventRow.id])
            .returning(EventRow.seq)
        )
        with self._database.write() as session:
            seq = session.scalar(added)
            if seq is not None and event.passages:
                session.execute(
                    insert(PassageRow),
                    [PassageRow.values(seq, *item) for item in enumerate(event.passages)],
                )

    def event(self, event_id: str) -> Event:
        """See `AuditStore.event`."""
        with self._database.read() as session:
            row = session.scalar(select(EventRow).where(EventRow.id == event_id))
            if row is None:
                raise _no_event(event_id)
            return row.to_event()

    def events(self, *, status: EventStatus | None = None, limit: int = 100) -> list[Event]:
        """See `AuditStore.events`."""
        newest = select(EventRow).order_by(EventRow.created_at.desc(), EventRow.seq.desc())
        if status is not None:
            newest = newest.where(EventRow.status == status)
        with self._database.read() as session:
            return [row.to_event() for row in session.scalars(newest.limit(max(limit, 0)))]

    def claim_event(self, *, lease_s: float) -> Event | None:
        """See `AuditStore.claim_event`."""
        oldest = (
            select(EventRow.seq)
            .where(EventRow.claimable_at <= epoch_now())
            .order_by(EventRow.created_at, EventRow.seq)
            .limit(1)
        )
        with self._database.read() as session:
            # An idle worker polls: it must not take the write lock for nothing.
            if session.scalar(oldest) is None:
                return None
        claim = (
            update(EventRow)
            # SQLite renders no FOR UPDATE: there the whole transaction holds the write lock.
            .where(EventRow.seq == oldest.with_for_update(skip_locked=True).scalar_subquery())
            .values(
                status="running",
                attempts=EventRow.attempts + 1,
                claimable_at=epoch_now() + lease_s,
            )
            .returning(EventRow.seq)
            .execution_options(synchronize_session=False)
        )
        with self._database.write() as session:
            seq = session.scalar(claim)
            return None if seq is None else session.get_one(EventRow, seq).to_event()

    def renew_lease(self, event_id: str, *, lease_s: float, attempt: int | None = None) -> bool:
        """See `AuditStore.renew_lease`."""
        renewed = (
            update(EventRow)
            .where(EventRow.id == event_id, EventRow.status == "running", *_held(attempt))
            .values(claimable_at=epoch_now() + lease_s)
            .returning(EventRow.seq)
            .execution_options(synchronize_session=False)
        )
        with self._database.write() as session:
            return session.scalar(renewed) is not None

    def finish_event(
        self, event_id: str, attribution: Attribution, *, attempt: int | None = None
    ) -> bool:
        """See `AuditStore.finish_event`."""
        body = to_json(attribution.to_dict())
        done = (
            update(EventRow)
            .where(EventRow.id == event_id, *_held(attempt))
            .values(status="done", error=None, claimable_at=None)
            .returning(EventRow.seq)
            .execution_options(synchronize_session=False)
        )
        with self._database.write() as session:
            seq = session.scalar(done)
            if seq is None:
                return _left_alone(session, event_id)
            stored = self._insert(AttributionRow).values(event_seq=seq, body_json=body)
            session.execute(
                stored.on_conflict_do_update(
                    index_elements=[AttributionRow.event_seq],
                    set_={"body_json": stored.excluded.body_json},
                )
            )
            return True

    def fail_event(
        self, event_id: str, error: str, *, final: bool, attempt: int | None = None
    ) -> bool:
        """See `AuditStore.fail_event`."""
        failed = (
            update(EventRow)
            .where(EventRow.id == event_id, EventRow.status != "done", *_held(attempt))
            .values(
                status="failed" if final else "pending",
                error=error,
                claimable_at=None if final else 0.0,
            )
            .returning(EventRow.seq)
            .execution_options(synchronize_session=False)
        )
        with self._database.write() as session:
            return session.scalar(failed) is not None or _left_alone(session, event_id)

    def attribution(self, event_id: str) -> Attribution | None:
        """See `AuditStore.attribution`."""
        stored = (
            select(AttributionRow.body_json)
            .join(EventRow, EventRow.seq == AttributionRow.event_seq)
            .where(EventRow.id == event_id)
        )
        with self._database.read() as session:
            body = session.scalar(stored)
        return None if body is None else Attribution.from_dict(from_json(body))

    def add_quarantine(self, entries: Sequence[QuarantineEntry]) -> int:
        """See `AuditStore.add_quarantine`."""
        if not entries:
            return 0
        added = (
            self._insert(QuarantineRow)
            .on_conflict_do_nothing(index_elements=[QuarantineRow.key])
            .returning(QuarantineRow.status)
        )
        with self._database.write() as session:
            _lock_quarantine(session)
            rows = [QuarantineRow.values(entry) for entry in entries]
            statuses = session.scalars(added, rows).all()
            if any(status != "released" for status in statuses):
                _grow_version(session)
        return len(statuses)

    def set_quarantine_status(
        self, key: str, status: QuarantineStatus, *, actor: str | None = None
    ) -> QuarantineEntry:
        """See `AuditStore.set_quarantine_status`."""
        checked_status(status)
        with self._database.write() as session:
            _lock_quarantine(session)
            row = session.scalar(select(QuarantineRow).where(QuarantineRow.key == key))
            if row is None:
                raise QuarantineNotFoundError(
                    f"no passage with key {key!r} is in quarantine; list the keys with quarantine()"
                )
            if (row.status == "released") != (status == "released"):
                _grow_version(session)
            row.status = status
            row.updated_at = datetime.now(UTC)
            row.actor = actor
            return row.to_entry()

    def quarantine(self, *, status: QuarantineStatus | None = None) -> list[QuarantineEntry]:
        """See `AuditStore.quarantine`."""
        newest = select(QuarantineRow).order_by(
            QuarantineRow.created_at.desc(), QuarantineRow.seq.desc()
        )
        if status is not None:
            newest = newest.where(QuarantineRow.status == status)
        with self._database.read() as session:
            return [row.to_entry() for row in session.scalars(newest)]

    def quarantine_keys(self) -> frozenset[str]:
        """See `AuditStore.quarantine_keys`."""
        with self._database.read() as session:
            return frozenset(
                session.scalars(select(QuarantineRow.key).where(QuarantineRow.status != "released"))
            )

    def quarantine_version(self) -> int:
        """See `AuditStore.quarantine_version`."""
        with self._database.read() as session:
            return session.scalars(
                select(MetaRow.value).where(MetaRow.name == "quarantine_version")
            ).one()

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """See `AuditStore.add_counts`."""
        if not counts:
            return
        added = self._insert(CounterRow)
        upsert = added.on_conflict_do_update(
            index_elements=[CounterRow.name],
            set_={"value": CounterRow.value + added.excluded.value},
        )
        # Sorted: two writers that lock the same counters in different order would deadlock.
        rows = [{"name": name, "value": int(counts[name])} for name in sorted(counts)]
        with self._database.write() as session:
            session.execute(upsert, rows)

    def counts(self) -> dict[str, int]:
        """See `AuditStore.counts`."""
        with self._database.read() as session:
            rows = session.scalars(select(CounterRow))
            return {row.name: row.value for row in rows}

    def add_scores(self, scored: Sequence[ScoredQuery], *, sample: int, recent: int) -> None:
        """See `AuditStore.add_scores`."""
        if not scored:
            return
        with self._database.write() as session:
            if not self._database.on_sqlite:
                # Two writers that forget the same rows in different order would deadlock.
                session.execute(select(func.pg_advisory_xact_lock(_SCORES_LOCK)))
            session.execute(insert(ScoreRow), [ScoreRow.values(record) for record in scored])
            for scorer in {record.scorer for record in scored}:
                mine = select(ScoreRow.seq).where(ScoreRow.scorer == scorer)
                newest = mine.order_by(ScoreRow.seq.desc()).limit(recent)
                lowest = mine.order_by(ScoreRow.priority, ScoreRow.seq).limit(sample)
                session.execute(
                    delete(ScoreRow)
                    .where(ScoreRow.scorer == scorer)
                    .where(ScoreRow.seq.not_in(newest), ScoreRow.seq.not_in(lowest))
                    .execution_options(synchronize_session=False)
                )

    def scores(self) -> list[ScoredQuery]:
        """See `AuditStore.scores`."""
        with self._database.read() as session:
            rows = session.scalars(select(ScoreRow).order_by(ScoreRow.seq))
            return [row.to_scored() for row in rows]

    def close(self) -> None:
        """See `AuditStore.close`."""
        self._database.close()

    def _prepare(self) -> None:
        with self._database.read() as session:
            found = _schema_version(session)
        if found is None or found < SCHEMA_VERSION:
            with self._database.write() as session:
                if not self._database.on_sqlite:
                    session.execute(select(func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
                # Asked again under the lock: another process may have been faster.
                found = _schema_version(session)
                if found is None or found < SCHEMA_VERSION:
                    # Versions have only ever added tables, so making the missing ones is enough.
                    Base.metadata.create_all(session.connection())
                    session.merge(MetaRow(name="schema_version", value=SCHEMA_VERSION))
                    if found is None:
                        session.add(MetaRow(name="quarantine_version", value=0))
                    found = SCHEMA_VERSION
        if found > SCHEMA_VERSION:
            raise StoreError(
                f"the audit store {self._database.name} has schema version {found}, this ragguard "
                f"knows {SCHEMA_VERSION}; upgrade ragguard-middleware or use another store"
            )


def _schema_version(session: Session) -> int | None:
    if not inspect(session.connection()).has_table(MetaRow.__tablename__):
        return None
    return session.scalar(select(MetaRow.value).where(MetaRow.name == "schema_version"))


def _held(attempt: int | None) -> tuple[ColumnElement[bool], ...]:
    """Conditions that a worker's claim still stands; none where nobody says which attempt."""
    if attempt is None:
        return ()
    return (EventRow.status == "running", EventRow.attempts == attempt)


def _left_alone(session: Session, event_id: str) -> bool:
    if session.scalar(select(EventRow.seq).where(EventRow.id == event_id)) is None:
        raise _no_event(event_id)
    return False


def _lock_quarantine(session: Session) -> None:
    # Changes of the quarantine queue up here: versions grow in the order of their commits.
    session.execute(
        select(MetaRow.value).where(MetaRow.name == "quarantine_version").with_for_update()
    )


def _grow_version(session: Session) -> None:
    session.execute(
        update(MetaRow)
        .where(MetaRow.name == "quarantine_version")
        .values(value=MetaRow.value + 1)
        .execution_options(synchronize_session=False)
    )


def _no_event(event_id: str) -> EventNotFoundError:
    return EventNotFoundError(
        f"no event {event_id!r} is in the audit store; use the id that report() returned"
    )
