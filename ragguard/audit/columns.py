"""Types of columns that give back on every database what they were given, and its clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Double, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeDecorator

from ragguard.audit.encoding import escape, unescape
from ragguard.audit.quarantine import as_utc


class AnyText(TypeDecorator[str]):
    """Text of any code points, lone surrogates and NUL included."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Escape what databases refuse."""
        return None if value is None else escape(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the text as it was given."""
        return None if value is None else unescape(value)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment: timezone-aware and in UTC on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Turn it to UTC."""
        return None if value is None else as_utc(value)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return it in UTC; SQLite keeps no timezone."""
        return None if value is None else as_utc(value)


class epoch_now(GenericFunction[float]):  # noqa: N801 - the name of an SQL function
    """The database's own clock in seconds since 1970: hosts that share a server share it."""

    type = Double()
    inherit_cache = True


@compiles(epoch_now, "sqlite")
def _epoch_now_sqlite(element: Any, compiler: Any, **kw: Any) -> str:  # noqa: ARG001
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(epoch_now, "postgresql")
def _epoch_now_postgresql(element: Any, compiler: Any, **kw: Any) -> str:  # noqa: ARG001
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"
