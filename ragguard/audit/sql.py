"""The audit store in a SQL database: SQLite in a file, PostgreSQL by URL, through the same code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from sqlalchemy import delete, select, union

from ragguard.audit.database import SCORES_LOCK, Database, insert_into, lock
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow, VerdictRow
from ragguard.audit.models import CounterRow, EventRow, ScoreRow
from ragguard.audit.records import ScoredQuery, tenant_view
from ragguard.audit.sql_allow_list import SqlAllowing
from ragguard.audit.sql_events import SqlEvents
from ragguard.audit.sql_quarantine import SqlQuarantine
from ragguard.audit.sql_records import SqlRecords
from ragguard.audit.trail import Keys
from ragguard.errors import StoreError

_POLL_S = 5.0  # for a statement that asks what the filter drops


class SqlStore(SqlEvents, SqlQuarantine, SqlAllowing, SqlRecords):
    """The audit store in SQLite or PostgreSQL; safe to share between threads and across forks.

    Texts come back exactly as they were given, on both databases. Of a passage the text, id,
    score and metadata are kept, not the embedding. Metadata is kept as JSON: a value that JSON
    cannot hold comes back as its `str()`, a tuple as a list, and keys come back as strings.

    SQLite runs in WAL mode with `synchronous=NORMAL`: a killed process loses nothing, a power
    failure at most the last moments. Leases are measured on the database's own clock.

    Attributes:
        path: Absolute path of the SQLite file, or None for PostgreSQL.
        tenant: Whose store it is; "" for the default tenant.
        place: The URL without secrets: the same for all stores of a process on one database.
    """

    def __init__(self, url: str) -> None:
        """Open the store and create its tables where they are missing.

        Args:
            url: A path, `sqlite:///path`, `postgresql://...` or `postgresql+psycopg://...`.

        Raises:
            InvalidInputError: `url` names neither a SQLite file nor a PostgreSQL database, or a key
                of the trail is too short.
            MissingExtraError: The driver for PostgreSQL is not installed.
            StoreError: The server cannot be reached, the file cannot be written, the tables are of
                another release of ragguard, or the trail's keys cannot be read.
        """
        Keys.from_environment()  # now, and not with the first decision
        self._database = Database(url)
        self.path = self._database.path
        self.place = self._database.name
        self.tenant = ""
        # What the filter drops is asked for ten times a second, on a connection of its own: no
        # other read stands in the way, however long.
        try:
            self._polls = Database(url, statement_s=_POLL_S)
        except StoreError:
            self._database.close()
            raise

    def of_tenant(self, tenant: str | None) -> Self:
        return tenant_view(self, tenant)

    def tenants(self) -> list[str]:
        rows = (EventRow, QuarantineRow, AllowanceRow, VerdictRow)
        named = [select(row.tenant).where(row.tenant != "") for row in rows]
        with self._database.read() as session:
            return sorted(session.scalars(union(*named)))

    def add_counts(self, counts: Mapping[str, int]) -> None:
        if not counts:
            return
        # Sorted: two writers that lock the same counters in different order would deadlock.
        rows = [{"name": name, "value": int(counts[name])} for name in sorted(counts)]
        with self._database.write() as session:
            added = insert_into(session, CounterRow)
            upsert = added.on_conflict_do_update(
                index_elements=[CounterRow.name],
                set_={"value": CounterRow.value + added.excluded.value},
            )
            session.execute(upsert, rows)

    def counts(self) -> dict[str, int]:
        with self._database.read() as session:
            return {row.name: row.value for row in session.scalars(select(CounterRow))}

    def add_scores(self, scored: Sequence[ScoredQuery], *, sample: int, recent: int) -> None:
        if not scored:
            return
        with self._database.write() as session:
            # Two writers that forget the same rows in different order would deadlock.
            lock(session, SCORES_LOCK)
            session.execute(
                insert_into(session, ScoreRow), [ScoreRow.values(record) for record in scored]
            )
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
        with self._database.read() as session:
            rows = session.scalars(select(ScoreRow).order_by(ScoreRow.seq))
            return [row.to_scored() for row in rows]

    def __repr__(self) -> str:
        whose = f", tenant={self.tenant!r}" if self.tenant else ""
        return f"{type(self).__name__}({self._database.name!r}{whose})"

    def close(self) -> None:
        self._database.close()
        self._polls.close()
