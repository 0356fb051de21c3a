"""The verdicts in a SQL database, and the answers: what is kept for a while, and then forgotten."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, insert, select
from sqlalchemy.orm import Session

from ragguard.audit.answers import ANSWER_DAY, KEPT_ALIKE, KEPT_ANSWERS, Answer
from ragguard.audit.database import Database, insert_into
from ragguard.audit.decision_models import AnswerKeyRow, AnswerRow
from ragguard.audit.encoding import to_json
from ragguard.audit.models import VerdictRow
from ragguard.audit.quarantine import utc_now
from ragguard.audit.verdicts import VerdictRecord, no_verdict

_FORGET_EVERY = 100  # answers: finding the oldest to keep reads all that are kept
_ONE = 1


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
            over.append(_but_newest(VerdictRow, tenant, keep))
        with self._database.write() as session:
            added = insert_into(session, VerdictRow)
            session.execute(added.on_conflict_do_nothing(index_elements=[VerdictRow.id]), rows)
            _forget(session, VerdictRow, over)

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


class SqlAnswers:
    """The answers of a `SqlStore`."""

    tenant: str
    _database: Database

    def answer_key(self) -> bytes:
        key = select(AnswerKeyRow.value).where(AnswerKeyRow.id == _ONE)
        with self._database.read() as session:
            found = session.scalar(key)
        if found is not None:
            return found
        with self._database.write() as session:
            made = insert_into(session, AnswerKeyRow)
            made = made.values(id=_ONE, value=secrets.token_bytes(32))
            session.execute(made.on_conflict_do_nothing(index_elements=[AnswerKeyRow.id]))
            return session.scalars(key).one()

    def add_answer(self, answer: Answer) -> None:
        values = {
            "tenant": self.tenant,
            "digest": answer.digest,
            "hashes": " ".join(sorted(answer.passages)),
            "given_at": answer.given_at,
        }
        over = [AnswerRow.given_at < utc_now() - 2 * ANSWER_DAY]
        with self._database.write() as session:
            added = insert(AnswerRow).values(values).returning(AnswerRow.seq)
            if session.scalars(added).one() % _FORGET_EVERY == 0:
                over.append(_but_newest(AnswerRow, self.tenant, KEPT_ANSWERS))
            _forget(session, AnswerRow, over)

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        named = (AnswerRow.tenant == self.tenant, AnswerRow.digest == digest)
        found = select(AnswerRow).where(*named, AnswerRow.given_at >= since)
        newest = found.order_by(AnswerRow.seq.desc()).limit(KEPT_ALIKE)
        with self._database.read() as session:
            return [row.to_answer() for row in session.scalars(newest)]


_Rows = type[VerdictRow] | type[AnswerRow]


def _but_newest(table: _Rows, tenant: str, keep: int) -> ColumnElement[bool]:
    """Return which rows of a tenant are not among the newest `keep`."""
    mine = table.tenant == tenant
    newest = select(table.seq).where(mine).order_by(table.seq.desc())
    return and_(mine, table.seq <= newest.offset(keep).limit(1).scalar_subquery())


def _forget(session: Session, table: _Rows, over: Iterable[ColumnElement[bool]]) -> None:
    """Delete rows; those that another writer is about to delete are left to it."""
    for some in over:
        gone = select(table.seq).where(some).with_for_update(skip_locked=True)
        forgotten = delete(table).where(table.seq.in_(gone))
        session.execute(forgotten.execution_options(synchronize_session=False))
