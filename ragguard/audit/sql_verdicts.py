"""The verdicts in a SQL database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import and_, delete, select

from ragguard.audit.database import Database, insert_into
from ragguard.audit.encoding import to_json
from ragguard.audit.quarantine import utc_now
from ragguard.audit.verdict_rows import VerdictRow
from ragguard.audit.verdicts import VerdictRecord, no_verdict

__all__ = ["SqlVerdicts"]


class SqlVerdicts:
    """The verdicts of a `SqlStore`."""

    tenant: str
    _database: Database

    def add_verdicts(self, records: Sequence[VerdictRecord], *, keep: int, days: float) -> None:
        if not records:
            return
        # In the order of ids: two writers that bring the same in different order would deadlock.
        rows = [VerdictRow.values(one) for one in sorted(records, key=lambda one: one.id)]
        over = [VerdictRow.recorded_at < utc_now() - timedelta(days=days)]
        for tenant in sorted({one.tenant for one in records}):
            mine = VerdictRow.tenant == tenant
            newest = select(VerdictRow.seq).where(mine).order_by(VerdictRow.seq.desc())
            last = newest.offset(keep).limit(1).scalar_subquery()
            over.append(and_(mine, VerdictRow.seq <= last))
        with self._database.write() as session:
            added = insert_into(session, VerdictRow)
            session.execute(added.on_conflict_do_nothing(index_elements=[VerdictRow.id]), rows)
            # Several writers forget the same: those that are being forgotten are left to the other.
            for some in over:
                gone = select(VerdictRow.seq).where(some).with_for_update(skip_locked=True)
                session.execute(
                    delete(VerdictRow)
                    .where(VerdictRow.seq.in_(gone))
                    .execution_options(synchronize_session=False)
                )

    def verdicts(
        self, *, limit: int = 100, before: datetime | None = None, passage_id: str | None = None
    ) -> list[VerdictRecord]:
        mine = select(VerdictRow).where(VerdictRow.tenant == self.tenant)
        newest = mine.order_by(VerdictRow.recorded_at.desc(), VerdictRow.seq.desc())
        if before is not None:
            newest = newest.where(VerdictRow.recorded_at < before)
        if passage_id is not None:
            # A quote within a text is escaped in JSON: this stands nowhere but for the id.
            told = f'"passage_id": {to_json(passage_id)}, "key": '
            newest = newest.where(VerdictRow.passages_json.contains(told, autoescape=True))
        with self._database.read() as session:
            return [row.to_record() for row in session.scalars(newest.limit(max(limit, 0)))]

    def verdict(self, verdict_id: str) -> VerdictRecord:
        with self._database.read() as session:
            named = (VerdictRow.id == verdict_id, VerdictRow.tenant == self.tenant)
            row = session.scalar(select(VerdictRow).where(*named))
            if row is None:
                raise no_verdict(verdict_id)
            return row.to_record()
