"""Quarantine and allow-list as they lie in a SQL database, row by row.

Whoever can write to the database can write anything there: values of another type, times that are
none, or a text in a way in which ragguard finds it no more. Such a row is told of in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, Text, case, cast, func, select, type_coerce
from sqlalchemy.orm import Session
from sqlalchemy.types import NullType

from ragguard.audit.allow_list import Standing
from ragguard.audit.database import on_sqlite
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow
from ragguard.audit.encoding import from_json, is_escaped
from ragguard.audit.models import AnyText, UtcDateTime

_NOT_READ = ("seq", "changed", "lanes")


def standing(
    session: Session, table: type[QuarantineRow] | type[AllowanceRow]
) -> Iterator[tuple[str, Standing]]:
    """Yield each row as `ragguard.audit.allow_list.AllowanceStore.standing` does.

    No objects of the session: without constraints, two rows with one number would be one.
    """
    columns = [one for one in table.__table__.columns if one.name not in _NOT_READ]
    readers = [_reader(session, column) for column in columns]
    seq: ColumnElement[Any] = table.__table__.columns["seq"]
    for number, *raw in session.execute(select(_as_bytes(session, seq), *_raw(session, columns))):
        values: dict[str, Any] = {}
        for column, read, value in zip(columns, readers, raw, strict=True):
            try:
                values[column.name] = read(value)
            except Exception:  # whatever it is that somebody wrote there
                name = "NULL" if number is None else number.decode("utf-8", "backslashreplace")
                yield (
                    "",
                    f"row {name[:20]} of {table.__tablename__}: its {column.name} is not as "
                    "ragguard writes it",
                )
                break
        else:
            row = table(**values)
            one = row.to_entry() if isinstance(row, QuarantineRow) else row.to_allowance()
            yield row.tenant, one


def _raw(session: Session, columns: list[Any]) -> Iterator[ColumnElement[Any]]:
    """Yield what gives a column's bytes, or the name of its type where that is another one."""
    for column in columns:
        is_binary = isinstance(column.type, LargeBinary)
        if not on_sqlite(session):
            yield column if is_binary else _as_bytes(session, column)
            continue
        found = func.typeof(column)
        right = found == ("blob" if is_binary else "text")
        yield type_coerce(case((right, cast(column, LargeBinary)), else_=found), NullType())


def _as_bytes(session: Session, column: ColumnElement[Any]) -> ColumnElement[Any]:
    if on_sqlite(session):
        return cast(column, LargeBinary)
    return func.convert_to(cast(column, Text), "UTF8", type_=LargeBinary)


def _reader(session: Session, column: Any) -> Callable[[bytes | str | None], Any]:
    """Return what reads a column's bytes as the store does, and raises where it is not so."""
    dialect, kind = session.get_bind().dialect, column.type
    convert = kind.dialect_impl(dialect).result_processor(dialect, None) or (lambda text: text)

    def read(raw: bytes | str | None) -> Any:
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
        if column.name == "reporters_json":
            names = from_json(convert(text))
            if not isinstance(names, list) or not all(isinstance(one, str | None) for one in names):
                raise ValueError(text)
        return convert(text)

    return read
