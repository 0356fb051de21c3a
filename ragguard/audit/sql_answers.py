"""The answers in a SQL database."""

from __future__ import annotations

import secrets
from datetime import datetime

from sqlalchemy import and_, delete, insert, select

from ragguard.audit.answer_rows import AnswerKeyRow, AnswerRow
from ragguard.audit.answers import ANSWER_DAY, KEPT_ALIKE, KEPT_ANSWERS, Answer
from ragguard.audit.database import Database, insert_into
from ragguard.audit.quarantine import utc_now

__all__ = ["SqlAnswers"]

_FORGET_EVERY = 100  # answers: finding the oldest to keep reads all that are kept
_ONE = 1


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
        mine = AnswerRow.tenant == self.tenant
        newest = select(AnswerRow.seq).where(mine).order_by(AnswerRow.seq.desc())
        last = newest.offset(KEPT_ANSWERS).limit(1).scalar_subquery()
        over = [AnswerRow.given_at < utc_now() - 2 * ANSWER_DAY]
        with self._database.write() as session:
            added = insert(AnswerRow).values(values).returning(AnswerRow.seq)
            if session.scalars(added).one() % _FORGET_EVERY == 0:
                over.append(and_(mine, AnswerRow.seq <= last))
            for some in over:
                # Several writers forget the same: what another one forgets is left to it.
                gone = select(AnswerRow.seq).where(some).with_for_update(skip_locked=True)
                session.execute(
                    delete(AnswerRow)
                    .where(AnswerRow.seq.in_(gone))
                    .execution_options(synchronize_session=False)
                )

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        named = (AnswerRow.tenant == self.tenant, AnswerRow.digest == digest)
        found = select(AnswerRow).where(*named, AnswerRow.given_at >= since)
        newest = found.order_by(AnswerRow.seq.desc()).limit(KEPT_ALIKE)
        with self._database.read() as session:
            return [row.to_answer() for row in session.scalars(newest)]
