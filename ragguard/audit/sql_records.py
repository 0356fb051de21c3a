"""What a SQL database only adds to and forgets, and how what others wrote there is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, Text, case, delete, func, select, type_coerce
from sqlalchemy.orm import Session
from sqlalchemy.types import NullType

from ragguard.audit.allow_list import Standing
from ragguard.audit.database import SCORES_LOCK, TRAIL_LOCK, Database, insert_into, lock, on_sqlite
from ragguard.audit.decision_models import (
    AllowanceRow,
    AnswerKeyRow,
    AnswerRow,
    QuarantineRow,
    TrailTable,
    VerdictRow,
)
from ragguard.audit.encoding import is_escaped, to_json
from ragguard.audit.models import AnyText, CounterRow, ScoreRow, UtcDateTime
from ragguard.audit.quarantine import utc_now
from ragguard.audit.records import (
    ANSWER_DAY,
    KEPT_ALIKE,
    KEPT_ANSWERS,
    Answer,
    ScoredQuery,
    TenantViews,
)
from ragguard.audit.trail import Change, Keys, TrailRow, head_of, next_rows, says, tell_head
from ragguard.audit.verdicts import VerdictRecord, no_verdict

_FORGET_EVERY = 100  # answers: finding the oldest to keep reads all that are kept
_NOT_READ = ("seq", "changed", "lanes")  # of what stands in a table


class SqlRecords(TenantViews):
    """Verdicts, answers, counters, scores, trail, and what stands in a `SqlStore`."""

    _database: Database

    def add_verdicts(self, records: Sequence[VerdictRecord], *, keep: int, days: float) -> None:
        if not records:
            return
        # In the order of ids: two writers that bring the same in different order would deadlock.
        rows = [VerdictRow.shared(one) for one in sorted(records, key=lambda one: one.id)]
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
            passages = type_coerce(VerdictRow.passages, AnyText)
            newest = newest.where(passages.contains(told, autoescape=True))
        return self._database.records(newest.limit(max(limit, 0)))

    def verdict(self, verdict_id: str) -> VerdictRecord:
        named = (VerdictRow.id == verdict_id, VerdictRow.tenant == self.tenant)
        found: list[VerdictRecord] = self._database.records(select(VerdictRow).where(*named))
        if not found:
            raise no_verdict(verdict_id)
        return found[0]

    def answer_key(self) -> bytes:
        with self._database.read() as session:
            return session.scalars(select(AnswerKeyRow.value)).one()

    def add_answer(self, answer: Answer) -> None:
        values = {**AnswerRow.shared(answer), "tenant": self.tenant}
        over = [AnswerRow.given_at < utc_now() - 2 * ANSWER_DAY]
        with self._database.write() as session:
            added = insert_into(session, AnswerRow).values(values).returning(AnswerRow.seq)
            if session.scalars(added).one() % _FORGET_EVERY == 0:
                over.append(_but_newest(AnswerRow, self.tenant, KEPT_ANSWERS))
            _forget(session, AnswerRow, over)

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        named = (AnswerRow.tenant == self.tenant, AnswerRow.digest == digest)
        found = select(AnswerRow).where(*named, AnswerRow.given_at >= since)
        return self._database.records(found.order_by(AnswerRow.seq.desc()).limit(KEPT_ALIKE))

    def add_counts(self, counts: Mapping[str, int]) -> None:
        if not counts:
            return
        # Sorted: two writers that lock the same counters in different order would deadlock.
        rows = [{"name": name, "value": int(counts[name])} for name in sorted(counts)]
        with self._database.write() as session:
            added = insert_into(session, CounterRow)
            more = {"value": CounterRow.value + added.excluded.value}
            upsert = added.on_conflict_do_update(index_elements=[CounterRow.name], set_=more)
            session.execute(upsert, rows)

    def counts(self) -> dict[str, int]:
        return dict(self._database.rows(select(CounterRow.name, CounterRow.value)))

    def add_scores(self, scored: Sequence[ScoredQuery], *, sample: int, recent: int) -> None:
        if not scored:
            return
        with self._database.write() as session:
            # Two writers that forget the same rows in different order would deadlock.
            lock(session, SCORES_LOCK)
            session.execute(insert_into(session, ScoreRow), [*map(ScoreRow.shared, scored)])
            for scorer in {record.scorer for record in scored}:
                mine = select(ScoreRow.seq).where(ScoreRow.scorer == scorer)
                newest = mine.order_by(ScoreRow.seq.desc()).limit(recent)
                lowest = mine.order_by(ScoreRow.priority, ScoreRow.seq).limit(sample)
                over = (ScoreRow.seq.not_in(newest), ScoreRow.seq.not_in(lowest))
                forgotten = delete(ScoreRow).where(ScoreRow.scorer == scorer, *over)
                session.execute(forgotten.execution_options(synchronize_session=False))

    def scores(self) -> list[ScoredQuery]:
        return self._database.records(select(ScoreRow).order_by(ScoreRow.seq))

    def trail(self, *, after: int = 0, limit: int = 10_000) -> list[TrailRow]:
        with self._database.read() as session:
            return _rows(session, limit, TrailTable.seq > after, *self._theirs)

    def newest_trail(self, limit: int) -> list[TrailRow]:
        with self._database.read() as session:
            return _rows(session, limit, *self._theirs, last=True)

    def note(self, change: Change) -> bool:
        with self._database.read() as session:
            if _says(session, change):
                return False  # the write lock is not taken for nothing
        with self._database.write() as session:
            lock(session, TRAIL_LOCK)
            if _says(session, change):
                return False
            head = append(session, [change])
        tell_head(head)
        return True

    def standing(self) -> list[tuple[str, Standing]]:
        with self._database.read() as session:
            return [*_standing(session, QuarantineRow), *_standing(session, AllowanceRow)]

    @property
    def _theirs(self) -> list[ColumnElement[bool]]:
        return [TrailTable.tenant == self.tenant] if self.tenant else []


_Rows = type[VerdictRow] | type[AnswerRow]


def _but_newest(table: _Rows, tenant: str, keep: int) -> ColumnElement[bool]:
    mine = table.tenant == tenant
    newest = select(table.seq).where(mine).order_by(table.seq.desc())
    return mine & (table.seq <= newest.offset(keep).limit(1).scalar_subquery())


def _forget(session: Session, table: _Rows, over: Iterable[ColumnElement[bool]]) -> None:
    """Delete rows; those that another writer is about to delete are left to it."""
    for some in over:
        gone = select(table.seq).where(some).with_for_update(skip_locked=True)
        forgotten = delete(table).where(table.seq.in_(gone))
        session.execute(forgotten.execution_options(synchronize_session=False))


def append(session: Session, changes: Sequence[Change]) -> str | None:
    """Add rows that tell of changes, in the transaction that makes them; return the new head."""
    if not changes:
        return None
    lock(session, TRAIL_LOCK)  # writers queue up here until the transaction ends
    keys = Keys.from_environment()
    last = _rows(session, 1, last=True)
    rows = next_rows(last[0] if last else None, changes, keys)
    session.execute(insert_into(session, TrailTable), [{**vars(row)} for row in rows])
    return head_of(rows[-1], keys)


def _rows(
    session: Session, limit: int, *where: ColumnElement[bool], last: bool = False
) -> list[TrailRow]:
    """Return the first or the last rows, in order; in SQLite a column may hold anything."""
    columns: list[Any] = [TrailTable.__table__.columns[field.name] for field in fields(TrailRow)]
    if on_sqlite(session):
        columns[1:] = [column.cast(LargeBinary) for column in columns[1:]]
    order = TrailTable.seq.desc() if last else TrailTable.seq
    found = session.execute(select(*columns).where(*where).order_by(order).limit(max(limit, 0)))
    rows = [TrailRow(row[0], *map(_text, row[1:])) for row in found]  # type: ignore[arg-type]
    return rows[::-1] if last else rows


def _text(value: str | bytes | None) -> str | None:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _says(session: Session, change: Change) -> bool:
    last = _rows(session, 1, TrailTable.action == change.action, last=True)
    return bool(last) and says(last[0], change)


def _standing(
    session: Session, table: type[QuarantineRow | AllowanceRow]
) -> Iterator[tuple[str, Standing]]:
    # No objects of the session: without constraints, two rows with one number would be one.
    columns = [one for one in table.__table__.columns if one.name not in _NOT_READ]
    seq: ColumnElement[Any] = table.__table__.columns["seq"]
    stored = [_as_bytes(session, seq), *(_raw(session, column) for column in columns)]
    for number, *raw in session.execute(select(*stored)):
        values: dict[str, Any] = {}
        for column, value in zip(columns, raw, strict=True):
            try:
                values[column.key] = _read(session, column, value)
            except Exception:  # whatever it is that somebody wrote there
                where = f"row {(_text(number) or 'NULL')[:20]} of {table.__tablename__}"
                yield "", f"{where}: its {column.name} is not as ragguard writes it"
                break
        else:
            row = table(**values)
            yield row.tenant, row.to_record()


def _raw(session: Session, column: Any) -> ColumnElement[Any]:
    """Return what gives a column's bytes, or the name of its type where that is another one."""
    is_binary = isinstance(column.type, LargeBinary)
    if not on_sqlite(session):
        return column if is_binary else _as_bytes(session, column)
    found = func.typeof(column)
    right = found == ("blob" if is_binary else "text")
    return type_coerce(case((right, column.cast(LargeBinary)), else_=found), NullType())


def _as_bytes(session: Session, column: ColumnElement[Any]) -> ColumnElement[Any]:
    if on_sqlite(session):
        return column.cast(LargeBinary)
    return func.convert_to(column.cast(Text), "UTF8", type_=LargeBinary)


def _read(session: Session, column: Any, raw: bytes | str | None) -> Any:
    """Return a column's value as the store reads it from bytes; raises where it is not so."""
    dialect, kind = session.get_bind().dialect, column.type
    if raw in (None, "null") and column.nullable:
        return None
    if not isinstance(raw, bytes):
        raise TypeError(raw)
    if isinstance(kind, LargeBinary):
        return raw
    text: Any = raw.decode()
    if isinstance(kind, AnyText) and not is_escaped(text):
        raise ValueError(text)
    if isinstance(kind, UtcDateTime) and not on_sqlite(session):
        text = datetime.fromisoformat(text)
    convert = kind.dialect_impl(dialect).result_processor(dialect, None)
    return convert(text) if convert else text
